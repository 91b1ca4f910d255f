"""The index of a TensorFlow checkpoint, read and checked here: TensorFlow ends the process at a shape out of range."""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformers.utils.untrusted import MOST_LETTERS, read_bytes, shown

# A sorted table of blocks, as LevelDB writes it: the footer points to a block that points to the others.
MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
FOOTER, TRAILER = 48, 5  # bytes: at the end of the file, and after each block
MOST_BYTES, MOST_KEY = 16 << 20, 4096  # of an index, 100,000 variables; and of a variable's name
MOST_RANK, MOST_VALUES, MOST_SHARDS = 8, 1 << 48, 10_000
MOST_RECORD = 64 << 20  # bytes of the record of objects: about 300 a variable


def read_index(path: Path) -> dict[str, Any]:
    """Return the entries of an index, a `BundleEntryProto` by the key of each variable.

    Args:
        path: Path of the index.

    Raises:
        ValueError: It is damaged, or has an entry that no checkpoint can have.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import tensor_bundle_pb2

    content = read_bytes(path, "the index of a TensorFlow checkpoint", MOST_BYTES)
    try:
        pairs = dict(_pairs(content))
        header = tensor_bundle_pb2.BundleHeaderProto.FromString(pairs.pop(b""))
        entries = {key.decode(): tensor_bundle_pb2.BundleEntryProto.FromString(value) for key, value in pairs.items()}
    except (DecodeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{path} is damaged or incomplete ({str(error)[:MOST_LETTERS]}): fetch it again.") from error
    if header.endianness or not 0 < header.num_shards <= MOST_SHARDS:
        raise ValueError(
            f"{path} describes {header.num_shards} files, or was written on a big-endian machine: fetch it again."
        )
    for key, entry in entries.items():
        if fault := _fault(entry, header.num_shards):
            raise ValueError(f"{path} says of {shown(key)} {fault}. Fetch it again, from a source that you trust.")
    return entries


def data_files(prefix: Path) -> tuple[int, dict[int, Path]]:
    """Return the number of data files that a checkpoint has by their names, and the existing ones by number."""
    name = re.compile(rf"{re.escape(prefix.name)}\.data-(\d{{5}})-of-(\d{{5}})", re.ASCII)
    paths = (path for path in prefix.parent.glob(f"{glob.escape(prefix.name)}.data-*") if path.is_file())
    found = [(path, match) for path in paths if (match := name.fullmatch(path.name))]
    count = max((int(match[2]) for _, match in found), default=1)
    return count, {int(match[1]): path for path, match in found if int(match[2]) == count}


def _pairs(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    if content[-8:] != MAGIC:
        raise ValueError("it does not end as an index does")
    (_, _, offset, size), _ = _varints(content[-FOOTER:], 0, 4)
    for _, handle in _entries(_block(content, offset, size)):
        (offset, size), _ = _varints(handle, 0, 2)
        yield from _entries(_block(content, offset, size))


def _block(content: bytes, offset: int, size: int) -> bytes:
    end = offset + size
    if size < 4 or end + TRAILER > len(content):
        raise ValueError("a block is out of range")
    if content[end]:
        raise ValueError("it is compressed, as by TensorFlow 1.0")
    return content[offset:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pairs of a block: of a key are stored the length that it shares with the one before, and the rest."""
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    key, at = b"", 0
    while at < end:
        (shared, added, size), at = _varints(block, at, 3)
        if at + added + size > end or shared > len(key) or shared + added > MOST_KEY:
            raise ValueError("an entry is out of range")
        key = key[:shared] + block[at : at + added]
        at += added + size
        yield key, block[at - size : at]


def _varints(content: bytes, at: int, count: int) -> tuple[list[int], int]:
    """Return integers of variable length, seven bits a byte, and where they end."""
    numbers = []
    for _ in range(count):
        number = shift = 0
        while content[at] & 128 and shift < 63:
            number |= (content[at] & 127) << shift
            at, shift = at + 1, shift + 7
        numbers.append(number | content[at] << shift)
        at += 1
    return numbers, at


def _fault(entry: Any, num_shards: int) -> str:
    """Return the fault of an entry, empty if it has none."""
    from tensorflow.core.framework import types_pb2

    sizes = [dim.size for dim in entry.shape.dim]
    if entry.slices:
        return "that it is stored in slices, which are not read"
    if entry.shape.unknown_rank or len(sizes) > MOST_RANK or any(size < 0 for size in sizes):
        return f"the shape {shown(sizes)}, which no variable has"
    if math.prod(max(size, 1) for size in sizes) > MOST_VALUES:
        return f"the shape {shown(sizes)}, which no memory holds"
    if entry.dtype not in types_pb2.DataType.values() or not 0 < entry.dtype < types_pb2.DT_FLOAT_REF:
        return f"the dtype {entry.dtype}, which is unknown"
    if min(entry.offset, entry.size, entry.shard_id) < 0 or entry.shard_id >= num_shards:
        return "a place that is in none of its files"
    return ""


def read_string(prefix: Path, key: str) -> bytes:
    """Return the value of a scalar string, without TensorFlow, which would trust any length that the file says.

    Args:
        prefix: Prefix of the checkpoint.
        key: Key of the variable.

    Raises:
        ValueError: There is no such string, or it is damaged.
    """
    index = prefix.with_name(f"{prefix.name}.index")
    entries = read_index(index)
    entry = entries.get(key)
    if entry is None or entry.shape.dim or not 0 < entry.size <= MOST_RECORD:
        raise ValueError(f"{index} has no record {key} of a size that can be: fetch it again.")
    path = data_files(prefix)[1].get(entry.shard_id)
    if path is None:
        raise ValueError(f"{index} names data file {entry.shard_id}, which is not there: fetch it.")
    with path.open("rb") as file:
        file.seek(entry.offset)
        content = file.read(entry.size)
    try:
        (length,), begin = _varints(content, 0, 1)
    except IndexError:
        length, begin = -1, 0
    if begin + 4 + length != entry.size or len(content) != entry.size:  # a checksum of the length between them
        raise ValueError(f"{path} is cut short, or of another checkpoint than {index.name}: fetch both again.")
    return content[begin + 4 :]
