"""Indexes of TensorFlow checkpoints that TensorFlow would not write, with checksums that are right."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorflow.core.protobuf import tensor_bundle_pb2


def entry(*sizes: int, **fields: Any) -> tensor_bundle_pb2.BundleEntryProto:
    """What an index says of a variable; float32 of 16 bytes unless told otherwise."""
    made = tensor_bundle_pb2.BundleEntryProto(**({"dtype": 1, "size": 16} | fields))
    for size in sizes:
        made.shape.dim.add(size=size)
    return made


def write_index(path: Path, entries: Mapping[str, Any], num_shards: int = 1) -> None:
    """Write an index of entries, or of bytes in their place."""
    header = tensor_bundle_pb2.BundleHeaderProto(num_shards=num_shards)
    header.version.producer = 1
    values = {"": header, **dict(sorted(entries.items()))}
    pairs = [
        (key.encode(), value if isinstance(value, bytes) else value.SerializeToString())
        for key, value in values.items()
    ]
    content = b""

    def add(block: bytes) -> bytes:
        nonlocal content
        handle = number(len(content)) + number(len(block))
        content += block + b"\0" + struct.pack("<I", checksum(block + b"\0"))
        return handle

    data = add(table(pairs))
    empty = add(table([]))
    handles = empty + add(table([(pairs[-1][0] + b"\xff", data)]))
    path.write_bytes(content + handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57))


def table(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """A block, no key of which shares letters with the one before."""
    entries = (number(0) + number(len(key)) + number(len(value)) + key + value for key, value in pairs)
    return b"".join(entries) + struct.pack("<II", 0, 1)


def number(value: int) -> bytes:
    """Seven bits a byte."""
    written = b""
    while value > 127:
        written += bytes([value & 127 | 128])
        value >>= 7
    return written + bytes([value])


def checksum(content: bytes) -> int:
    """CRC-32C, masked as LevelDB masks it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF
