"""A BERT that a TensorFlow program wrote: sizes from its variables, its head and its vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
    "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight", "encoder.layer.0.intermediate.dense.weight",
)  # fmt: skip
# By model type, tensors that show the class of `transformers`: the first one of which all are there.
CLASSES: dict[str, dict[str, tuple[str, ...]]] = {
    "bert": {
        "BertForSequenceClassification": ("classifier.weight",),
        "BertForQuestionAnswering": ("qa_outputs.weight",),
        "BertForPreTraining": ("cls.predictions.bias", "cls.seq_relationship.weight"),
        "BertForMaskedLM": ("cls.predictions.bias",),
        "BertForNextSentencePrediction": ("cls.seq_relationship.weight",),
        "BertModel": (),
    },
    "electra": {
        "ElectraForTokenClassification": ("classifier.weight",),
        "ElectraForSequenceClassification": ("classifier.out_proj.weight",),
        "ElectraForQuestionAnswering": ("qa_outputs.weight",),
        "ElectraForPreTraining": ("discriminator_predictions.dense_prediction.weight",),
        "ElectraForMaskedLM": ("generator_lm_head.bias",),
        "ElectraModel": (),
    },
    "albert": {
        "AlbertForSequenceClassification": ("classifier.weight",),
        "AlbertForQuestionAnswering": ("qa_outputs.weight",),
        "AlbertForMaskedLM": ("predictions.bias",),
        "AlbertModel": (),
    },
}
PADDED = (8, 16, 32, 64, 128, 256, 512, 1024)  # programs pad tables to multiples of these, for the hardware


class Facts(NamedTuple):
    """The facts that a format finds out about a checkpoint.

    Args:
        writer: The program.
        place: As `Stored.place`.
        tensors: Tensors by the names and in the layouts of PyTorch.
        options: Settings of the model by the keys of config.json; sizes among them must match the tensors.
        source: Name of the file with the settings, for errors.
        vocabulary: The path of its vocab.txt.
        lowercase: Whether texts are lower-cased, according to the checkpoint; None if unknown.
        architecture: The class of `transformers`; None for what the tensors tell.
        assumed: As `Stored.assumed`.
        model_type: Name of the family in config.json.
        sizes: Sizes of the model by the keys of config.json; None for the sizes of a BERT's tensors.
        tokenizer: The tokenizer, if the checkpoint has no vocab.txt.
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
    model_type: str = "bert"
    sizes: Mapping[str, int] | None = None
    tokenizer: Callable[[], Tokenizer] | None = None


def store(facts: Facts, user_options: UserOptions) -> Stored:
    """Return the record of a checkpoint.

    Args:
        facts: Facts that follow from the format.
        user_options: Options of the user.

    Raises:
        ValueError: Sizes differ between its files, or from what the user says; or nothing says one.
    """
    named = by_name(((tensor.name, tensor) for tensor in facts.tensors), facts.place)
    sizes = facts.sizes or find_sizes(named, facts.place, facts.model_type)
    check_same(facts.options, sizes, facts.source)
    num_heads, heads_clause = _find_heads(facts, user_options, sizes["hidden_size"])
    tokenizer, pad_id, case_clause = _find_tokenizer(facts, user_options, sizes["vocab_size"])
    architecture = facts.architecture or find_class(named, facts.model_type)
    outputs = [named[name] for name in ("classifier.weight", "classifier.out_proj.weight") if name in named]
    labels = {"num_labels": outputs[0].shape[0]} if outputs else {}
    values = {
        "pad_token_id": pad_id, **labels, **facts.options, **sizes, "num_attention_heads": num_heads,
        "model_type": facts.model_type, "architectures": [architecture], "layer_norm_eps": 1e-12,
    }  # fmt: skip
    return parsed(
        values,
        facts.source,
        writer=facts.writer,
        place=facts.place,
        tensors=lambda: [*facts.tensors],
        tokenizers=lambda: (tokenizer(),) * 2,
        assumed=[clause for clause in (*facts.assumed, heads_clause, case_clause) if clause],
    )


def find_class(names: Mapping[str, Any], model_type: str = "bert") -> str:
    """Return the class of `transformers` with the head that the checkpoint has."""
    return next(name for name, needed in CLASSES[model_type].items() if all(key in names for key in needed))


def find_sizes(tensors: Mapping[str, Tensor], place: Path, model_type: str = "bert") -> dict[str, int]:
    """Return the sizes of a model, as its tensors have them.

    Args:
        tensors: Tensors by the names of PyTorch.
        place: Path of the checkpoint.
        model_type: Name of the family in config.json.

    Raises:
        ValueError: A table that shows a size, or a layer, is missing.
    """
    shapes = table_shapes(tensors, [f"{model_type}.{name}" for name in (WORDS, POSITIONS, SEGMENTS, INNER)], place)
    words, positions, segments, inner = shapes
    pattern = re.compile(rf"{model_type}\.encoder\.layer\.(\d+)\..*")
    layers = {int(match[1]) for match in map(pattern.fullmatch, tensors) if match}
    if missing := [number for number in range(len(layers)) if number not in layers]:
        raise ValueError(
            f"{place} holds {len(layers)} layers, and none of the numbers {shown(missing)}: fetch it again."
        )
    sizes = {
        "vocab_size": words[0],
        "hidden_size": inner[1],
        "max_position_embeddings": positions[0],
        "type_vocab_size": segments[0],
        "intermediate_size": inner[0],
        "num_hidden_layers": len(layers),
    }
    if model_type != "bert":
        sizes["embedding_size"] = words[1]
    return sizes


def table_shapes(tensors: Mapping[str, Tensor], names: Sequence[str], place: Path) -> list[tuple[int, ...]]:
    """Return the shapes of the tables and kernels that show sizes.

    Raises:
        ValueError: One is missing, or no table.
    """
    shapes = {name: tensors[name].shape if name in tensors else () for name in names}
    if wrong := [name for name, shape in shapes.items() if len(shape) != 2 or 0 in shape]:
        raise ValueError(f"{place} lacks the variables of {shown(wrong)}, tables and kernels: fetch a whole model.")
    return [*shapes.values()]


def check_same(options: Mapping[str, Any], sizes: Mapping[str, int], source: Any) -> None:
    """Refuse a file whose sizes differ from the sizes of the variables."""
    other = {key: options[key] for key in sizes if options.get(key) is not None and options[key] != sizes[key]}
    if other:
        held = {key: sizes[key] for key in other}
        raise ValueError(
            f"{source} says {shown(other)}, and the variables of the checkpoint have {shown(held)}: they belong to "
            "two models. Fetch both files of one model."
        )


def check_rows(count: int, rows: int, path: Path) -> None:
    """Refuse a vocabulary of another size than the model's; rows that pad it to a round number are no tokens."""
    if count != rows and not any(rows == -(-count // size) * size for size in PADDED):
        raise ValueError(
            f"{path} has {count:,} tokens, and the model {rows:,}: expected one token per row (or fewer if rows fill "
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
            f"{facts.place} holds a model of width {width} without a number of attention heads. Add its "
            f"configuration, such as bert_config.json, or give {HOW_TO_GIVE['num_heads']}."
        )
    if not is_size(count) or width % count:
        source = facts.source if known is not None else facts.place
        raise ValueError(
            f"{source}: a model of width {width} cannot have {shown(count)} attention heads: expected a number that "
            "divides the width. Correct it."
        )
    return count, clause


def _find_tokenizer(
    facts: Facts, user_options: UserOptions, rows: int
) -> tuple[Callable[[], Tokenizer], int | None, str]:
    """Return what reads the tokenizer, after checking that its vocabulary is the model's; its id of padding; and a
    clause on its case.
    """
    if facts.tokenizer is not None:
        tokenizer = facts.tokenizer()
        check_rows(tokenizer.vocabulary_size, rows, facts.vocabulary)
        return facts.tokenizer, tokenizer.pad_id, ""
    tokens = read_vocabulary(facts.vocabulary)
    check_rows(max(tokens.values()) + 1, rows, facts.vocabulary)
    lowercase, clause = _find_case(facts, user_options, tokens)
    return lambda: Tokenizer.from_vocab(facts.vocabulary, lowercase), tokens.get(PAD), clause


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
