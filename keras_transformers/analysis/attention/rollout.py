"""Attention rollout: the share of each input token in each position, through several layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops


def rollout(scores: Any, residual: float = 0.5) -> np.ndarray:
    """Return the attention of every layer to the input, through all layers below it.

    The residual connection counts as a token's attention to itself; then the layers' matrices are multiplied. It shows
    where information may have come from and proves nothing: values and feed-forward layers take no part.
    Paper: Abnar and Zuidema 2020, https://arxiv.org/abs/2005.00928.

    Args:
        scores: Self-attention of one text: (L, N, T, T), averaged over the heads, or (L, T, T).
        residual: Share of the residual connection, from 0 to 1.

    Returns:
        float (L, T, T): row t of layer l has the shares of the T input tokens in position t after layer l. Rows add up
        to 1 if the rows of the scores do.

    Raises:
        ValueError: The scores have another shape, or `residual` is not from 0 to 1.

    Example:

    >>> rollout([[[1, 0], [0.5, 0.5]], [[1, 0], [0.5, 0.5]]])[-1].tolist()
    [[1.0, 0.0], [0.4375, 0.5625]]
    """
    scores = np.asarray(ops.convert_to_numpy(scores), "float64")
    scores = scores.mean(1) if scores.ndim == 4 else scores  # (L, T, T)
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2]:
        raise ValueError(
            f"rollout takes the self-attention of one text, (L, N, T, T) or (L, T, T): received shape {scores.shape}. "
            "Of a model's attention_scores (B, L, N, T, T), choose a text: scores[0]."
        )
    if not 0 <= residual <= 1:
        raise ValueError(f"residual must be from 0 to 1: received {residual}.")
    layers = (1 - residual) * scores + residual * np.eye(scores.shape[1])  # (L, T, T)
    for index in range(1, len(layers)):
        layers[index] = layers[index] @ layers[index - 1]
    return layers
