"""Pairs of two files or of a table, and what is told of files that do not belong together."""

from __future__ import annotations

import gzip
import json

import pytest
import rule_pairs

from zoo.scratch.pairs.pair_files import read_line_pairs, read_table_pairs


def test_lines_of_two_files(tmp_path):
    english, german = rule_pairs.write(tmp_path, 50)
    pairs = read_line_pairs(english, german)
    assert (pairs.sources, pairs.targets) == rule_pairs.sentences(50)
    assert pairs.place(1, 0) == f"{german}, line 1"


def test_line_ends_and_compression(tmp_path):
    """A carriage return is no part of a line, other separators of Unicode are; the last line may lack its end."""
    source, target = tmp_path / "a.en.gz", tmp_path / "a.de"
    source.write_bytes(gzip.compress("\ufeffOne\u2028line\r\n\r\nTwo".encode()))
    target.write_bytes(b"Eine\r\n\r\nZwei\r\n")
    assert read_line_pairs(source, target)[:2] == (["One\u2028line", "", "Two"], ["Eine", "", "Zwei"])


def test_unlike_numbers_of_lines(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("Hi.\nRun!\nStop!\nGo on.\n")
    target.write_text("Hallo!\nLauf!\nHalt!\n")
    with pytest.raises(ValueError) as error:
        read_line_pairs(source, target)
    message = str(error.value)
    assert f"{source} has 4 lines and {target} has 3" in message
    assert (
        f"The last line of {target}, 3, is 'Halt!'; line 3 of {source} is 'Stop!', and its last, 4, is 'Go on.'"
        in message
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        (b"", "without a byte"),
        (b"Hallo\nGr\xfc\xdf Gott\n", "line 2"),
        ("Hallo\n".encode("utf-16"), "UTF-16"),
        (b"Ha\0llo\n", "a zero byte, so it is a binary file"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, message):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("Hello\nGood day\n")
    if content is not None:
        target.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_line_pairs(source, target)
    assert str(target) in str(error.value)


def test_one_file_twice(tmp_path):
    (tmp_path / "a.en").write_text("Hi.\n")
    with pytest.raises(ValueError, match="both source and target"):
        read_line_pairs(tmp_path / "a.en", tmp_path / "a.en")


ROWS = [("Hi.", "Hallo!"), ('"Stop," he said.', "„Halt“, sagte er."), ("Go on.", "Mach weiter.")]


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.tsv", "".join(f"{one}\t{other}\n" for one, other in ROWS), (None, None)),
        ("a.txt", "".join(f"{one}\t{other}\tsomebody\n" for one, other in ROWS) + "\n", (None, None)),
        ("a.tsv", "".join(f"{other}\t{one}\n" for one, other in ROWS), (1, 0)),
        ("a.tsv", "id\ten\tde\n" + "".join(f"1\t{one}\t{other}\n" for one, other in ROWS), ("en", "de")),
        (
            "a.csv",
            "source,target\n"
            + "".join(f'"{one}","{other}"\n' for one, other in ((a.replace('"', '""'), b) for a, b in ROWS)),
            (None, None),
        ),
        ("a.jsonl", "".join(json.dumps({"en": one, "de": other}) + "\n" for one, other in ROWS), ("en", "de")),
    ],
)
def test_tables(tmp_path, name, content, columns):
    (tmp_path / name).write_text(content, encoding="utf-8")
    pairs = read_table_pairs(tmp_path / name, *columns)
    assert list(zip(*pairs[:2], strict=True)) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        (
            "a.tsv",
            "Hi.\tHallo!\nRun! Lauf!\n",
            (),
            "a.tsv, line 2: no column 1, counted from 0: 1 texts parted by tabs",
        ),
        ("a.tsv", "\n\n", (), "no rows"),
        ("a.csv", "en,de\nHi.,Hallo!\n", (), "no column 'source'; the file has 'en', 'de'"),
        ("a.csv", "source,target\n", (), "no rows"),
        ("a.jsonl", '{"source": "Hi.", "target": 3}\n', (), "'target' is 3; expected a string"),
        ("a.tsv", "Hi.\tHallo!\n", (1, 1), "are both 1"),
        ("a.dat", "en\tde\nHi.\tHallo!\n", ("en", "de"), "expected a file named .csv, .tsv, .jsonl"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, name, content, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_table_pairs(tmp_path / name, *columns)
