"""A loss at several widths of a vector, so that its first numbers are a good vector by themselves."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.training.losses.target_losses import TargetLoss
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class Matryoshka(TargetLoss):
    """The weighted sum of a loss over the first numbers of vectors, at several widths.

    For vectors that are cut when they are used (`truncate_dim`). The first numbers are scaled to length one before
    the loss. Name the full width, too: it is not learned else.
    Paper: Kusupati et al. 2022, "Matryoshka Representation Learning", https://arxiv.org/abs/2205.13147.

    Args:
        loss: A loss of `embedding_losses`.
        widths: Numbers of a vector that are kept; or a dict from these to the weights of their losses, 1 each if not
            given.
        name: Name of the loss.

    Call arguments:
        y_true: As for `loss`; of labels that are vectors (..., D), the first numbers are taken, too.
        y_pred: (B, G, D).

    Example:

    >>> import numpy as np
    >>> from keras_transformers.training.losses.embedding_losses import CosineError
    >>> pairs = np.array([[[0.0, 2.0], [0.0, 1.0]]])
    >>> float(Matryoshka(CosineError(), [2, 1])(np.array([1.0]), pairs))  # 0 at width 2, 1 at width 1
    1.0
    """

    def __init__(self, loss: TargetLoss, widths: Sequence[int] | Mapping[int, float], name: str | None = "matryoshka"):
        super().__init__(name=name)
        self.loss = loss
        self.widths = dict(widths) if isinstance(widths, Mapping) else dict.fromkeys(widths, 1.0)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        dim, total = y_pred.shape[-1], 0.0
        reals: list[Tensor] = []
        if wide := [width for width in self.widths if width > dim]:
            raise ValueError(f"Received widths {wide} for vectors of {dim} numbers; expected widths of at most {dim}.")
        are_vectors = len(y_true.shape) > 1 and y_true.shape[-1] == dim
        for width, weight in self.widths.items():
            vectors = ops.normalize(ops.cast(y_pred[..., :width], "float32"), axis=-1)  # (B, G, width)
            values, real = self.loss.per_target(y_true[..., :width] if are_vectors else y_true, vectors)
            total = total + weight * values  # (B,)
            reals.append(real)
        return total, functools.reduce(ops.logical_and, reals)

    def get_config(self) -> dict[str, Any]:
        widths = [[width, weight] for width, weight in self.widths.items()]  # the keys of JSON are texts
        return {**super().get_config(), "loss": keras.saving.serialize_keras_object(self.loss), "widths": widths}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Matryoshka:
        loss = keras.saving.deserialize_keras_object(config["loss"])
        return cls(**(config | {"loss": loss, "widths": dict(config["widths"])}))
