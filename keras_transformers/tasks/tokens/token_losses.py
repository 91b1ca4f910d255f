"""The loss of a token classifier; a word may be several tokens."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.training.losses.target_losses import TargetLoss, cross_entropy
from keras_transformers.training.workers.distribute import all_reduce_sum


@keras.saving.register_keras_serializable("keras_transformers")
class TokenCrossEntropy(TargetLoss):
    """Cross entropy, summed over all parts of words and divided by the number of words.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (B, T) integers: from 0 on, the class of a word; -1, no target; below, class -2 - y of a further part of
            a word, which adds to the sum but is no word (see `TokenTargets`).
        y_pred: (B, T, C) logits.
        sample_weight: (B,) or (B, T).

    Example:

    >>> loss = TokenCrossEntropy()
    >>> round(float(loss(np.array([[-1, 0, -3, -1]]), np.zeros((1, 4, 2)))), 4)  # 2 log(2), for one word
    1.3863
    """

    def __init__(self, name: str | None = "token_cross_entropy"):
        super().__init__(name=name)

    def call(self, y_true, y_pred):
        targets = ops.cast(y_true, "int32")  # (B, T)
        values, real = cross_entropy(ops.where(targets < -1, -2 - targets, targets), y_pred)  # (B, T) each
        words = all_reduce_sum(ops.sum(ops.cast(targets >= 0, "float32")))
        return ops.where(real, values, 0.0) / ops.maximum(words, 1.0)
