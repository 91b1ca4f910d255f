"""The tokenizer of a new model: learned from the corpus, or taken from a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Tokenizer as Library

from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import wordpiece_vocabulary
from keras_transformers.text.vocabularies.byte_pair_vocabulary import END, UNKNOWN
from keras_transformers.text.vocabularies.learn import WITH_CASES
from keras_transformers.text.vocabularies.unigram_vocabulary import SPECIAL_TOKENS
from zoo.scratch.text_tasks import TextTask

KINDS = ("byte_pair", "wordpiece", "unigram", "character", "bytes")
SENTINELS = 100  # of T5
# Characters that a vocabulary is learned from: a part of every place of a larger corpus is enough, and the trainers
# keep what they read in memory.
SAMPLE = 50_000_000
CHARACTERS_A_TOKEN = 100  # of the corpus, at least, for each token of a learned vocabulary


def check_tokenizer(name: str) -> None:
    """Raise a `ValueError` if a tokenizer is neither a kind nor a folder."""
    if name not in KINDS and not is_folder(name):
        raise ValueError(f"--tokenizer must be one of {', '.join(KINDS)}, or a folder: received {name!r}.")


def is_folder(tokenizer: str) -> bool:
    """Return whether a tokenizer is given as a folder; a kind is a kind, whatever folder has its name."""
    return tokenizer not in KINDS and Path(tokenizer).is_dir()


def vocabulary_size(usual: int, characters: int, kind: str, characters_a_token: int = CHARACTERS_A_TOKEN) -> int | None:
    """Return the size of a vocabulary to learn: the usual one, or less for a small corpus.

    Args:
        usual: Vocabulary size for a large corpus.
        characters: Number of characters in the corpus.
        kind: One of `KINDS`; characters and bytes need no size.
        characters_a_token: Minimum number of characters in the corpus for each token of the vocabulary.

    Example:

    >>> vocabulary_size(4_096, 13_000_000, "byte_pair"), vocabulary_size(4_096, 60_000, "byte_pair")
    (4096, 600)
    """
    if kind in ("character", "bytes"):
        return None
    return min(usual, max(characters // characters_a_token, 300))


def learn_vocabulary(
    texts: Iterable[str], kind: str, size: int | None, model: str, lowercase: bool = False
) -> Tokenizer:
    """Learn a tokenizer with the special tokens that a kind of model needs.

    Args:
        texts: The corpus, read once.
        kind: One of `KINDS`.
        size: Tokens; None for characters and bytes.
        model: A name of `new_models.MODELS`, or `"transformer"`.
        lowercase: Whether to lower-case texts; of WordPiece and unigram vocabularies only.

    Returns:
        A `Tokenizer`. BERT's puts `[CLS]` and `[SEP]` around texts, T5's ends them with `</s>`.

    Example:

    >>> tokenizer = learn_vocabulary(["ACGT TTGA"], "character", None, "bert")
    >>> [tokenizer.id_to_token(number) for number in tokenizer.encode(["GAT"])[0].ids]
    ['[CLS]', 'G', 'A', 'T', '[SEP]']
    """
    if lowercase and kind not in WITH_CASES:
        raise ValueError(f"--lowercase is for {' and '.join(WITH_CASES)} vocabularies: received it with {kind}.")
    special_tokens = _special_tokens(model, kind)
    if kind == "wordpiece" and model == "bert":
        return Tokenizer.train(texts, size, lowercase=lowercase, model=kind)
    if kind == "wordpiece":
        raise ValueError(f"--tokenizer wordpiece is BERT's, and {model} needs other special tokens. Give byte_pair.")
    tokenizer = Tokenizer.train(
        texts, size, lowercase=lowercase if kind in WITH_CASES else None, model=kind, special_tokens=special_tokens
    )
    return _with_template(tokenizer, model)


def check_special_tokens(tokenizer: Tokenizer, task: TextTask, folder: str) -> None:
    """Raise a `ValueError` if a tokenizer lacks a special token that a task needs, before the text is read.

    Args:
        tokenizer: The tokenizer.
        task: The task that a model is trained for.
        folder: Folder of the tokenizer, for the message.

    Example:

    >>> from zoo.scratch.text_tasks import MASKED_TOKENS
    >>> check_special_tokens(Tokenizer.train(["film"], 60), MASKED_TOKENS, "mine")
    """
    for role in task.roles:
        try:
            getattr(tokenizer, role)
        except ValueError as error:
            raise ValueError(
                f"the tokenizer in {folder} lacks a special token ({role}) that the model needs: {error} Give another "
                f"folder, or one of {', '.join(KINDS)}, which is learned with its special tokens."
            ) from error


def check_sentinels(tokenizer: Tokenizer | None, max_length: int, name: str) -> None:
    """Raise a `ValueError` if a tokenizer has fewer sentinels than a row of text has hidden spans.

    Args:
        tokenizer: The tokenizer; None for one that is to be learned.
        max_length: Tokens of a row.
        name: Name of the tokenizer, for the message.

    Example:

    >>> check_sentinels(learn_vocabulary(["a fine film"], "bytes", None, "t5"), 512, "mine")
    """
    from keras_transformers.data.objectives.span_corruption import SpanCorruption

    count = 0 if tokenizer else SENTINELS
    with contextlib.suppress(ValueError):  # there is no token of this name
        while tokenizer and tokenizer.token_to_id(f"<extra_id_{count}>") is not None:
            count += 1
    objective = SpanCorruption(count, range(count), end_id=0, start_id=0)
    _, spans = objective.counts(objective.block_length(max_length))
    if count < spans:
        raise ValueError(
            f"{name} has {count} of T5's sentinels (<extra_id_0>, <extra_id_1>, ...), which mark hidden spans: "
            f"expected {spans}, for rows of {max_length} tokens. Give a smaller --max-length, or another tokenizer: a "
            f"learned one (--tokenizer unigram) has {SENTINELS}."
        )


def _special_tokens(model: str, kind: str) -> tuple[str, ...]:
    """Return the special tokens of a model with a vocabulary of some kind, in the order of their ids."""
    unknown = (UNKNOWN,) if kind == "character" else ()  # bytes know every character
    if model == "bert":
        return (*wordpiece_vocabulary.SPECIAL_TOKENS, *unknown, *((UNKNOWN, "</s>") if kind == "unigram" else ()))
    if model == "t5":
        return (*SPECIAL_TOKENS, *(f"<extra_id_{number}>" for number in range(SENTINELS)))
    if model == "transformer" or kind == "unigram":
        return SPECIAL_TOKENS
    return (END, *unknown)


def _with_template(tokenizer: Tokenizer, model: str) -> Tokenizer:
    """Return a tokenizer that puts the special tokens of the model around texts."""
    if model in ("t5", "transformer"):
        return with_end_token(tokenizer, tokenizer.eos_id)
    if model != "bert":
        return tokenizer
    library = Library.from_str(tokenizer.to_json())
    start, end = (
        (token, tokenizer.token_to_id(token)) for token in (wordpiece_vocabulary.CLS, wordpiece_vocabulary.SEP)
    )
    library.post_processor = wordpiece_vocabulary.template(start, end)
    return tokenizer.with_library(library)


def sample(texts: Iterable[str], characters: int, most: int = SAMPLE) -> Iterator[str]:
    """Yield texts of every place of a corpus, about `most` characters of `characters` in all.

    Example:

    >>> list(sample(["ab", "cd", "ef", "gh"], characters=8, most=4))
    ['ab', 'ef']
    """
    seen = taken = 0
    for text in texts:
        if taken * characters <= seen * most:
            taken += len(text)
            yield text
        seen += len(text)
