"""The path of a signal from the first token to the last: recurrent, convolutional and attention layers."""

from __future__ import annotations

from typing import NamedTuple

KINDS = ("recurrent", "attention", "convolutional")
Place = tuple[int, int]  # layer, from 0 for the input; position


class SignalPath(NamedTuple):
    """The path of a signal, and the connections of the layers that it crosses.

    Args:
        kind: One of `KINDS`.
        length: Number of positions, T.
        layers: Number of layers.
        places: The path, from (0, 0) to (layers, T - 1).
        edges: All connections as pairs of positions, the path's among them.
    """

    kind: str
    length: int
    layers: int
    places: tuple[Place, ...]
    edges: tuple[tuple[Place, Place], ...]

    @property
    def steps(self) -> int:
        """Return the number of layers or steps that the signal crosses; `path_length` measures it on Keras' layers."""
        return len(self.places) - 1


def signal_path(kind: str, length: int, kernel: int = 3, is_causal: bool = True) -> SignalPath:
    """Return the shortest path from input 1 to output T.

    Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, table 1.

    Args:
        kind: `"recurrent"`: one layer, whose state passes through T steps. `"convolutional"`: layers of this kernel.
            `"attention"`: one layer, which sees all positions.
        length: T, from 2.
        kernel: Width of the convolutions, from 2; odd if they are not causal.
        is_causal: Whether attention and convolutions see earlier positions only, as in decoders, or both sides, as in
            encoders.

    Raises:
        ValueError: An unknown kind, or a number that is too small.

    Example:

    >>> [signal_path(kind, length=9).steps for kind in KINDS]
    [9, 1, 4]
    """
    if kind not in KINDS or length < 2 or kernel < 2 or (kernel % 2 == 0 and not is_causal):
        raise ValueError(
            f"received kind={kind!r}, length={length}, kernel={kernel}, is_causal={is_causal}: expected one of "
            f"{KINDS}, and 2 or more of each; an odd kernel if it is not causal."
        )
    if kind == "recurrent":
        return _recurrent(length)
    if kind == "attention":
        places = range(length)
        edges = tuple(((0, source), (1, to)) for to in places for source in (places[: to + 1] if is_causal else places))
        return SignalPath(kind, length, 1, ((0, 0), (1, length - 1)), edges)
    return _convolutional(length, kernel - 1, 0) if is_causal else _convolutional(length, kernel // 2, kernel // 2)


def _recurrent(length: int) -> SignalPath:
    inputs = [((0, step), (1, step)) for step in range(length)]
    states = [((1, step), (1, step + 1)) for step in range(length - 1)]
    places = ((0, 0), *((1, step) for step in range(length)))
    return SignalPath("recurrent", length, 1, places, (*inputs, *states))


def _convolutional(length: int, before: int, behind: int) -> SignalPath:
    """Return the path through convolutions that see so many positions before and after each one."""
    layers = -(-(length - 1) // before)
    edges = [
        ((layer, source), (layer + 1, target))
        for layer in range(layers)
        for target in range(length)
        for source in range(max(target - before, 0), min(target + behind, length - 1) + 1)
    ]
    places = tuple((layer, min(layer * before, length - 1)) for layer in range(layers + 1))
    return SignalPath("convolutional", length, layers, places, tuple(edges))
