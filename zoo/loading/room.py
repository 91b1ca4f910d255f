"""Whether the weights of a model fit into memory."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.config.limits import least_weights
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.core.accelerator import accelerator
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.memory import check_memory, gigabytes


def check_room(name: Any, config: TransformerConfig, dtype: str | None) -> None:
    """Refuse a model whose weights alone take more memory than is available, before anything is built.

    Args:
        name: Name of the model, for the error message.
        config: Configuration of the model.
        dtype: Name of a Keras dtype policy; the global one when None.

    Raises:
        ValueError: They take more memory than is available.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> check_room("a small model", gpt2(100, num_layers=1, num_heads=2, hidden_dim=16), "float32")
    """
    if not _is_on_host():  # one tensor at a time goes to the memory of a GPU
        return
    stored_as = keras.dtype_policies.get(dtype or keras.config.dtype_policy()).variable_dtype
    weights, bits = least_weights(config), keras.backend.standardize_dtype(stored_as)
    width = 2 if bits in ("bfloat16", "float16") else 4
    half = f'Load it with dtype="bfloat16" ({gigabytes(2 * weights)}), take' if width > 2 else "Take"
    remedy = f"{half} a smaller model, or free memory."
    check_memory(width * weights, f"loading {name} ({weights:,} weights in {bits})", remedy)


def _is_on_host() -> bool:
    """Return whether the weights are in the memory of the machine, not of an accelerator."""
    if not on_tensorflow():
        return accelerator().platform == "cpu"
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")
