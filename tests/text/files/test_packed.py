"""Compressed files: read in flat memory, and what is damaged is told."""

import lzma
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packing import ENDINGS, packed, write_packed, zipped

from keras_transformers.text.files.packed import byte_blocks, kind_of
from keras_transformers.text.files.text_files import TextFiles

NOISE = random.Random(0).randbytes(30_000).hex()


@pytest.mark.parametrize("ending", ENDINGS)
def test_text_comes_back(tmp_path, ending):
    path = write_packed(tmp_path / f"a.txt{ending}", NOISE)
    files = TextFiles(path)
    assert "".join(files) == NOISE and files.text_size == len(NOISE)
    assert b"".join(byte_blocks(path, 7)) == NOISE.encode()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_refused_wherever_it_is_cut(tmp_path, ending):
    path = tmp_path / f"a.txt{ending}"
    whole = packed(path, NOISE.encode())
    for content in (*(whole[:end] for end in (1, 9, 100, len(whole) // 2, len(whole) - 1)), b"no archive",
                    whole[:999] + bytes([whole[999] ^ 255]) + whole[1000:]):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"a\.txt\{ending}.* the \{ending} is damaged or cut short"):
            "".join(TextFiles(path))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_streams_one_behind_the_other(tmp_path, ending):
    """As `cat` joins them, and as parallel programs write them; .xz fills up with zeros."""
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(
        packed(path, b"one\n") + packed(path, b"") + packed(path, b"two\n") + b"\0\0\0\0" * (ending == ".xz")
    )
    assert "".join(TextFiles(path)) == "one\ntwo\n"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_compressed_file_of_another_name(tmp_path, ending):
    path = tmp_path / "a.txt"
    path.write_bytes(packed(Path(f"a.txt{ending}"), b"text"))
    with pytest.raises(ValueError, match=r"a\.txt is not a text file, it is .*name it \."):
        TextFiles(path)


@pytest.mark.parametrize(
    ("begin", "what"),
    [(b"{\\rtf1\\ansi Hi.}", "rich text"), (b"ARROW1\0\0", "Arrow"), (b"SQLite format 3\0", "a database")],
)
def test_a_file_of_an_office_or_a_database(tmp_path, begin, what):
    (tmp_path / "a.txt").write_bytes(begin + b"\n")
    with pytest.raises(ValueError, match=rf"a\.txt is not a text file, it is {what}.*: save its? ?\w* as \."):
        TextFiles(tmp_path / "a.txt")


def test_a_zip(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(b"id,text\n1,The fox.\n", "deep/table.CSV", zipfile.ZIP_STORED))
    assert kind_of(tmp_path / "a.zip") == ".csv" and "".join(TextFiles(tmp_path / "a.zip")) == "The fox."
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("__MACOSX/._table.CSV", "what macOS adds")
        archive.writestr("empty/", "")
    assert "".join(TextFiles(tmp_path / "a.zip")) == "The fox."
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.txt", "other")
    with pytest.raises(ValueError, match=r"a\.zip has 2 files \('b.txt', 'deep/table.CSV'\): expected one. Unpack"):
        kind_of(tmp_path / "a.zip")
    (tmp_path / "b.zip").write_bytes(zipped(b"text", method=zipfile.ZIP_LZMA))
    with pytest.raises(ValueError, match=r"b\.zip is encrypted, or compressed in an unusual way"):
        TextFiles(tmp_path / "b.zip")
    locked = bytearray(zipped(b"text"))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "c.zip").write_bytes(locked)
    with pytest.raises(ValueError, match=r"c\.zip is encrypted"):
        TextFiles(tmp_path / "c.zip")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.7z", "a.txt.gz.bz2"])
def test_archives_are_refused_by_name(tmp_path, name):
    (tmp_path / name).write_bytes(b"something")
    with pytest.raises(ValueError, match="is an archive, or is compressed twice"):
        TextFiles(tmp_path / name)


def test_without_zstandard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    (tmp_path / "a.txt.zst").write_bytes(b"something")
    with pytest.raises(
        ValueError, match=r"a\.txt\.zst is read by backports\.zstd.*pip install backports\.zstd .*`zstd`"
    ):
        TextFiles(tmp_path / "a.txt.zst")


def test_an_xz_that_asks_for_much_memory(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(b"text", filters=filters))
    with pytest.raises(ValueError, match=r"the \.xz is damaged or cut short \(Memory usage limit"):
        TextFiles(tmp_path / "a.txt.xz")


def test_plain_text_that_begins_as_a_compressed_file(tmp_path):
    (tmp_path / "a.txt").write_text("BZh is how bzip2 begins. PK is not a zip.")
    assert "".join(TextFiles(tmp_path / "a.txt")).startswith("BZh is")


MEASURE = """
import resource, sys
from keras_transformers.text.files.text_files import TextFiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(map(len, TextFiles(sys.argv[1])))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.integration
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_bomb_takes_flat_memory(tmp_path, ending):
    """50 MB of one letter, in some kilobytes, read in 30 MB; .xz has a dictionary of 8 MiB."""
    path = write_packed(tmp_path / f"a.txt{ending}", b"x" * 50_000_000)
    root = Path(__file__).parents[3]
    output = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, cwd=root
    )
    characters, grown = map(int, output.stdout.split())
    assert characters == 50_000_000 and grown < 30 and path.stat().st_size < 10**6
