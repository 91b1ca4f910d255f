"""Checkpoints of Model Garden (`official.nlp`): of encoders, of classifiers, of pre-training; and of whole runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.yaml_file import read_yaml
from keras_transformers.checkpoints.formats import google_bert, tf_models
from keras_transformers.checkpoints.formats.bert_checkpoint import Facts, find_vocabulary, store
from keras_transformers.checkpoints.formats.tf_checkpoint import find_prefix, is_object_based, load_checkpoint
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of
from keras_transformers.utils.json_file import check_types
from keras_transformers.utils.untrusted import shown

WRITER = "Model Garden"
PARAMS = "params.yaml"
TYPES = ("bert", "bert_v2")
NAMES = {  # an encoder's options, and their names in bert_config.json
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_attention_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_position_embeddings": "max_position_embeddings",
    "type_vocab_size": "type_vocab_size",
    "hidden_activation": "hidden_act",
    "dropout_rate": "hidden_dropout_prob",
    "attention_dropout_rate": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
}


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder of a checkpoint with bert_config.json, or of a run with its params.yaml, and vocab.txt."""
    prefix = find_prefix(place)
    if prefix is None:
        return None
    reader = load_checkpoint(prefix)
    if not is_object_based(reader):
        return None
    objects = tf_models.read_objects(prefix, reader)
    if not tf_models.is_bert(objects):
        return None
    bert = tf_models.read_bert(objects, prefix)
    folder = folder_of(place)
    has_params = (folder / PARAMS).is_file() and not (folder / google_bert.CONFIG).is_file()
    known = read_params(folder / PARAMS) if has_params else google_bert.read_options(folder)
    facts = Facts(WRITER, place, bert.tensors, {}, prefix, find_vocabulary(folder), architecture=bert.architecture)
    facts = facts._replace(**known)
    options = _with_heads(facts.options, bert.num_heads, facts.source)
    labels = _labels(options, bert.tensors, facts.source)
    return store(facts._replace(options=labels, assumed=[*facts.assumed, *bert.assumed]), user_options)


def _with_heads(options: Mapping[str, Any], num_heads: int | None, source: Path) -> dict[str, Any]:
    key = "num_attention_heads"
    if None not in (num_heads, options.get(key)) and options[key] != num_heads:
        raise ValueError(
            f"{source} says {key}={shown(options[key])}, and the kernels of the checkpoint have {num_heads}: they "
            "belong to two models. Fetch both files of one model."
        )
    return {**options, key: num_heads or options.get(key)}


def _labels(options: Mapping[str, Any], tensors: Any, source: Path) -> dict[str, Any]:
    """Return options with the labels as config.json has them, if they are named and there is a classifier."""
    others = {key: value for key, value in options.items() if key != "class_names"}
    names = options.get("class_names")
    rows = next((tensor.shape[0] for tensor in tensors if tensor.name == "classifier.weight"), None)
    if not names or rows is None:
        return others
    if len(names) != rows or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{source} names the classes {shown(names)}, and the checkpoint has {rows}: correct it.")
    return others | {"id2label": {str(index): name for index, name in enumerate(names)}}


def read_params(path: Path) -> dict[str, Any]:
    """Return the options in a run's params.yaml as fields of `Facts`; `class_names` is one of them.

    Raises:
        ValueError: Its encoder is not BERT's, or a value is of another type.
    """
    task = _part(read_yaml(path), "task", path)
    model = _part(task, "model", path)
    encoder = _part(model, "encoder", path)
    kind = encoder.get("type", TYPES[0])
    if kind not in TYPES:
        raise ValueError(f"{path}: the encoder is {shown(kind)}, which is not supported; only {TYPES} are.")
    encoder_options = _part(encoder, kind, path)
    if encoder_options.get("norm_first") or encoder_options.get("embedding_size") not in (
        None,
        encoder_options.get("hidden_size"),
    ):
        raise ValueError(f"{path}: norm_first and a separate embedding_size are not supported. {kind!r} has neither.")
    options = {theirs: encoder_options[ours] for ours, theirs in NAMES.items() if encoder_options.get(ours) is not None}
    check_types(options, google_bert.KINDS, path)
    check_types(task, {"class_names": list}, path)
    check_types(model, {"mlm_activation": str}, path)
    options["hidden_act"] = google_bert.find_activation(encoder_options.get("hidden_activation", "gelu"), path)
    if (other := model.get("mlm_activation")) and google_bert.find_activation(other, path) != options["hidden_act"]:
        raise ValueError(
            f"{path}: mlm_activation={shown(other)} is not supported: expected the activation of the layers."
        )
    clauses = []
    if "hidden_activation" not in encoder_options:
        clauses.append(f"the activation is gelu, as {path.name} does not specify it")
    return {"options": options | {"class_names": task.get("class_names")}, "source": path, "assumed": clauses}


def _part(values: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    check_types(values, {key: dict}, path)
    return values.get(key) or {}
