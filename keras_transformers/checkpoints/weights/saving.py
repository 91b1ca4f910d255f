"""Saving of a model in the Hugging Face layout: config.json, model.safetensors and the tokenizer's files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.checkpoints.files.atomic_folder import atomic_folder
from keras_transformers.checkpoints.files.safetensors_file import write_tensors
from keras_transformers.checkpoints.files.tensors import FLOAT8, SAFE, Tensor, zeros
from keras_transformers.checkpoints.settings.cross_encoder import written_activation
from keras_transformers.checkpoints.settings.generation_config import make_generation
from keras_transformers.checkpoints.settings.huggingface_config import make_config
from keras_transformers.checkpoints.settings.names import names_of, stored_as
from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.weights.fused import join, reshape_back
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.table import OF_VECTORS, Names, their_name
from keras_transformers.text.folder.kept_files import TASK
from keras_transformers.training.workers.distribute import is_chief
from keras_transformers.utils.keras_private import all_layers, strategy_of

DTYPES = ("float32", "float16", "bfloat16", FLOAT8)


class Graphs(NamedTuple):
    """Graphs of a model in other programs' formats, beside its configuration and tokenizer."""

    marker: str  # the file of a graph that every such folder has, a key of `atomic_folder.WRITTEN`
    write: Callable[[Path], None]  # writes them into a folder
    with_weights: bool  # whether the folder has the weights, too


def save_folder(
    folder: str | os.PathLike,
    model: keras.Model,
    config: TransformerConfig,
    tokenizer: Any,
    *,
    architecture: str,
    labels: Sequence[str] | None = None,
    problem: str | None = None,
    dtype: str = "float32",
    generation: Mapping[str, Any] | None = None,
    max_length: int | None = None,
    sentence_transformer: Mapping[str, Any] | None = None,
    activation: str | None = None,
    task: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Tensor] | None = None,
    files: Mapping[str, str] | None = None,
    graphs: Graphs | None = None,
) -> None:
    """Write a model atomically, as a folder that `transformers` can read.

    Args:
        folder: Replaced if it holds only files that such a save writes. Of several workers, the chief writes it.
        model: The model; heads that `architecture` does not have are left out.
        config: The model's configuration.
        tokenizer: A `Tokenizer`, or None to write none.
        architecture: Class of `transformers` that reads it, such as `"BertForSequenceClassification"`.
        labels: Names of the classes, in the order of the logits.
        problem: `"single_label"`, `"multi_label"` or `"regression"`.
        dtype: Type of the stored weights: `"float32"`; `"float16"` or `"bfloat16"` for half the size; or
            `"float8_e4m3fn"` for about a quarter. The last keeps 4 significant bits of a number of 2^-6 or more, and of
            smaller ones multiples of 2^-9; it is of the matrices only: vectors are stored as float16.
        generation: Generation settings, as `read_generation` returns them; for generation_config.json.
        max_length: Longest text in tokens, for tokenizer_config.json; needs a tokenizer.
        sentence_transformer: Arguments of `write_sentence_transformer`, which needs `max_length`.
        activation: Activation of a classifier's scores in sentence-transformers: `"linear"` or `"sigmoid"`.
        task: Facts of the task that the class of `transformers` does not imply: its `name`, and its options.
        tensors: Tensors by the names and in the layouts of `transformers`; None for the model's variables.
        files: Further texts by their path in the folder, which `atomic_folder.WRITTEN` must list.
        graphs: Graphs of the model that are written too, or in place of its weights.

    Raises:
        ValueError: The model is quantized, or lacks a layer that `architecture` needs; there is not one label for
            each class; the format cannot hold the configuration; a weight is not finite in `dtype`; or `folder` holds
            other files.
    """
    if not is_chief(strategy_of(model)):
        return
    _check_is_float(model)
    has_layer = _layers_of(config)  # before it is stored as another family, whose options differ
    config, architecture = stored_as(config, architecture)
    values = make_config(config, architecture, labels, problem) | _facts_of_task(task, activation)
    names = names_of(config, "the model", architecture)
    if tensors is None:
        _check_layers(model, names.architectures[architecture], has_layer, architecture, labels)
        tensors = _tensors(model, config, names, architecture)
    removed_prefix = "" if names.architectures[architecture] else names.prefix
    tensors = {name.removeprefix(removed_prefix): tensor for name, tensor in _as_stored(tensors, dtype).items()}
    if generation is not None or config.kind == "encoder_decoder":  # transformers' defaults are wrong ids
        generation = make_generation(config, generation or {})
    if sentence_transformer is not None:
        is_static = config.mixer == "none"
        sentence_transformer = {"hidden_dim": config.output_dim, "is_static": is_static, **sentence_transformer}
    of_tokenizer = {"max_length": max_length, **({"has_segments": True} if config.num_segments > 1 else {})}
    _write_folder(folder, values, tensors, tokenizer, of_tokenizer, generation, sentence_transformer, files, graphs)


def _facts_of_task(task: Mapping[str, Any] | None, activation: str | None) -> dict[str, Any]:
    """Return what config.json says of a task besides the class: its facts, and a cross-encoder's activation."""
    return {**({TASK: dict(task)} if task else {}), **(written_activation(activation) if activation else {})}


def _layers_of(config: TransformerConfig) -> dict[str, bool]:
    """Return whether a model has layers that not every model of its class has, by their names."""
    return {
        "lm_head": not config.tie_embeddings,
        "output_bias": config.output_bias,
        "pooler": config.kind == "encoder",
    }


def _write_folder(
    folder: str | os.PathLike,
    values: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    tokenizer: Any,
    of_tokenizer: Mapping[str, Any],
    generation: Mapping[str, Any] | None = None,
    sentence_transformer: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    graphs: Graphs | None = None,
) -> None:
    """Write the files of a model atomically, with one tensor at a time in memory.

    Args:
        folder, tokenizer: As for `save_folder`.
        values: Values of config.json.
        tensors: Tensors by the names and in the layouts of PyTorch's classes.
        of_tokenizer: Arguments of its `save`, `max_length` among them.
        generation: Values of generation_config.json; None to write none.
        sentence_transformer: Arguments of `write_sentence_transformer`; None to write none of its files.
        files: Further texts by their path in the folder.
        graphs: As for `save_folder`.

    Raises:
        ValueError: A weight is not finite in its dtype, or `folder` holds other files.
    """
    with atomic_folder(folder, graphs.marker if graphs else "config.json") as temporary:
        _write_json(temporary / "config.json", values)
        if generation is not None:
            _write_json(temporary / "generation_config.json", generation)
        of_vectors = {name: tensor for name, tensor in tensors.items() if name.startswith(OF_VECTORS)}
        if graphs is None or graphs.with_weights:
            write_tensors(temporary / SAFE, {name: tensors[name] for name in tensors.keys() - of_vectors.keys()})
        if tokenizer is not None:
            tokenizer.save(temporary, **of_tokenizer)
        if sentence_transformer is not None:
            max_length = of_tokenizer["max_length"]
            if max_length is None:
                raise ValueError("the files of sentence-transformers contain the maximum text length: give max_length.")
            write_sentence_transformer(temporary, max_length=max_length, tensors=of_vectors, **sentence_transformer)
        for name, text in (files or {}).items():
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")
        if graphs is not None:
            graphs.write(temporary)


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _check_is_float(model: keras.Model) -> None:
    if modes := sorted({layer.quantization_mode for layer in all_layers(model) if _is_quantized(layer)}):
        raise ValueError(
            f"the model was quantized ({', '.join(modes)}), and a folder in Hugging Face layout holds floats: nothing "
            "was written. Save it before `quantize`. What is quantized is written by `task.export` and, with the name "
            "of a .keras file, by `task.model.save`."
        )


def _is_quantized(layer: keras.layers.Layer) -> bool:
    return getattr(layer, "quantization_mode", None) is not None


def _check_layers(
    model: keras.Model,
    layers: Sequence[str],
    has_layer: Mapping[str, bool],
    architecture: str,
    labels: Sequence[str] | None,
) -> None:
    needed = [name for name in layers if has_layer.get(name, True)]
    present = {layer.name for layer in model.layers}
    if missing := [name for name in needed if name not in present]:
        raise ValueError(f"{architecture} needs the layers {missing}, which the model does not have.")
    if "classifier" in needed and labels is not None and len(labels) != model.get_layer("classifier").units:
        units = model.get_layer("classifier").units
        raise ValueError(
            f"the classifier has {units} outputs: expected the same number of labels, received {len(labels)}."
        )


def check_dtype(dtype: str) -> None:
    """Refuse a dtype that weights are not stored in."""
    if dtype not in DTYPES:
        raise ValueError(f"weights are stored as one of {DTYPES}: received dtype={dtype!r}.")


def _as_stored(tensors: Mapping[str, Tensor], dtype: str) -> dict[str, Tensor]:
    """Return tensors with the dtype of the file; only matrices are stored as 8-bit floats."""
    check_dtype(dtype)
    vector_dtype = "float16" if dtype == FLOAT8 else dtype
    return {
        name: tensor._replace(dtype=dtype if len(tensor.shape) > 1 else vector_dtype)
        for name, tensor in tensors.items()
    }


def _tensors(model: keras.Model, config: TransformerConfig, names: Names, architecture: str) -> dict[str, Tensor]:
    """Return the tensors of a model by their names in the file; their values are read from its variables later."""
    heads = names.architectures[architecture]
    other_heads = {layer for layers in names.architectures.values() for layer in layers} - set(heads)

    tensors = {}
    for variable in model.weights:
        name, transposed = their_name(variable.path, names)
        if variable.path.split("/")[0] in other_heads and not (names.prefix and name.startswith(names.prefix)):
            continue
        tensor = Tensor(variable.path, tuple(variable.shape), "float32", partial(np.asarray, variable))
        tensors[name] = tensor.map(np.transpose) if transposed else tensor

    tensors = reshape_back(join(tensors, names, config), names)
    for layer in [name.removesuffix(".weight") for name in tensors]:
        if re.fullmatch(names.biased, layer):
            tensors.setdefault(f"{layer}.bias", zeros(f"{layer}.bias", tensors[f"{layer}.weight"].shape[-1:]))
    if names.logits_bias and "output_bias" in heads:
        shape = (1, model.get_layer("token_embedding").vocabulary_size)
        tensors.setdefault(names.logits_bias, zeros(names.logits_bias, shape))
    return tensors
