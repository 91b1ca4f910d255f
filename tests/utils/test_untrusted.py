"""Files from outside: pipes, devices, loops of links and large files are errors, and nothing waits for them."""

from __future__ import annotations

import os
import re

import pytest

from keras_transformers.utils.json_file import MOST_DEPTH, check_types, read_object
from keras_transformers.utils.untrusted import (
    MOST_BYTES,
    MOST_LETTERS,
    check_file,
    check_is_itself,
    decoded,
    read_bytes,
    resolved,
    shown,
)


@pytest.fixture
def strange(tmp_path):
    """Paths of what is there, and is no file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    return [tmp_path / name for name in ("pipe", "loop", "folder", "nothing")]


def test_what_is_no_file(strange):
    for path in strange:
        with pytest.raises(ValueError, match=f"there is no {path.name} in .*: expected a vocab.txt"):
            read_bytes(path, "a vocab.txt")


def test_a_large_file_is_not_read(tmp_path):
    """Nor is a device that never ends, where a link leads to one: it is no file."""
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ValueError, match="more than 67,108,864 bytes"):
        read_bytes(tmp_path / "large")
    assert read_bytes(tmp_path / "large", most=MOST_BYTES + 1) == bytes(MOST_BYTES + 1)
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="there is no zeros"):
        read_bytes(tmp_path / "zeros")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "git lfs.*Run `git lfs pull`"),
        ("<!DOCTYPE html>\n<html><head><title>Login</title></head></html>", "is a web page.*Fetch it again"),
        ("\ufeff \n<HTML>", "is a web page"),
    ],
)
def test_a_file_that_stands_for_another(tmp_path, content, message):
    (tmp_path / "vocab.txt").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"vocab\.txt .*{message}"):
        read_bytes(tmp_path / "vocab.txt")
    with pytest.raises(ValueError, match=rf"vocab\.txt .*{message}"):
        check_is_itself(tmp_path / "vocab.txt")


def test_a_file_is_checked_before_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "train.csv").write_text("text")
    check_file(tmp_path / "train.csv")
    with pytest.raises(ValueError, match=r"no such file\. The nearest names there are \['train.csv'\]"):
        check_file(tmp_path / "tran.csv")
    with pytest.raises(ValueError, match=r"no such file\.$"):
        check_file(tmp_path / "none" / "a.csv")
    with pytest.raises(ValueError, match="is a folder: expected a file"):
        check_file(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match="may not be read"):
        check_file(tmp_path / "train.csv")


def test_other_encodings():
    assert decoded("é".encode(), "vocab.txt") == "é"
    with pytest.raises(ValueError, match=r"vocab\.txt is not valid UTF-8") as caught:
        decoded("é".encode("utf-16"), "vocab.txt")
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("name", ["loop", "loop/model", "a\0b", "a" * 300, "/".join(["a"] * 3000)])
def test_what_can_be_no_path(strange, name):
    with pytest.raises(ValueError, match=r"is no path \(.+\)\. Give another one\."):
        resolved(strange[0].parent / name)


def test_a_long_value_is_cut():
    assert shown({"a": [1]}) == "{'a': [1]}"
    assert len(shown("a" * 10**6)) < MOST_LETTERS + 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1, "a": 2}', r"is no JSON \(the key 'a' occurs more than once\)"),
        (b'{"a": {"b": 1, "b": 1}}', "'b' occurs more than once"),
        (b'{"a": ' + b"[" * MOST_DEPTH + b"]" * MOST_DEPTH + b"}", "nested more than 64 deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is no JSON"),
    ],
)
def test_json_that_is_refused(tmp_path, content, message):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} .*{message}"):
        read_object(path)


def test_json_that_is_deep_enough(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b'{"a": ' + b"[" * (MOST_DEPTH - 1) + b"]" * (MOST_DEPTH - 1) + b"}")
    assert list(read_object(path)) == ["a"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1"])
def test_what_is_no_number(value):
    with pytest.raises(ValueError, match="key must be a number"):
        check_types({"key": value}, {"key": (int, float)}, "config.json")
