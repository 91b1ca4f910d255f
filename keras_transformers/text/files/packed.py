"""The bytes of a file, block by block, decompressed if its ending says that it is compressed."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from keras_transformers.text.files.zipped import archive_of, one_file, opened, unreadable
from keras_transformers.utils.untrusted import POINTER, check_file, check_is_itself

BLOCK = 1 << 20  # bytes
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar")  # of several files: to be unpacked by the user
MOST_MEMORY = 256 << 20  # bytes, of the dictionary of an .xz: those that `xz -9` writes need 65 MiB
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
BEGINS = {  # of files that have another ending than their content
    b"\x1f\x8b\x08": "compressed by gzip: name it .gz",
    b"BZh91AY&SY": "compressed by bzip2: name it .bz2",
    b"\xfd7zXZ\0": "compressed by xz: name it .xz",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard: name it .zst",
    b"PK\x03\x04": "an archive or an office document: name it .zip if it holds one text, else save its text as .txt",
    b"PAR1": "Parquet: name it .parquet",
    b"%PDF-": "a PDF: save its text as .txt",
    b"{\\rtf": "rich text (RTF): save its text as .txt",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an office document: save its text as .txt",
    b"ARROW1\0\0": "Arrow: save it as .parquet",
    b"\xff\xff\xff\xff": "a stream of Arrow, if it is a table: save it as .parquet",
    b"\x04\x22\x4d\x18": "compressed by lz4: unpack it",
    b"\x1f\x9d": "compressed by compress: unpack it",
    b"SQLite format 3\0": "a database: save its texts as .csv or .jsonl",
}


def is_packed(path: Path) -> bool:
    """Return whether the ending of a file says that it is compressed.

    >>> is_packed(Path("a.txt.GZ")), is_packed(Path("a.jsonl"))
    (True, False)
    """
    return path.suffix.lower() in ENDINGS


def kind_of(path: Path) -> str:
    """Return the ending of a file, in lower case, without that of its compression; of a .zip, that of its one file.

    Raises:
        ValueError: A .zip is damaged, or has several files; or the file is an archive of another kind.

    >>> kind_of(Path("a.CSV.xz")), kind_of(Path("notes"))
    ('.csv', '')
    """
    inner = path.with_suffix("") if is_packed(path) else path
    archive = archive_of(path)
    if path.suffix.lower() == ".zip" and archive is None:
        check_file(path)
        inner = one_file(path)
    ending = inner.suffix.lower()
    if ending in ARCHIVES or (inner is not path and (archive or ending in ENDINGS)):
        raise ValueError(
            f"{path} is an archive, or is compressed twice: expected a file. Unpack it, and give its files."
        )
    return ending


def byte_blocks(path: Path, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of at most `size`, decompressed in flat memory.

    Args:
        path: A file; one named `.gz`, `.bz2`, `.xz`, `.zst` (by backports.zstd) or `.zip` (with one file in it) is
            decompressed; so is one in a `.zip`, from `zipped.parts_of`.
        size: Bytes of a block.

    Raises:
        ValueError: It cannot be read, is damaged or cut short, or is compressed and not named so.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fox.txt.bz2")
    >>> _ = path.write_bytes(bz2.compress(b"The fox"))
    >>> list(byte_blocks(path))
    [b'The fox']
    """
    archive = archive_of(path)
    ending = path.suffix.lower() if archive is None else ".zip"
    damage = (*DAMAGE, _zstandard(path).ZstdError) if ending == ".zst" else DAMAGE
    with _opened(archive or path) as raw:
        if ending not in ENDINGS:
            _check_begin(path, raw)
        try:
            yield from _blocks(path, raw, ending, size)
        except (*damage, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the disk, and not of gzip or bz2
                raise unreadable(path, error) from error
            raise ValueError(
                f"{path}, after byte {raw.tell():,}: the {ending} is damaged or cut short ({error}). Fetch it again."
            ) from None


def _blocks(path: Path, raw: BinaryIO, ending: str, size: int) -> Iterator[bytes]:
    if ending == ".bz2":
        yield from _decompressed(raw, bz2.BZ2Decompressor, size)
    elif ending == ".xz":
        yield from _decompressed(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_MEMORY), size)
    elif ending == ".zst":
        yield from _decompressed(raw, _zstandard(path).ZstdDecompressor, size)
    elif ending == ".zip":
        with opened(path, raw) as file:
            _check_begin(path, file)
            yield from iter(lambda: file.read(size), b"")
    else:
        file = gzip.GzipFile(fileobj=raw) if ending == ".gz" else raw  # type: ignore[assignment]
        yield from iter(lambda: file.read(size), b"")


def _decompressed(raw: BinaryIO, make: Callable[[], Any], size: int) -> Iterator[bytes]:
    """Yield what streams one behind the other hold; an `EOFError` if the last one lacks its end."""
    pending = raw.read(BLOCK)
    while pending:
        decompressor = make()
        while not decompressor.eof:
            if decompressor.needs_input and not pending and not (pending := raw.read(BLOCK)):
                raise EOFError("its end is missing")
            block, pending = decompressor.decompress(pending, size), b""
            if block:
                yield block
        pending = decompressor.unused_data.lstrip(b"\0") or raw.read(BLOCK).lstrip(b"\0")  # zeros may fill it up


def _zstandard(path: Path) -> Any:
    """Return the module that Python has from 3.14 on."""
    try:
        return importlib.import_module("backports.zstd")
    except ImportError as error:
        raise ValueError(
            f"{path} is read by backports.zstd, which is not installed ({error}). Run pip install backports.zstd (the "
            f"extra `zstd`), or decompress the file: unzstd {path.name}."
        ) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def _check_begin(path: Path, raw: IO[bytes]) -> None:
    """Refuse a file whose content is not text, as its first bytes show."""
    begin = raw.read(64)
    raw.seek(0)
    if begin.startswith(POINTER):
        check_is_itself(path, begin)
    if what := next((what for mark, what in BEGINS.items() if begin.startswith(mark)), None):
        raise ValueError(f"{path} is not a text file, it is {what}.")
