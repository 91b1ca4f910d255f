"""BERT's text pipeline: reading and training of a WordPiece vocabulary, and its tokenizer."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from keras_transformers.text.pipelines.components import A, B, Piece, make_template, tokens_around
from keras_transformers.utils.untrusted import decoded, read_bytes, shown

PAD, UNK, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MPNET_TOKENS = ("<s>", "<pad>", "</s>", UNK, "<mask>")
CONTINUATION = "##"
MARKED = 0.001  # share of the letters from which on accents are kept
ALPHABET_LIMIT = 1000  # as in the trainers of the `tokenizers` library: rarer characters become [UNK]


def read_vocabulary(path: str | Path) -> dict[str, int]:
    """Read vocab.txt: one token per line, the line number is the id."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"No vocabulary file at {path}. Expected a text file with one token per line (vocab.txt).")
    text = decoded(read_bytes(path, "a vocab.txt"), path)
    if text.startswith("\ufeff"):
        raise ValueError(
            f"{path} begins with a byte order mark, which would be a part of its first token. Expected UTF-8 without "
            "one: save it so."
        )
    # Not splitlines(): it also splits at U+2028 and similar characters, which may be tokens.
    tokens = [line.rstrip(" \t\r") for line in text.removesuffix("\n").split("\n")]
    if tokens == [""]:
        raise ValueError(f"The vocabulary {path} is empty. Expected one token per line.")
    repeated = [token for token, count in Counter(tokens).items() if count > 1]
    if repeated:
        raise ValueError(
            f"The vocabulary {path} holds {len(repeated)} tokens more than once, such as {shown(repeated[0])}. "
            "Ids are line numbers: remove or rename the repeated lines."
        )
    return {token: i for i, token in enumerate(tokens)}


def build(
    vocabulary: dict[str, int], lowercase: bool, strip_accents: bool | None = None, split_chinese: bool = True,
    source: Any = "The vocabulary",
) -> tokenizers.Tokenizer:  # fmt: skip
    """Build BERT's tokenizer from a WordPiece vocabulary: normaliser, pre-tokeniser, template and decoder.

    Error messages name the `source` of the vocabulary.
    """
    tokenizer = _pipeline(vocabulary, lowercase, strip_accents, split_chinese, SPECIAL_TOKENS, source)
    tokenizer.post_processor = template(*((token, vocabulary[token]) for token in (CLS, SEP)))
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer


def build_mpnet(
    vocabulary: dict[str, int], lowercase: bool, strip_accents: bool | None = None, split_chinese: bool = True,
    source: Any = "The vocabulary",
) -> tokenizers.Tokenizer:  # fmt: skip
    """Build MPNet's tokenizer: BERT's, with RoBERTa's special tokens around texts. They are not added here."""
    tokenizer = _pipeline(vocabulary, lowercase, strip_accents, split_chinese, MPNET_TOKENS, source)
    start, end = ((token, vocabulary[token]) for token in ("<s>", "</s>"))
    tokenizer.post_processor = processors.RobertaProcessing(end, start, trim_offsets=True, add_prefix_space=False)
    return tokenizer


def _pipeline(
    vocabulary: dict[str, int], lowercase: bool, strip_accents: bool | None, split_chinese: bool,
    needed: Sequence[str], source: Any,
) -> tokenizers.Tokenizer:  # fmt: skip
    if absent := [token for token in needed if token not in vocabulary]:
        raise ValueError(
            f"{source} lacks the special tokens {absent}. The pipeline needs all of {list(needed)}: "
            "add them to the vocabulary, or load a complete tokenizer.json with Tokenizer.from_file."
        )
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=UNK))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=split_chinese
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION)
    return tokenizer


def template(start: tuple[str, int], end: tuple[str, int]) -> processors.TemplateProcessing:
    """Return BERT's template; each token is given with its id."""
    (first, _), (last, _) = start, end
    pair: list[tuple[Piece, int]] = [(first, 0), (A, 0), (last, 0), (B, 1), (last, 1)]
    return make_template([first, A, last], pair, dict([start, end]))


def folder_class(pipeline: dict[str, Any]) -> dict[str, Any] | None:
    """Return the entries of tokenizer_config.json for BERT's pipeline, or MPNet's; None for any other pipeline."""
    normalizer, model = pipeline["normalizer"] or {"type": None}, pipeline["model"]
    if (model["type"], normalizer["type"]) != ("WordPiece", "BertNormalizer"):
        return None
    before, _ = tokens_around(pipeline["post_processor"])
    return {
        "tokenizer_class": "MPNetTokenizer" if before == [model["vocab"].get("<s>")] else "BertTokenizer",
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }


def vocabulary_files(pipeline: dict[str, Any]) -> dict[str, str]:
    """Return vocab.txt of a WordPiece model, file name to content."""
    vocabulary = pipeline["model"]["vocab"]
    return {"vocab.txt": "".join(f"{token}\n" for token in sorted(vocabulary, key=vocabulary.get))}


def train(texts: Iterable[str], size: int, lowercase: bool) -> tokenizers.Tokenizer:
    """Learn BERT's tokenizer. With `lowercase` it strips accents, too, as BERT's, unless the texts are of a script
    whose words would not be the same without their marks.
    """
    counts = _count_words(texts, lowercase)
    strips = lowercase and not _needs_marks(counts)
    vocabulary = _learn(_without_marks(counts) if strips else counts, size)
    return build(vocabulary, lowercase, None if strips == lowercase else strips)  # None: as `lowercase`


def train_vocabulary(texts: Iterable[str], size: int, lowercase: bool) -> dict[str, int]:
    """Learn a WordPiece vocabulary; the ids are the same in every run."""
    return train(texts, size, lowercase).get_vocab()


def _needs_marks(counts: Mapping[str, int]) -> bool:
    """Return whether letters that are not Latin or Greek lose a part without accents, as Hindi, Thai and Russian do."""
    marked = letters = 0
    for word, count in counts.items():
        letters += count * len(word)
        if not word.isascii():
            marked += count * sum(map(_is_marked, word))
    return marked > MARKED * letters


@lru_cache(1 << 16)
def _is_marked(letter: str) -> bool:
    """Return whether stripping of accents changes a letter, which it also cuts into its parts (NFD), as in Korean."""
    is_changed = unicodedata.category(letter) == "Mn" or unicodedata.normalize("NFD", letter) != letter
    return is_changed and not unicodedata.name(letter, "").startswith(("LATIN", "GREEK", "COMBINING"))


def _without_marks(counts: Mapping[str, int]) -> Counter[str]:
    normalizer, stripped = normalizers.BertNormalizer(lowercase=True, strip_accents=True), Counter[str]()
    for word, count in counts.items():
        for part in normalizer.normalize_str(word).split():
            stripped[part] += count
    return stripped


def _learn(counts: Counter[str], size: int) -> dict[str, int]:
    """Learn the pieces of words.

    The library's trainer breaks ties between equally frequent merges by the ids of their parts, and numbers the
    "##x" pieces in the order of a randomly seeded hash map. Sorted and listed as special tokens, they keep their ids.
    """
    counts = _of_alphabet(counts)
    pieces = sorted({CONTINUATION + character for word in counts for character in word[1:]})

    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=[*SPECIAL_TOKENS, *pieces], show_progress=False)
    scratch = tokenizers.Tokenizer(models.WordPiece(unk_token=UNK))
    scratch.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    scratch.train_from_iterator((f"{word} " * count for word, count in counts.items()), trainer)

    vocabulary = scratch.get_vocab()
    if len(vocabulary) > size:
        raise ValueError(
            f"vocabulary_size={size} cannot hold the {len(vocabulary)} special tokens and characters of this corpus. "
            f"Ask for more than {len(vocabulary)}."
        )
    return vocabulary


def _count_words(texts: Iterable[str], lowercase: bool) -> Counter[str]:
    """Count the pre-tokenised words, with their accents."""
    normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
    splitter = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    if not counts:
        raise ValueError("The corpus holds no word to train on. Expected an iterable of non-empty str.")
    return counts


def _of_alphabet(counts: Mapping[str, int]) -> Counter[str]:
    """Return the words without a rare character outside the alphabet."""
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    ranked = sorted(characters, key=lambda character: (-characters[character], character))
    alphabet = frozenset(ranked[:ALPHABET_LIMIT])
    return Counter({word: count for word, count in counts.items() if alphabet.issuperset(word)})
