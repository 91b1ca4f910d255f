"""Safetensors files, written tensor by tensor, so that only one of them is in memory at a time."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - teaches numpy bfloat16 and float8_e4m3fn
import numpy as np

from keras_transformers.checkpoints.files.tensors import FLOATS, Tensor, blocks_of

CODES = {name: code for code, name in FLOATS.items()}
ALIGNMENT = 8  # of the values: safetensors' own


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file; `safetensors` itself writes only what is in memory as a whole.

    Args:
        path: Path of the file.
        tensors: Tensors by name. Their values are converted to the dtypes of the file.

    Raises:
        ValueError: A value is not finite in its dtype.

    Example:

    >>> import tempfile, safetensors.numpy
    >>> path = Path(tempfile.mkdtemp(), "model.safetensors")
    >>> write_tensors(path, {"bias": Tensor("bias", (2,), "float16", lambda: np.ones(2))})
    >>> safetensors.numpy.load_file(path)
    {'bias': array([1., 1.], dtype=float16)}
    """
    # The widest dtype first, so that each tensor is aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-np.dtype(item[1].dtype).itemsize, item[0]))
    # transformers refuses files without the name of a framework.
    header: dict[str, dict[str, Any]] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
        header[name] = {"dtype": CODES[tensor.dtype], "shape": [*tensor.shape], "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in ordered:
            file.writelines(_blocks(tensor))


def _blocks(tensor: Tensor) -> Iterator[memoryview]:
    """Yield the bytes of a tensor block by block, so that neither a cast nor a transposition copies it as a whole."""
    for block in blocks_of(tensor.read()):
        with np.errstate(over="ignore"):  # an overflow is reported below, by name
            values = np.ascontiguousarray(block, tensor.dtype)
        if not np.isfinite(values).all():
            raise ValueError(f"the weight {tensor.name} is not finite as {tensor.dtype}: it was not saved.")
        if values.size:
            yield values.view(np.uint8).data
