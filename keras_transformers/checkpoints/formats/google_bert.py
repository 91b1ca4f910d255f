"""Checkpoints of google-research/bert: pre-trained, and fine-tuned by run_classifier.py and run_squad.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.bert_checkpoint import Facts, find_vocabulary, store
from keras_transformers.checkpoints.formats.tf_checkpoint import find_prefix, load_checkpoint, read_variables
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of
from keras_transformers.utils.json_file import NUMBER, Kind, check_types, read_object
from keras_transformers.utils.untrusted import shown

WRITER = "google-research/bert"
CONFIG = "bert_config.json"
RENAMED = "config.json"  # the name that `from_tf=True` of `transformers` needed
KINDS: dict[str, Kind] = {
    "vocab_size": int, "hidden_size": int, "num_hidden_layers": int, "num_attention_heads": int,
    "intermediate_size": int, "max_position_embeddings": int, "type_vocab_size": int, "hidden_act": str,
    "hidden_dropout_prob": NUMBER, "attention_probs_dropout_prob": NUMBER, "initializer_range": NUMBER,
}  # fmt: skip
# Both programs compute "gelu" with tanh; other names mean the same as in `transformers`.
ACTIVATIONS = {"gelu": "gelu_new", "gelu_new": "gelu_new", "relu": "relu", "tanh": "tanh"}
BERT = re.compile(r"(?:module/)?bert/(?:embeddings|encoder)/.*")
LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias", "bias": "bias"}
HEADS = {
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "cls/predictions/output_bias": "cls.predictions.bias",
}
TABLE = re.compile(r"bert/embeddings/(?:word|position|token_type)_embeddings")
LAYER = re.compile(
    r"bert/(?:embeddings/LayerNorm|pooler/dense|encoder/layer_\d+/(?:attention/(?:self/(?:query|key|value)"
    r"|output/(?:dense|LayerNorm))|intermediate/dense|output/(?:dense|LayerNorm)))/\w+"
    r"|cls/predictions/transform/(?:dense|LayerNorm)/\w+"
)


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder with `bert_model.ckpt.*` or `model.ckpt-*`, bert_config.json and vocab.txt."""
    prefix = find_prefix(place)
    folder = folder_of(place)
    if prefix is None:
        if (folder / CONFIG).is_file():
            raise _without_checkpoint(folder)
        return None
    variables = read_variables(prefix, load_checkpoint(prefix))
    if not any(map(BERT.fullmatch, variables)):
        return None
    facts = Facts(WRITER, place, to_torch(variables, prefix), {}, prefix, find_vocabulary(folder))
    return store(facts._replace(**read_options(folder)), user_options)


def read_options(folder: Path) -> dict[str, Any]:
    """Return the options of a bert_config.json as fields of `Facts`; if there is none, with a clause of assumptions.

    Raises:
        ValueError: A value is of another type, or the activation is not known.
    """
    path = next((folder / name for name in (CONFIG, RENAMED) if (folder / name).is_file()), None)
    if path is None:
        return {"options": {"hidden_act": "gelu_new"}, "assumed": [f"the activation is gelu, as there is no {CONFIG}"]}
    values = read_object(path)
    check_types(values, KINDS, path)
    options = {key: values[key] for key in KINDS if values.get(key) is not None}
    return {
        "options": options | {"hidden_act": find_activation(values.get("hidden_act", "gelu"), path)},
        "source": path,
    }


def find_activation(name: Any, source: Any) -> str:
    """Return the name in `transformers` of an activation of Google's programs."""
    if name not in ACTIVATIONS:
        raise ValueError(f"{source}: unknown activation {shown(name)}; known are {sorted(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def _without_checkpoint(folder: Path) -> ValueError:
    """Return the error of a folder that has the options of a model, and no weights."""
    graphs = sorted(path.name for pattern in ("*.meta", "*.pb") for path in folder.glob(pattern))
    held = f" It holds {shown(graphs)}, graphs without weights that could be read." if graphs else ""
    return ValueError(
        f"there is no checkpoint beside {folder / CONFIG}: expected bert_model.ckpt.index and "
        f"bert_model.ckpt.data-00000-of-00001, or the files of another prefix.{held} Fetch them too."
    )


def to_torch(variables: Mapping[str, Tensor], prefix: Path) -> list[Tensor]:
    """Return variables by the names and in the layouts of PyTorch.

    Raises:
        ValueError: Some are of another model like BERT.
    """
    renamed = {name: torch_name(name.removeprefix("module/")) for name in variables}
    if others := [name for name, new in renamed.items() if new is None and "bert/" in name]:
        kind = "ALBERT" if any("group_" in name or "hidden_mapping" in name for name in others) else "a model like BERT"
        raise ValueError(f"{prefix} holds {kind}, which is not supported: BERT has no {shown(others)}.")
    return [as_torch(tensor, renamed[name] or name) for name, tensor in variables.items()]


def torch_name(name: str) -> str | None:
    """Return the name in PyTorch's classes of a variable; None if BERT has no such variable.

    Example:

    >>> torch_name("bert/encoder/layer_0/attention/self/query/kernel"), torch_name("output_weights")
    ('bert.encoder.layer.0.attention.self.query.weight', 'classifier.weight')
    """
    if name in HEADS:
        return HEADS[name]
    if TABLE.fullmatch(name):
        return f"{name.replace('/', '.')}.weight"
    stem, _, leaf = name.rpartition("/")
    if not LAYER.fullmatch(name) or leaf not in LEAVES:
        return None
    return f"{stem.replace('layer_', 'layer/').replace('/', '.')}.{LEAVES[leaf]}"


def as_torch(tensor: Tensor, name: str) -> Tensor:
    """Return a variable by a name of PyTorch, in its layout: kernels are transposed."""
    is_kernel = tensor.name.endswith("/kernel") and len(tensor.shape) == 2
    renamed = tensor._replace(name=name)
    return renamed.map(np.transpose) if is_kernel else renamed
