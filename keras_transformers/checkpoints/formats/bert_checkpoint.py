"""A BERT that a TensorFlow program wrote: sizes from its variables, its head and its vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.checkpoints.formats.lower_case import find_lowercase
from keras_transformers.checkpoints.stored import HOW_TO_GIVE, Stored, UserOptions, folder_of, parsed
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.wordpiece_vocabulary import PAD, read_vocabulary
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

HEAD_DIM = 64  # of every BERT that Google published
WORDS, POSITIONS, SEGMENTS, INNER = (
    "bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight",
    "bert.embeddings.token_type_embeddings.weight", "bert.encoder.layer.0.intermediate.dense.weight",
)  # fmt: skip
LAYER = re.compile(r"bert\.encoder\.layer\.(\d+)\..*")
HEADS = {  # tensors that show the class of `transformers`: the first one of which all are there
    "BertForSequenceClassification": ("classifier.weight",),
    "BertForQuestionAnswering": ("qa_outputs.weight",),
    "BertForPreTraining": ("cls.predictions.bias", "cls.seq_relationship.weight"),
    "BertForMaskedLM": ("cls.predictions.bias",),
    "BertForNextSentencePrediction": ("cls.seq_relationship.weight",),
    "BertModel": (),
}
PADDED = (8, 16, 32, 64, 128, 256, 512, 1024)  # programs pad tables to multiples of these, for the hardware


class Facts(NamedTuple):
    """The facts that a format finds out about a checkpoint.

    Args:
        writer: The program.
        place: As `Stored.place`.
        tensors: By the names and in the layouts of PyTorch.
        options: What it says of the model, by the keys of config.json; sizes among them must be those of the tensors.
        source: What says it, for errors.
        vocabulary: The path of its vocab.txt.
        lowercase: What it says of its texts; or None.
        architecture: The class of `transformers`; None for what the tensors tell.
        assumed: As `Stored.assumed`.
    """

    writer: str
    place: Path
    tensors: Sequence[Tensor]
    options: Mapping[str, Any]
    source: Path
    vocabulary: Path
    lowercase: bool | None = None
    architecture: str | None = None
    assumed: Sequence[str] = ()


def store(facts: Facts, user_options: UserOptions) -> Stored:
    """Return the record of a checkpoint.

    Args:
        facts: What its format knows.
        user_options: Of the user.

    Raises:
        ValueError: Sizes differ between its files, or from what the user says; or nothing says one.
    """
    named = by_name(((tensor.name, tensor) for tensor in facts.tensors), facts.place)
    sizes = find_sizes(named, facts.place)
    check_same(facts.options, sizes, facts.source)
    num_heads, heads_clause = _find_heads(facts, user_options, sizes["hidden_size"])
    tokens = read_vocabulary(facts.vocabulary)
    check_rows(max(tokens.values()) + 1, sizes["vocab_size"], facts.vocabulary)
    lowercase, case_clause = _find_case(facts, user_options, tokens)
    architecture = facts.architecture or find_class(named)
    labels = {"num_labels": named["classifier.weight"].shape[0]} if "classifier.weight" in named else {}
    values = {
        **labels, **facts.options, **sizes, "num_attention_heads": num_heads, "model_type": "bert",
        "architectures": [architecture], "layer_norm_eps": 1e-12, "pad_token_id": tokens.get(PAD),
    }  # fmt: skip
    return parsed(
        values,
        facts.source,
        writer=facts.writer,
        place=facts.place,
        tensors=lambda: [*facts.tensors],
        tokenizers=lambda: (Tokenizer.from_vocab(facts.vocabulary, lowercase),) * 2,
        assumed=[clause for clause in (*facts.assumed, heads_clause, case_clause) if clause],
    )


def find_class(names: Mapping[str, Any]) -> str:
    """Return the class of `transformers` with the head that the checkpoint has."""
    return next(name for name, needed in HEADS.items() if all(key in names for key in needed))


def find_sizes(tensors: Mapping[str, Tensor], place: Path) -> dict[str, int]:
    """Return the sizes of a model, as its tensors have them.

    Raises:
        ValueError: A table that shows a size, or a layer, is missing.
    """
    shapes = {name: tensors[name].shape if name in tensors else () for name in (WORDS, POSITIONS, SEGMENTS, INNER)}
    if wrong := [name for name, shape in shapes.items() if len(shape) != 2 or 0 in shape]:
        raise ValueError(f"{place} lacks the variables of {shown(wrong)}, tables and kernels: fetch a whole BERT.")
    layers = {int(match[1]) for match in map(LAYER.fullmatch, tensors) if match}
    if missing := [number for number in range(len(layers)) if number not in layers]:
        raise ValueError(
            f"{place} holds {len(layers)} layers, and none of the numbers {shown(missing)}: fetch it again."
        )
    return {
        "vocab_size": shapes[WORDS][0],
        "hidden_size": shapes[WORDS][1],
        "max_position_embeddings": shapes[POSITIONS][0],
        "type_vocab_size": shapes[SEGMENTS][0],
        "intermediate_size": shapes[INNER][0],
        "num_hidden_layers": len(layers),
    }


def check_same(options: Mapping[str, Any], sizes: Mapping[str, int], source: Any) -> None:
    """Refuse a file whose sizes differ from those of the variables."""
    other = {key: options[key] for key in sizes if options.get(key) is not None and options[key] != sizes[key]}
    if other:
        held = {key: sizes[key] for key in other}
        raise ValueError(
            f"{source} says {shown(other)}, and the variables of the checkpoint have {shown(held)}: they are of two "
            "models. Fetch both files of one."
        )


def check_rows(count: int, rows: int, path: Path) -> None:
    """Refuse a vocabulary of another size than the model's; rows that pad it to a round number are no tokens."""
    if count != rows and not any(rows == -(-count // size) * size for size in PADDED):
        raise ValueError(
            f"{path} has {count:,} tokens, and the model {rows:,}: expected one token a row (or fewer, where rows fill "
            f"up a multiple of {PADDED[0]} to {PADDED[-1]:,}). Give the vocabulary of this model."
        )


def _find_heads(facts: Facts, user_options: UserOptions, width: int) -> tuple[int, str]:
    """Return the number of attention heads, and a clause that says what implies it."""
    known, clause = facts.options.get("num_attention_heads"), ""
    if known is not None and user_options.num_heads not in (None, known):
        raise ValueError(
            f"{facts.source} says that the model has {shown(known)} attention heads: received "
            f"num_heads={user_options.num_heads}. Leave it out."
        )
    count = user_options.num_heads if known is None else known
    if count is None and width % HEAD_DIM == 0:
        count = width // HEAD_DIM
        clause = f"attention has {count} heads, as Google's have {HEAD_DIM} values each (if not: num_heads=...)"
    if count is None:
        raise ValueError(
            f"{facts.place} holds a BERT of width {width} and does not say how many attention heads it has. Add its "
            f"bert_config.json, or give {HOW_TO_GIVE['num_heads']}."
        )
    if not is_size(count) or width % count:
        source = facts.source if known is not None else facts.place
        raise ValueError(
            f"{source}: a BERT of width {width} cannot have {shown(count)} attention heads: expected a number that "
            "divides the width. Correct it."
        )
    return count, clause


def _find_case(facts: Facts, user_options: UserOptions, tokens: Mapping[str, int]) -> tuple[bool, str]:
    if facts.lowercase is None:
        return find_lowercase(user_options.lowercase, folder_of(facts.place), tokens)
    if user_options.lowercase not in (None, facts.lowercase):
        raise ValueError(
            f"{facts.place} says do_lower_case={facts.lowercase}: received lowercase={user_options.lowercase}. "
            "Leave it out."
        )
    return facts.lowercase, ""


def find_vocabulary(folder: Path, name: str = "vocab.txt") -> Path:
    """Return the path of a checkpoint's vocabulary.

    Raises:
        ValueError: There is none.
    """
    path = folder / name
    if not path.is_file():
        raise ValueError(
            f"there is no {name} in {folder}: expected the vocabulary that the model was trained with (vocab_file), a "
            "token a line. Copy it there."
        )
    return path
