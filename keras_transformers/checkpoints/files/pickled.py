"""Files of `torch.save`, read into NumPy arrays without torch and without running any code in them."""

from __future__ import annotations

import io
import math
import mmap
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import ml_dtypes
import numpy as np

from keras_transformers.utils.untrusted import read_bytes, shown

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # torch.serialization.MAGIC_NUMBER, of files written before torch 1.6
STORAGES = {
    "FloatStorage": np.float32,
    "DoubleStorage": np.float64,
    "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}
PLAIN = (bool, int, float, str)
MOST_COPIES = 8  # of one storage: T5 has four names for its token table
# Opcodes that torch.save never writes, and by which a few bytes could take much memory or time.
NEVER_WRITTEN = {code[0] for code in (pickle.BYTEARRAY8, pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET)}


class _Storage(NamedTuple):
    key: str
    dtype: type
    size: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_plain(path: str | os.PathLike) -> Any:
    """Read a pickle of dicts, lists, strings and numbers; one that names a function or a class is refused.

    Raises:
        ValueError: The pickle is damaged, too large, or holds something else.
    """
    content = read_bytes(Path(path), "a pickle of plain values")
    try:
        return _Unpickler(io.BytesIO(content)).load()
    except Exception as error:  # a damaged pickle may raise anything
        raise ValueError(f"{path} is damaged, or no pickle of plain values ({shown(error)}).") from error


_Read = tuple[dict[str, _Tensor], dict[str, dict[str, Any]], dict[str, memoryview]]  # tensors, facts, storages


class Saved(NamedTuple):
    """The content of a file of `torch.save`.

    Args:
        tensors: Arrays by name, read-only, of the dtypes stored (bfloat16 is that of `ml_dtypes`).
        facts: Strings and numbers of the dicts beside the state dict, by the names of the dicts.
    """

    tensors: dict[str, np.ndarray]
    facts: dict[str, dict[str, Any]]


def read_pickled(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Read the tensors of a file that `torch.save` wrote from a state dict: see `read_saved`."""
    return read_saved(path).tensors


def read_saved(path: str | os.PathLike, key: str | None = None) -> Saved:
    """Read a state dict that `torch.save` wrote, alone or in a dict of several things.

    A pickle can call any function. This reader allows only the few that rebuild tensors. The arrays are views of the
    memory-mapped file: nothing is copied, and the sizes that the file claims allocate no memory. Prefer safetensors
    where there is a choice.

    Args:
        path: A `pytorch_model.bin`, in the zip format or in the one before torch 1.6.
        key: Key of the state dict in the dict that was saved; None if it was saved alone.

    Raises:
        ValueError: The file names a function that is not allowed, is cut short or compressed, holds a tensor that is
            larger than the file, or holds no state dict.
    """
    path = Path(path)
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty: expected the tensors of a model. Fetch it again.")
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            read = _read_zip if zipfile.is_zipfile(file) else _read_legacy
            tensors, facts, buffers = read(file, content, key)
        arrays = {name: _to_array(tensor, buffers, len(content)) for name, tensor in tensors.items()}
        if sum(array.nbytes for array in arrays.values()) > MOST_COPIES * len(content):
            raise ValueError(f"its tensors take more than {MOST_COPIES} times the file: it may be malicious.")
        return Saved(arrays, facts)
    except ValueError as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    except Exception as error:  # a damaged pickle may raise anything
        raise ValueError(f"{path} is damaged, or no state dict written by torch.save ({shown(error)}).") from error


def _read_zip(file: BinaryIO, content: mmap.mmap, key: str | None) -> _Read:
    with zipfile.ZipFile(file) as archive:
        members = {member.filename: member for member in archive.infolist()}
    root = next(name for name in members if name.endswith("data.pkl")).removesuffix("data.pkl")
    if root + "byteorder" in members and _stored(content, members[root + "byteorder"]) != b"little":
        raise ValueError("it was written on a big-endian machine.")
    saved = _Unpickler(io.BytesIO(_stored(content, members[root + "data.pkl"]))).load()
    tensors, facts = _parted(saved, key)
    used = {tensor.storage.key: members[f"{root}data/{tensor.storage.key}"] for tensor in tensors.values()}
    if sum(member.file_size for member in used.values()) > len(content):
        raise ValueError("its members overlap: they are larger than the file.")
    return tensors, facts, {number: _stored(content, member) for number, member in used.items()}


def _stored(content: mmap.mmap, member: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of a zip file's member, not copied: `torch.save` does not compress."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise ValueError(
            f"its {member.filename} is compressed, as torch.save never does: it may be malicious. Write a file that "
            "you trust once more, pickled with torch.save or as safetensors."
        )

    name_and_extra = sum(struct.unpack_from("<HH", content, member.header_offset + 26))  # lengths of these fields
    begin = member.header_offset + 30 + name_and_extra
    data = memoryview(content)[begin : begin + member.file_size]
    if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
        raise ValueError(f"its {member.filename} is damaged: fetch it again.")
    return data


def _read_legacy(file: BinaryIO, content: mmap.mmap, key: str | None) -> _Read:
    if _Unpickler(content).load() != LEGACY_MAGIC:
        raise ValueError("it is no file of torch.save.")
    for _ in ("protocol version", "system information"):
        _Unpickler(content).load()

    reader = _Unpickler(content)
    tensors, facts = _parted(reader.load(), key)
    widths = {storage.key: np.dtype(storage.dtype).itemsize for storage in reader.storages}
    keys, buffers = _Unpickler(content).load(), {}
    begin = content.tell()
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("its storages have keys that are no str.")
    for number in keys:  # the storages follow in this order, each preceded by its number of elements
        end = begin + 8 + int.from_bytes(content[begin : begin + 8], "little") * widths[number]
        buffers[number] = memoryview(content)[begin + 8 : end]
        begin = end
    return tensors, facts, buffers


def _parted(saved: Any, key: str | None) -> tuple[dict[str, _Tensor], dict[str, dict[str, Any]]]:
    """Return the state dict in what was saved, and the plain values of the dicts beside it."""
    if key is not None and not (isinstance(saved, dict) and key in saved):
        raise ValueError(f"expected a dict that holds a state dict as {key!r}.")
    state, beside = (saved, {}) if key is None else (saved[key], saved)
    if not isinstance(state, dict) or not all(isinstance(value, _Tensor) for value in state.values()):
        raise ValueError("expected a state dict: one flat dict of tensors by name.")
    facts = {
        str(name): {str(fact): value for fact, value in values.items() if value is None or type(value) in PLAIN}
        for name, values in beside.items()
        if isinstance(values, dict) and name != key
    }
    return state, facts


class _Dict(dict):
    """A dict of str and int keys only: tuples nested in a few bytes can take hours to hash or to print."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()):
        super().__init__()
        for key, value in pairs:
            self[key] = value

    def __setitem__(self, key: str | int, value: Any):
        if not isinstance(key, (str, int)):
            raise ValueError(f"it has a dict with a {type(key).__name__} for a key: it may be malicious.")
        super().__setitem__(key, value)


class _Unpickler(pickle._Unpickler):
    """An unpickler that allows the names that a state dict needs, and no others.

    Its base is written in Python: the unpickler in C allocates a table as long as the largest memo index in the file.
    """

    def __init__(self, file: Any):
        super().__init__(file)
        self.storages: list[_Storage] = []  # that the pickle refers to

    append: Callable[[Any], None]  # of the base, which sets it while it loads
    pop_mark: Callable[[], list]  # of the base

    dispatch: ClassVar[dict[int, Callable]] = {
        code: load for code, load in pickle._Unpickler.dispatch.items() if code not in NEVER_WRITTEN
    }

    def _load_empty_dict(self) -> None:
        self.append(_Dict())

    def _load_dict(self) -> None:
        items = self.pop_mark()
        self.append(_Dict(zip(items[::2], items[1::2], strict=True)))

    dispatch |= {pickle.EMPTY_DICT[0]: _load_empty_dict, pickle.DICT[0]: _load_dict}

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in STORAGES:
            return name  # a string cannot be called
        if (module, name) == ("collections", "OrderedDict"):
            return _Dict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            # a new function each time: the BUILD instruction may set its attributes
            return lambda storage, offset, shape, strides, *_: _Tensor(storage, offset, shape, strides)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        raise ValueError(f"it wants to use {module[:80]}.{name[:80]}, which no checkpoint needs: it may be malicious.")

    def persistent_load(self, reference: tuple) -> _Storage:
        kind, storage_type, key, _, size, *view = reference
        if not (isinstance(storage_type, str) and isinstance(key, str) and isinstance(size, int)):
            raise ValueError("it holds a storage without a type, a key or a size.")
        if kind != "storage" or storage_type not in STORAGES or any(view):
            raise ValueError(f"it holds an unknown kind of storage: {shown(storage_type)}.")
        self.storages.append(_Storage(key, STORAGES[storage_type], size))
        return self.storages[-1]


def _to_array(tensor: _Tensor, buffers: dict[str, memoryview], file_size: int) -> np.ndarray:
    flat: np.ndarray = np.frombuffer(buffers[tensor.storage.key], tensor.storage.dtype)
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True))
    numbers = (tensor.offset, *tensor.shape, *tensor.strides)
    shape = shown(tensor.shape)
    if len(flat) != tensor.storage.size or min(numbers) < 0 or (0 not in tensor.shape and last >= len(flat)):
        raise ValueError(f"a tensor of shape {shape} reaches outside of its storage: it is cut or damaged.")
    if math.prod(tensor.shape) * flat.itemsize > file_size:  # possible with strides of 0
        raise ValueError(f"a tensor of shape {shape} takes more than the whole file: it may be malicious.")
    strides = [stride * flat.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides, writeable=False)
