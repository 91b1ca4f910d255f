"""Vectors of few bits: a quarter of the memory of float32 with 8 bits a number, a thirty-second with one."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_transformers.utils.untrusted import shown

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
STEPS = 255  # between the least and the greatest number of a range
MOST = np.float64(1e38)  # a value, so that the width of a range is a float32; no number of float16 to compare with
HALF = 128  # added to the numbers of int8 vectors, and to the bytes of binary ones


def check_precision(precision: Any, ranges: Any, dim: int | None = None) -> None:
    """Refuse an unknown precision, ranges for a precision that has none, and ranges of another width than `dim`."""
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {PRECISIONS}: received {shown(precision)}.")
    if ranges is not None and not precision.endswith("int8"):
        raise ValueError(f"ranges are for int8 and uint8: received some with precision={precision!r}. Leave them out.")
    if ranges is not None and dim is not None:
        _scale(ranges, dim)


def vector_ranges(vectors: np.ndarray) -> np.ndarray:
    """Return the least and the greatest value of each number of vectors: the `ranges` of `quantize` and `search`.

    Use it on vectors of many texts that are like those to come, once, and keep the result beside the quantized ones.

    Args:
        vectors: Float (N, D), of at least 2 texts.

    Returns:
        float32 (2, D).

    Raises:
        ValueError: They are no finite vectors of at least 2 texts.

    Example:

    >>> vector_ranges(np.array([[0.5, -1.0], [0.0, 2.0]])).tolist()
    [[0.0, -1.0], [0.5, 2.0]]
    """
    vectors = _floats("vectors", vectors)
    check_enough(len(vectors))
    return np.stack([vectors.min(axis=0), vectors.max(axis=0)]).astype(np.float32)


def check_enough(count: int) -> None:
    """Refuse to take ranges from the vectors of fewer than 2 texts."""
    if count < 2:
        raise ValueError(
            f"ranges are taken from vectors of at least 2 texts, better of 1,000: received {count}. Give ranges=, of "
            "`vector_ranges` on other texts."
        )


def quantize(vectors: np.ndarray, precision: str, ranges: np.ndarray | None = None) -> np.ndarray:
    """Store vectors with fewer bits, as `quantize_embeddings` of sentence-transformers does.

    Args:
        vectors: Float (N, D).
        precision: `"int8"` or `"uint8"`, a number for each 255th of its range; `"binary"` (int8) or `"ubinary"`
            (uint8), a bit for each number, 1 above 0, of which a byte holds 8; `"float32"` for none of these.
        ranges: Ranges (2, D) from `vector_ranges`; None for the ranges of these vectors. Only for 8 bits.

    Returns:
        (N, D), or (N, D / 8 rounded up) of bits.

    Raises:
        ValueError: The precision is unknown, or the ranges do not fit.

    Example:

    >>> vectors = np.array([[0.0, 255.0], [255.0, -255.0]])
    >>> quantize(vectors, "uint8").tolist(), quantize(vectors, "ubinary").tolist()
    ([[0, 255], [255, 0]], [[64], [128]])
    """
    check_precision(precision, ranges)
    vectors = _floats("vectors", vectors)
    if precision == "float32":
        return vectors.astype(np.float32)
    if precision.endswith("binary"):
        bits = np.packbits(vectors > 0, axis=-1)  # (N, D / 8)
        return bits if precision == "ubinary" else signed(bits)
    if not len(vectors):
        return vectors.astype(precision)
    starts, steps = _scale(vector_ranges(vectors) if ranges is None else ranges, vectors.shape[1])
    numbers = np.clip(np.floor((vectors - starts) / steps), 0, STEPS).astype(np.uint8)  # (N, D)
    return numbers if precision == "uint8" else signed(numbers)


def restored(vectors: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Return the float32 numbers that int8 or uint8 vectors (N, D) represent."""
    starts, steps = _scale(ranges, vectors.shape[1])
    numbers = unsigned(vectors) if vectors.dtype == np.int8 else vectors
    return numbers.astype(np.float32) * steps + starts


def signed(numbers: np.ndarray) -> np.ndarray:
    """Return uint8 numbers minus 128, as int8."""
    return (numbers ^ np.uint8(HALF)).view(np.int8)


def unsigned(numbers: np.ndarray) -> np.ndarray:
    """Return int8 numbers plus 128, as uint8."""
    return numbers.view(np.uint8) ^ np.uint8(HALF)


def _scale(ranges: Any, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least value of each number, and a 255th of its range, (D,) each."""
    ranges = _array(ranges)
    is_known = ranges.shape == (2, dim) and ranges.dtype.kind == "f" and (ranges[0] <= ranges[1]).all()
    if not is_known or not (np.abs(ranges) <= MOST).all():
        raise ValueError(
            f"ranges are the least and the greatest value of each of {dim} numbers, finite floats (2, {dim}), of "
            f"`vector_ranges`: received {ranges.dtype}, shape {ranges.shape}."
        )
    starts, ends = ranges.astype(np.float32, copy=False)
    steps = (ends - starts) / STEPS
    return starts, np.where(steps == 0, np.float32(1), steps)


def _floats(name: str, vectors: Any) -> np.ndarray:
    vectors = _array(vectors)
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not (np.abs(vectors) <= MOST).all():
        raise ValueError(
            f"{name}: expected finite float vectors (N, D); received {vectors.dtype}, shape {vectors.shape}."
        )
    return vectors


def _array(values: Any) -> np.ndarray:
    """Return values as an array; an empty one, which no check accepts, for rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.empty(0, object)
