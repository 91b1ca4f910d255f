"""Residual connections and norms ("add & norm")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_transformers.layers.interface.input_checks import format_shape
from keras_transformers.utils.tensor_types import Tensor

NORM_ORDERS = ("post", "pre", "res_post", "sandwich")


def residual(
    hidden_states: Tensor, sublayer: Callable, norm: Callable | None, dropout: Callable, norm_order: str,
    output_norm: Callable | None = None, scale: float = 1.0, source: Tensor | None = None,
) -> tuple:  # fmt: skip
    """Compute one sublayer with its residual connection.

    - `"post"`, of the paper and BERT: `norm(x + dropout(sublayer(x)))`.
    - `"pre"`, of GPT-2: `x + dropout(sublayer(norm(x)))`.
    - `"res_post"`, of Swin v2 and OLMo 2: `x + norm(dropout(sublayer(x)))`. Liu et al. 2022,
      https://arxiv.org/abs/2111.09883.
    - `"sandwich"`, of CogView and Gemma 2: `x + output_norm(dropout(sublayer(norm(x))))`. Ding et al. 2021,
      https://arxiv.org/abs/2105.13290.

    Args:
        hidden_states: (B, T, D).
        sublayer: Function from (B, T, D) to (B, T, D), or to a tuple whose first member is that.
        norm: The normalisation; None if the block has none.
        dropout: The dropout on the sublayer's output.
        norm_order: One of the above.
        output_norm: The second normalisation of `"sandwich"`; None if the block has none.
        scale: Factor of what is added.
        source: The input of the sublayer (B, T, D), if it is not `hidden_states`: in a parallel block, of `"pre"`.

    Returns:
        A tuple: the new hidden states (B, T, D), and the sublayer's other results.

    Raises:
        ValueError: The sublayer's output has another width than its input.

    Example:

    >>> residual(np.array([2.0]), lambda x: (3 * x, "more"), lambda x: x / 8, lambda x: x, "post")
    (array([1.]), 'more')
    """
    norm, source = norm or _same, hidden_states if source is None else source
    outputs = sublayer(norm(source) if norm_order in ("pre", "sandwich") else source)
    output, *more = outputs if isinstance(outputs, tuple) else (outputs,)
    _check_width(output, hidden_states)
    after = {"res_post": norm, "sandwich": output_norm or _same}.get(norm_order, _same)
    output = after(dropout(output))
    states = hidden_states + (output if scale == 1 else output * scale)  # (B, T, D)
    return norm(states) if norm_order == "post" else states, *more


def _same(x: Tensor) -> Tensor:
    return x


def _check_width(output: Any, hidden_states: Any) -> None:
    """Refuse an output that a sum would broadcast."""
    shapes = [tuple(getattr(x, "shape", ())) for x in (output, hidden_states)]
    if len(shapes[0]) != len(shapes[1]) or shapes[0][-1:] != shapes[1][-1:]:
        raise ValueError(
            f"a sublayer of a block must return the shape of its input, {format_shape(shapes[1])}: received "
            f"{format_shape(shapes[0])}."
        )
