"""JSON files: what is no JSON, no object or of another type is an error that names file, key and value."""

from __future__ import annotations

import json
import re

import pytest

from keras_transformers.utils.json_file import NUMBER, check_types, read_object


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_an_object_is_read_as_it_is(tmp_path, encoding):
    values = {"größe": 1, "list": [1.5, None], "object": {"a": True}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values, ensure_ascii=False), encoding=encoding)
    assert read_object(path) == read_object(str(path)) == values


def test_other_values_are_no_objects(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("[1]")
    message = f"{path}: expected a JSON object, received list. Fetch or write it again."
    with pytest.raises(ValueError, match=re.escape(message)):
        read_object(path)


@pytest.mark.parametrize("content", [b"{", b"", b"[" * 100_000, b'{"a": "\xff"}'], ids=repr)
def test_what_is_no_json(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))} is no JSON \(.+\)\. Fetch or write it again\."):
        read_object(path)


def test_a_missing_file(tmp_path):
    message = f"there is no config.json in {tmp_path}: expected a checkpoint folder."
    with pytest.raises(ValueError, match=re.escape(message)):
        read_object(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [(bool, 0, "bool"), (str, ["a"], "str"), (int, 1.0, "int"), (dict, [], "dict"), (NUMBER, "20", "number")],
)
def test_a_value_of_another_type(kind, value, name):
    message = f"file.json: key must be a {name}: received {value!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_types({"other": 1, "key": value}, {"other": int, "key": kind}, "file.json")


def test_null_missing_and_unlisted_values_pass():
    check_types({"a": None, "c": "anything", "d": 1, "e": 0.5}, {"a": int, "b": str, "d": NUMBER, "e": NUMBER}, "")
