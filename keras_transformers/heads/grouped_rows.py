"""Groups of texts in one row: pairs whose texts are encoded separately, or the choices of a question."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.utils.tensor_types import Tensor


def grouped(model: keras.Model, name: str) -> keras.Model:
    """Build a model of groups of texts from a model of texts: each text is encoded by itself, all in one pass.

    Use it if a loss compares texts: sentence embeddings, multiple choice.

    Args:
        model: A functional model from a dict of inputs (B, T) to a dict of outputs (B, ...).
        name: Name of the new model, which has the same layers.

    Returns:
        A functional model from a dict of inputs (B, G, T), for groups of G texts, to a dict of outputs (B, G, ...).

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> texts = encoder(bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16))
    >>> grouped(texts, "pairs").output["hidden_states"].shape
    (None, None, None, 16)
    """
    inputs = {key: keras.Input((None, None), dtype=value.dtype, name=key) for key, value in model.input.items()}
    # `call`, not the model itself: its layers become layers of the new model, and `get_layer` finds them.
    outputs = model.call({key: MergeGroups(name=f"merge_{key}")(value) for key, value in inputs.items()})
    groups = inputs["token_ids"]
    return keras.Model(
        inputs, {key: SplitGroups(name=f"split_{key}")(value, groups) for key, value in outputs.items()}, name=name
    )


@keras.saving.register_keras_serializable("keras_transformers")
class MergeGroups(keras.layers.Layer):
    """A layer that reshapes (B, G, ...) to (B * G, ...)."""

    def call(self, inputs: Tensor) -> Tensor:
        return ops.reshape(inputs, (-1, *ops.shape(inputs)[2:]))

    def compute_output_spec(self, inputs):
        return keras.KerasTensor((None, *inputs.shape[2:]), dtype=inputs.dtype)


@keras.saving.register_keras_serializable("keras_transformers")
class SplitGroups(keras.layers.Layer):
    """A layer that reshapes (B * G, ...) to (B, G, ...), with the B and G of `groups`, (B, G, ...)."""

    def call(self, inputs: Tensor, groups: Tensor) -> Tensor:
        return ops.reshape(inputs, (*ops.shape(groups)[:2], *ops.shape(inputs)[1:]))

    def compute_output_spec(self, inputs, groups):
        return keras.KerasTensor((*groups.shape[:2], *inputs.shape[1:]), dtype=inputs.dtype)
