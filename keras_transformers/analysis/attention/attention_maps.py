"""Plots of attention scores: the heads of a block, all heads of a model, an alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.analysis.attention.pooled_maps import pooled

COLUMNS = 4
MOST = 64  # rows and columns of one of many maps: more cannot be seen
CELL = 0.22  # inches per token


def plot_attention(
    scores: Any, tokens: Sequence[str], key_tokens: Sequence[str] | None = None, titles: Sequence[str] | None = None
) -> Any:
    """Draw attention maps: one panel per head, one row per query, one column per key; darker is more.

    Use it on one text of a model that was loaded with `outputs=["attention_scores"]`. All panels share one scale, so
    heads can be compared. Needs the extra `plot`.

    Args:
        scores: Attention weights of one text: all heads of one block (N, T, S), or one head (T, S); float.
        tokens: The T query tokens.
        key_tokens: The S key tokens; `tokens` when None (self-attention).
        titles: One per head; "head 0", "head 1", ... when None.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows; `figure.savefig("map.png")` writes it.

    Raises:
        ValueError: The shape of the scores does not fit the tokens and titles.
        ImportError: matplotlib is not installed.

    Example (not run as a doctest: the quick tests have no matplotlib):

        figure = plot_attention(outputs["attention_scores"][0, -1], tokens)  # the first text, the last block
        figure.savefig("map.png")
    """
    scores = np.asarray(ops.convert_to_numpy(scores), "float32")
    scores = scores[None] if scores.ndim == 2 else scores
    key_tokens = tokens if key_tokens is None else key_tokens
    titles = [f"head {head}" for head in range(len(scores))] if titles is None else titles
    expected = (len(titles), len(tokens), len(key_tokens))
    if scores.shape != expected:
        raise ValueError(
            f"scores of shape {scores.shape} do not fit {expected[0]} titles, {expected[1]} query tokens and "
            f"{expected[2]} key tokens: expected (heads, queries, keys) = {expected}. Of a model's attention_scores "
            "(B, L, N, T, S), choose a text and a block: scores[0, 3]."
        )

    figure, panels = _panels(*scores.shape)
    for panel, head, title in zip(panels, scores, titles, strict=True):
        panel.imshow(head, cmap="Blues", vmin=0, vmax=max(float(scores.max()), 1e-9), aspect="auto")
        panel.set_title(title, fontsize=9)
        panel.set_xticks(range(len(key_tokens)), key_tokens, rotation=90, fontsize=8)
        panel.set_yticks(range(len(tokens)), tokens, fontsize=8)
    return figure


def plot_heads(scores: Any) -> Any:
    """Draw all heads of a model at once: a row of panels per layer, a panel per head; darker is more.

    Use it to choose the heads that `plot_attention` draws with their tokens. Maps of long texts are pooled by
    `pooled`. All panels of a layer share one scale. Needs the extra `plot`.

    Args:
        scores: Attention weights of one text, (L, N, T, S).

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: The scores have another shape.
        ImportError: matplotlib is not installed.
    """
    scores = np.asarray(ops.convert_to_numpy(scores), "float32")
    if scores.ndim != 4:
        raise ValueError(
            f"plot_heads draws the layers and heads of one text, (L, N, T, S): received shape {scores.shape}. Of a "
            "model's attention_scores (B, L, N, T, S), choose a text: scores[0]."
        )
    layers, heads = scores.shape[:2]
    figure = _figure((heads, layers))
    for layer, panels in enumerate(figure.subplots(layers, heads, squeeze=False)):
        small = pooled(scores[layer], MOST)
        for head, panel in enumerate(panels):
            panel.imshow(small[head], cmap="Blues", vmin=0, vmax=max(float(small.max()), 1e-9), aspect="auto")
            panel.set_title(f"{layer}.{head}", fontsize=7, pad=2)
            panel.set_xticks([])
            panel.set_yticks([])
    return figure


def plot_alignment(alignment: Any, text: str, target: str) -> Any:
    """Draw which words of a text each word of its translation attends to.

    Args:
        alignment: Result of `task.align([text], [target])[0]`.
        text, target: Texts of the alignment.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ImportError: matplotlib is not installed.

    Example (not run as a doctest: the quick tests have no matplotlib):

        source, target = "The cat danced.", "Die Katze tanzte."
        figure = plot_alignment(task.align([source], [target])[0], source, target)
    """
    columns, rows = (
        [side[begin:end] or "(end)" for begin, end in places]
        for side, places in ((text, alignment.source_tokens), (target, alignment.target_tokens))
    )
    return plot_attention(alignment.scores, rows, columns, titles=["alignment"])


def _figure(size: tuple[float, float]) -> Any:
    try:
        # Not pyplot: it keeps every figure alive until someone closes it.
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'keras_transformers[plot]'.") from error
    return Figure(figsize=size, layout="constrained")


def _panels(heads: int, queries: int, keys: int) -> tuple[Any, list]:
    """Return a figure with one panel for each head, and the panels."""
    columns = min(heads, COLUMNS)
    rows = math.ceil(heads / columns)
    figure = _figure((columns * (1 + CELL * keys), rows * (1 + CELL * queries)))
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[heads:]:
        spare.set_axis_off()
    return figure, axes[:heads]
