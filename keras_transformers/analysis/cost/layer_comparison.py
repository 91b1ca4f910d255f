"""Self-attention, recurrence and convolution: theory beside counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.analysis.cost.complexity import Complexity, complexity
from keras_transformers.analysis.cost.path_length import path_length
from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.attention.masks import window_mask
from keras_transformers.utils.number_checks import is_size


class Theory(NamedTuple):
    """The published order of growth of a quantity.

    Args:
        order: Order of growth in T (length), d (width), k (kernel) and r (window).
        length, width: The exponents of T and d; None for growth that is no power.
    """

    order: str
    length: float | None
    width: float | None


CONSTANT, LINEAR, SQUARE = Theory("1", 0, 0), Theory("T", 1, 0), Theory("d²", 0, 2)
# Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, table 1, with the parameters of the layers. Positions share
# weights: the parameters of attention do not grow with T, though one textbook says so.
ATTENTION = {
    "parameters": SQUARE, "scores and mixing": Theory("T² d", 2, 1), "projections": Theory("T d²", 1, 2),
    "sequential steps": CONSTANT, "path length": CONSTANT,
}  # fmt: skip
RECURRENT = {
    "parameters": SQUARE, "multiply-adds": Theory("T d²", 1, 2), "sequential steps": LINEAR, "path length": LINEAR,
}  # fmt: skip
CONVOLUTION = {
    "parameters": Theory("k d²", 0, 2), "multiply-adds": Theory("k T d²", 1, 2), "sequential steps": CONSTANT,
    "path length": Theory("T / k", 1, 0),
}  # fmt: skip
THEORY = {
    "attention": ATTENTION,
    "attention, window": ATTENTION | {"scores and mixing": Theory("r T d", 1, 1), "path length": Theory("T / r", 1, 0)},
    "SimpleRNN": RECURRENT,
    "GRU": RECURRENT,
    "LSTM": RECURRENT,
    "Conv1D": CONVOLUTION,
    "Conv1D, dilated": CONVOLUTION | {"path length": Theory("log_k T", None, 0)},
}
RECURRENCES = tuple(name for name, theory in THEORY.items() if theory is RECURRENT)
# Numbers of `Complexity`.
COUNTED: dict[str, Callable[[Complexity], int]] = {
    "parameters": lambda counted: counted.parameters,
    "multiply-adds": lambda counted: counted.multiply_adds,
    "scores and mixing": lambda counted: counted.mixing_multiply_adds,
    "projections": lambda counted: counted.weight_multiply_adds,
    "sequential steps": lambda counted: counted.sequential_steps,
    "activation bytes": lambda counted: counted.activation_bytes,
}


class Row(NamedTuple):
    """One quantity of one layer.

    Args:
        layer, quantity: Names of the layer and of the quantity.
        theory: The published order of growth, or None.
        counted: The number at the length and width of the comparison.
        length, width: Measured exponents of T and d.
    """

    layer: str
    quantity: str
    theory: Theory | None
    counted: int
    length: float
    width: float


@dataclass(frozen=True)
class LayerComparison:
    """The table of "Attention is all you need", counted on layers that run.

    Growth over T is counted at the middle one of the widths, growth over d at the middle one of the lengths. Path
    lengths, for which derivatives are computed, take the smallest width and length instead.
    Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, table 1.

    Args:
        lengths: Positions T, two or more, each from 2.
        widths: Widths d of inputs and outputs, two or more.
        kernel: Width k of the convolutions, from 2.
        window: Number r of positions that restricted attention sees to each side.

    Raises:
        ValueError: There are not two different sizes to fit a growth to, or one is no integer or too small.

    Example:

    >>> comparison = LayerComparison(lengths=(4, 8, 16), widths=(4, 8))
    >>> row = comparison.row("attention", "scores and mixing")
    >>> row.theory.order, round(row.length, 2), round(row.width, 2)
    ('T² d', 2.0, 1.0)
    >>> comparison.crossing("scores and mixing", "SimpleRNN", width=8)  # T = d
    8
    """

    lengths: Sequence[int] = (16, 64, 256)
    widths: Sequence[int] = (32, 64, 128)
    kernel: int = 3
    window: int = 8
    _cache: dict[tuple, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self):
        for name, least in (("lengths", 2), ("widths", 1)):  # the scores of a lone position are all 1
            sizes = sorted(set(getattr(self, name)))
            if len(sizes) < 2 or not all(is_size(size) and size >= least for size in sizes):
                raise ValueError(
                    f"{name} must be two or more different integers from {least}, to fit a growth to: received "
                    f"{getattr(self, name)!r}. Give for example (32, 64, 128)."
                )
            object.__setattr__(self, name, tuple(map(int, sizes)))
        for name, least in (("kernel", 2), ("window", 1)):
            if not is_size(getattr(self, name)) or getattr(self, name) < least:
                raise ValueError(f"{name} must be an integer from {least}: received {getattr(self, name)!r}.")

    @property
    def length(self) -> int:
        """Return the length T at which numbers are counted."""
        return self.lengths[len(self.lengths) // 2]

    @property
    def width(self) -> int:
        """Return the width d at which numbers are counted."""
        return self.widths[(len(self.widths) - 1) // 2]

    @cached_property
    def num_heads(self) -> int:
        """Return the number of attention heads, the same for all widths. It changes no count."""
        return math.gcd(8, *self.widths)

    def rows(self) -> list[Row]:
        """Return the whole table."""
        return [self.row(layer, quantity) for layer in THEORY for quantity in quantities(layer)]

    def row(self, layer: str, quantity: str) -> Row:
        """Return one row of the table; `layer` is one of `THEORY`, `quantity` one of its `quantities`."""
        length, width = self.length, self.width
        if quantity == "path length":
            length, width = self.lengths[0], self.widths[0]
        count = partial(self.count, layer, quantity)
        by_length = growth(self.lengths, [count(each, width) for each in self.lengths])
        by_width = growth(self.widths, [count(length, each) for each in self.widths])
        return Row(layer, quantity, THEORY[layer].get(quantity), count(self.length, width), by_length, by_width)

    def count(self, layer: str, quantity: str, length: int, width: int) -> int:
        """Return one number: a `quantity` of a layer of a `width` at a `length`."""
        key = (layer, "path length" if quantity == "path length" else "counts", length, width)
        if key not in self._cache:
            self._cache[key] = (self._path if quantity == "path length" else self._counts)(layer, length, width)
        return self._cache[key] if quantity == "path length" else COUNTED[quantity](self._cache[key])

    def crossing(self, quantity: str, recurrence: str, width: int) -> int | None:
        """Return the length above which attention needs more multiply-adds than a recurrent layer of the same width.

        Both are polynomials in T of the second degree, which three lengths determine.

        Args:
            quantity: Cost of attention to compare: `"scores and mixing"`, or `"multiply-adds"`, which includes the
                projections.
            recurrence: `"SimpleRNN"`, `"GRU"` or `"LSTM"`.
            width: Width of both layers.

        Returns:
            The length T, rounded; None where attention needs more at all lengths.
        """
        lengths = (2, 3, 4)  # a lone position has no scores to weigh
        differences = [
            self.count("attention", quantity, length, width) - self.count(recurrence, "multiply-adds", length, width)
            for length in lengths
        ]
        root = max(np.roots(np.polyfit(lengths, differences, deg=2)).real)
        return round(root) if root > 0.5 else None

    def _counts(self, layer: str, length: int, width: int) -> Complexity:
        return complexity(
            self.make(layer, width), keras.KerasTensor((1, length, width)), **self._options(layer, length)
        )

    def _path(self, layer: str, length: int, width: int) -> int:
        make = partial(self.make, layer, width, dtype="float64")
        inputs = keras.KerasTensor((1, length, width), dtype="float64")
        stack = (lambda depth: make(depth=depth)) if layer == "Conv1D, dilated" else make()
        found = path_length(stack, inputs, **self._options(layer, length))
        if found is None:  # never so of these layers: T of each connect the first position with the last
            raise ValueError(f"{length} layers {layer!r} do not connect position 1 with position {length}.")
        return found

    def _options(self, layer: str, length: int) -> Mapping[str, Any]:
        if layer != "attention, window":
            return {}
        positions = np.arange(length)[None]  # (1, T)
        return {"attention_mask": keras.ops.convert_to_numpy(window_mask(positions, positions, self.window))}

    def make(self, layer: str, width: int, depth: int = 1, dtype: str = "float32") -> keras.layers.Layer:
        """Return a layer of `THEORY` that is not built; one of dilation `k ** depth` where it is dilated."""
        if layer.startswith("attention"):
            return Attention(self.num_heads, dtype=dtype)
        if layer.startswith("Conv1D"):
            dilation = self.kernel**depth if layer == "Conv1D, dilated" else 1
            return keras.layers.Conv1D(width, self.kernel, padding="causal", dilation_rate=dilation, dtype=dtype)
        fused = {} if layer == "SimpleRNN" else {"use_cudnn": False}
        return getattr(keras.layers, layer)(width, return_sequences=True, dtype=dtype, **fused)


def quantities(layer: str) -> list[str]:
    """Return the quantities of a layer of `THEORY`: the published ones, multiply-adds and activation bytes."""
    published = list(THEORY[layer])
    more = ["multiply-adds"] if "multiply-adds" not in published else []
    return [*published, *more, "activation bytes"]


def growth(sizes: Sequence[int], counts: Sequence[float]) -> float:
    """Return the exponent of a power law: the slope of a least-squares line through the logarithms.

    Args:
        sizes: Two or more different positive numbers.
        counts: The count at each size, positive.

    Returns:
        The exponent: exact if the counts are a power of the sizes, else a mean slope.

    Raises:
        ValueError: There are not two different sizes, or a number is not positive.

    Example:

    >>> round(growth([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    if len(set(sizes)) < 2 or len(sizes) != len(counts) or min(*sizes, *counts) <= 0:
        raise ValueError(
            f"a growth needs two or more different sizes and a count for each, all positive: received sizes "
            f"{list(sizes)} and counts {list(counts)}."
        )
    return float(np.polyfit(np.log(sizes), np.log(counts), deg=1)[0])
