"""Settings of the sparse encoders of sentence-transformers: SPLADE, weights of the tokens of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.settings.sentence_layers import read_settings
from keras_transformers.checkpoints.settings.sentence_modules import MASKED, SPLADE, modules_of
from keras_transformers.checkpoints.settings.sentence_transformers import (
    CONFIG,
    LENGTH,
    OF_PROMPTS,
    prompts_of,
    read_length,
    similarity_of,
)
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import shown

MODEL_TYPE = "SparseEncoder"
TASK_KEY, TASK = "transformer_task", "fill-mask"
OF_LOGITS = {TASK_KEY: TASK, "module_output_name": "token_embeddings"}
OF_MODEL = {"model_type": MODEL_TYPE}
POOLINGS = ("max", "sum")
ACTIVATIONS = ("relu", "log1p_relu")
# The library computes the width of a vector, and a chunk is the number of tokens that it pools at a time.
OF_POOLING = {"embedding_dimension": int, "word_embedding_dimension": int, "chunk_size": int}


def is_sparse_encoder(folder: str | Path) -> bool:
    """Return whether a folder of sentence-transformers makes sparse vectors from the logits of a masked LM.

    Raises:
        ValueError: Its list of modules is damaged, or has modules that are not supported.
    """
    return SPLADE in [kind for kind, _ in modules_of(folder)]


def read_sparse_encoder(folder: str | Path) -> dict[str, Any]:
    """Read how a folder of sentence-transformers makes sparse vectors.

    Args:
        folder: Folder with `modules.json`.

    Returns:
        `max_length`, tokens of the longest text, or None; and options of `tasks.sentence_embedding`: `sparse`,
        `prompts`, `default_prompt` and `similarity`.

    Raises:
        ValueError: A file is missing or damaged, or the value of an option is not supported. A key that is not known
            is told in a warning.
    """
    (first, model), (_, pooling) = [(kind, Path(folder, path)) for kind, path in modules_of(folder)]
    path, kinds = Path(folder, CONFIG), {"similarity_fn_name": str, "max_active_dims": int}
    values = read_settings(path, OF_MODEL, {**OF_PROMPTS, **kinds}, needed=False)
    if (most := values.get("max_active_dims")) is not None and most < 1:
        raise ValueError(f"{path}: max_active_dims must be a number above 0, or null: received {shown(most)}.")
    if first != MASKED:  # a Transformer of another task gives hidden states
        _check_task(model / LENGTH)
    return {
        "sparse": {**_read_pooling(pooling / "config.json"), "max_tokens": most},
        **prompts_of(values, path),
        "similarity": similarity_of(values, path, "dot"),
        "max_length": read_length(model, OF_LOGITS),
    }


def _check_task(path: Path) -> None:
    """Refuse the settings of a Transformer that do not ask for the logits of a masked language model."""
    task = read_object(path).get(TASK_KEY) if path.is_file() else None
    if task != TASK:
        raise ValueError(
            f"{path} says {TASK_KEY} {shown(task)}: expected {TASK!r}, as {SPLADE} reads the logits of a masked "
            "language model. Correct the file, or save the model once more."
        )


def _read_pooling(path: Path) -> dict[str, Any]:
    """Read the settings of a SpladePooling: `pooling` and `activation`."""
    names = {"pooling_strategy": str, "activation_function": str}
    values = read_settings(path, {}, {**names, **OF_POOLING})
    found = {"pooling_strategy": POOLINGS, "activation_function": ACTIVATIONS}
    for key, known in found.items():
        if values.get(key, known[0]) not in known:
            raise ValueError(f"{path} says {key} {shown(values[key])}: expected one of {known}.")
    return {
        "pooling": values.get("pooling_strategy", POOLINGS[0]),
        "activation": values.get("activation_function", ACTIVATIONS[0]),
    }


def pooling_settings(sparse: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the SpladePooling that a model is written with.

    Args:
        sparse: As in `tasks.sentence_embedding`, with all keys.

    Example:

    >>> pooling_settings({"pooling": "sum", "activation": "relu", "max_tokens": None})
    {'pooling_strategy': 'sum', 'activation_function': 'relu'}
    """
    return {"pooling_strategy": sparse["pooling"], "activation_function": sparse["activation"]}


def model_settings(sparse: Mapping[str, Any], similarity: str) -> dict[str, Any]:
    """Return what the file of the whole model says of sparse vectors."""
    most = {"max_active_dims": sparse["max_tokens"]} if sparse["max_tokens"] else {}
    return {"model_type": MODEL_TYPE, "similarity_fn_name": similarity, **most}
