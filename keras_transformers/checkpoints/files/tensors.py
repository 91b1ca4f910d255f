"""The tensors of a checkpoint folder, read only when needed."""

from __future__ import annotations

import functools
import json
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401 - teaches numpy bfloat16 and float8_e4m3fn
import numpy as np
import safetensors

from keras_transformers.checkpoints.files.other_programs import tell_other
from keras_transformers.checkpoints.files.pickled import read_pickled
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import MOST_LETTERS, check_is_itself, shown

SAFE = "model.safetensors"
INDEX = SAFE + ".index.json"
PICKLED = "pytorch_model.bin"
# Files of weights in other formats, or under other names.
OTHERS = (
    "*.safetensors",
    "pytorch_model*.bin",
    "*.h5",
    "*.msgpack",
    "*.gguf",
    "*.ckpt*",
    "*.onnx",
    "consolidated*.pth",
)
FLOAT8 = "float8_e4m3fn"
BLOCK = 2**20  # values that are compared or converted at a time
# The dtypes of weights, by the file's name of them.
INTEGERS = {
    f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)
}
NO_FLOATS = {"BOOL": "bool", "C64": "complex64", **INTEGERS}  # by the names of safetensors
FLOATS = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "F8_E4M3": FLOAT8}


class Tensor(NamedTuple):
    """A stored tensor.

    Args:
        name: Name in the file.
        shape: Shape of the tensor.
        dtype: NumPy's name of the dtype, such as `"bfloat16"`. If it is not a weight, this may be the file's name of
            it, such as `"F8_E5M2"`.
        read: Function that returns the values; for weights only, as NumPy may lack the dtypes of others.
        release: Function that gives back the memory of values that were read from a mapped file; they can be read
            again.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], np.ndarray]
    release: Callable[[], None] = lambda: None

    @property
    def is_weight(self) -> bool:
        """Return whether the dtype is a float.

        Quantized tensors need scales, which are stored elsewhere: for 8-bit floats as separate tensors, for which no
        model has a weight.
        """
        return self.dtype in FLOATS.values()

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Tensor:
        """Return the tensor with another layout; nothing is read before it is asked for.

        Args:
            function: Function that converts the values; it depends on their shape alone.
        """
        shape = function(np.broadcast_to(np.float32(0), self.shape)).shape
        return self._replace(shape=shape, read=lambda: function(self.read()))

    def equals(self, other: Tensor) -> bool:
        """Return whether both are weights of the same shape and values."""
        if not (self.is_weight and other.is_weight and self.shape == other.shape):
            return False
        both = zip(blocks_of(self.read()), blocks_of(other.read()), strict=True)
        is_equal = all(np.array_equal(one, same) for one, same in both)
        self.release()
        other.release()
        return is_equal


def blocks_of(array: np.ndarray) -> list[np.ndarray]:
    """Return an array in blocks of rows, about `BLOCK` values each, for work that would copy the whole."""
    return np.array_split(np.atleast_1d(array), -(-array.size // BLOCK) or 1)


def zeros(name: str, shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
    """Return a tensor of zeros, which is made when it is read."""
    return Tensor(name, shape, dtype, lambda: np.zeros(shape, dtype))


def by_name(tensors: Iterable[tuple[str, Tensor]], source: Any) -> dict[str, Tensor]:
    """Return a dict of tensors by name.

    Args:
        tensors: Pairs of a name and a tensor.
        source: Name of the checkpoint in error messages.

    Raises:
        ValueError: Two tensors have the same name.
    """
    named: dict[str, Tensor] = {}
    for name, tensor in tensors:
        if name in named:
            raise ValueError(
                f"{source} holds two tensors for one weight: {named[name].name} and {tensor.name}, both {name}: "
                "nothing was loaded. Remove the one that is not meant."
            )
        named[name] = tensor
    return named


def read_tensors(
    folder: Path, pickled: bool = False, name: str = SAFE, old_name: str = PICKLED, **options: Any
) -> list[Tensor]:
    """List the tensors of a folder's `model.safetensors`, or of the shards in its index; the files are memory-mapped.

    Args:
        folder: A checkpoint folder.
        pickled: Whether to accept `pytorch_model.bin`, or its shards, if there is no safetensors file.
        name, old_name: Names of the files.
        **options: Options of `open_shards`.

    Returns:
        The tensors; of safetensors files only the headers have been read.

    Raises:
        ValueError: There are no weights, or a file is missing or damaged.
    """
    for file, open_file in [(name, _open), (old_name, _open_pickled)][: 2 if pickled else 1]:
        if (folder / file).is_file():
            return open_file(folder / file)
        if (folder / f"{file}.index.json").is_file():
            return open_shards(folder / f"{file}.index.json", open_file, **options)
    old = [file for file in (old_name, f"{old_name}.index.json") if (folder / file).is_file()]
    remedy = f" It holds {old[0]}, an old format: ask for it with pickled=True." if old else ""
    if (folder / "onnx").is_dir() and not remedy:
        remedy = (
            " It holds graphs for ONNX Runtime, in onnx: export it with weights=True, or load what task.save wrote."
        )
    remedy = remedy or f" {tell_other(folder)}".rstrip()
    if other := sorted(path.name for pattern in OTHERS for path in folder.glob(pattern) if not remedy):
        remedy = (
            f" It holds {shown(other)}, which is not read: save the model with `save_pretrained` of `transformers`."
        )
    raise ValueError(f"no weights in {folder}: expected {name} or {name}.index.json.{remedy}")


def framework_of(folder: Path) -> str | None:
    """Return the framework that a folder's safetensors files name, such as `"pt"`; None if there are none."""
    index = folder / INDEX
    path = folder / SAFE if (folder / SAFE).is_file() or not index.is_file() else folder / next(iter(_files(index)), "")
    return (_safe_open(path).metadata() or {}).get("format") if path.is_file() else None


def _safe_open(path: Path) -> Any:
    check_is_itself(path)
    try:
        return safetensors.safe_open(path, framework="numpy")
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or incomplete ({str(error)[:MOST_LETTERS]}): fetch it again.") from error


def _open_pickled(path: Path) -> list[Tensor]:
    check_is_itself(path)
    arrays = read_pickled(path)
    return [Tensor(name, x.shape, x.dtype.name, functools.partial(np.asarray, x)) for name, x in arrays.items()]


def _open(path: Path) -> list[Tensor]:
    file = _safe_open(path)
    with path.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    places = _places(mapped)
    return [_describe(name, file.get_slice(name), mapped, *places[name]) for name in file.keys()]  # noqa: SIM118


def _places(mapped: mmap.mmap) -> dict[str, tuple[int, int]]:
    """Return where each tensor of a file that `safetensors` has checked begins, and its number of bytes.

    `safetensors` copies them, at twice the time of what follows, and cannot read 8-bit floats into NumPy.
    """
    begin = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:begin])
    places = {name: described["data_offsets"] for name, described in header.items() if name != "__metadata__"}
    return {name: (begin + first, end - first) for name, (first, end) in places.items()}


def _describe(name: str, header: Any, mapped: mmap.mmap, begin: int, size: int) -> Tensor:
    dtype, shape = FLOATS.get(header.get_dtype(), header.get_dtype()), tuple(header.get_shape())

    # Where tensors of other dtypes stand before it, it may begin between two multiples of its dtype's size.
    def read() -> np.ndarray:
        content = np.frombuffer(mapped, np.uint8, size, begin)
        return np.require(content.view(NO_FLOATS.get(dtype, dtype)).reshape(shape), requirements=["ALIGNED"])

    def release() -> None:  # else the process would hold the file's pages beside the model
        if hasattr(mapped, "madvise") and size:
            first = begin - begin % mmap.PAGESIZE
            mapped.madvise(mmap.MADV_DONTNEED, first, begin + size - first)

    return Tensor(name, shape, dtype, read, release)


def open_shards(
    index: Path,
    open_file: Callable[[Path], list[Tensor]],
    names_of: Callable[[str], Sequence[str]] = lambda name: (name,),
) -> list[Tensor]:
    """List the tensors of the files that an index names.

    Args:
        index: Path of the index, whose `weight_map` names a file, in its folder, for each tensor.
        open_file: Function that lists the tensors of a file.
        names_of: Function from a tensor's name in the index to its possible names in the file.

    Raises:
        ValueError: A file is missing or damaged, or lacks a tensor.
    """
    places = _weight_map(index)
    shards = {name: open_file(index.parent / name) for name in _files(index)}
    held = {(name, tensor.name) for name, shard in shards.items() for tensor in shard}
    asked = {name: {(place, other) for other in names_of(name)} for name, place in places.items()}
    if missing := sorted(name for name, found in asked.items() if not found & held):
        raise ValueError(
            f"{index} names tensors that its files do not hold: {shown(missing)}. Fetch index and files again."
        )
    return [tensor for shard in shards.values() for tensor in shard]


def _files(index: Path) -> list[str]:
    """Return the names of the files that an index names, which are in its folder."""
    files = sorted({*_weight_map(index).values()})
    if missing := [name for name in files if Path(name).name != name or not os.path.isfile(index.parent / name)]:
        raise ValueError(f"{index} names files that are not there: {shown(missing)}. Fetch them too.")
    return files


def _weight_map(index: Path) -> dict[str, str]:
    """Return the index's file names, by tensor name."""
    places = read_object(index).get("weight_map")
    if isinstance(places, dict):
        wrong = [f"{shown(place)} for {name[:100]}" for name, place in places.items() if not isinstance(place, str)]
        if not wrong:
            return places
    else:
        wrong = ["None" if places is None else f"a {type(places).__name__}"]
    raise ValueError(f"{index}: weight_map must name a file for each tensor: received {wrong[0]}. Fetch it again.")
