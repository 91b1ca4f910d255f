"""Files that programs of people write: compressed, and tables."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")


def zstd(content: bytes) -> bytes:
    """Compress with a checksum."""
    from backports.zstd import CompressionParameter, compress

    return compress(content, options={CompressionParameter.checksum_flag: 1})


def zipped(content: bytes, name: str = "inner.txt", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a .zip of one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def packed(path: Path, content: bytes) -> bytes:
    """Return content as a file of this name has it."""
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}
    if path.suffix == ".zip":
        return zipped(content, path.stem)
    return pack[path.suffix](content) if path.suffix in pack else content


def write_packed(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed as its name says."""
    path.write_bytes(packed(path, content.encode() if isinstance(content, str) else content))
    return path


def table(rows: Sequence[Mapping[str, str]], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    """Return rows with a header as Python's csv writes them."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
