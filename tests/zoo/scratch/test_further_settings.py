"""What a user asks of a run that goes on with a model is checked before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.scratch.further_settings import FurtherSettings, read_tokens
from zoo.scratch.run_settings import RunSettings, command_of, differences

ASKED = {"start": "gpt_mini_en", "text": ("a.txt",), "out": Path("runs/mine")}
NEW = {
    "size": "mini", "layers": 2, "heads": 2, "hidden_dim": 64, "tokenizer": "bytes", "vocabulary": 300,
    "lowercase": True,
    "model": "bert",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), NEW.items())
def test_what_the_model_has_itself_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"--from gpt_mini_en has .* --{name.replace('_', '-')} is of a new model"):
        FurtherSettings(**ASKED, **{name: value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 0}, "--steps must be at least 1"),  # as of any run
        ({"add_tokens": ("a", "a")}, "more than once"),
        ({"add_tokens": ("a ",)}, "begins or ends with whitespace"),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(ValueError, match=message):
        FurtherSettings(**ASKED | given)


def test_the_model_of_the_default_is_taken_as_none():
    assert FurtherSettings(**ASKED, model="gpt2") == FurtherSettings(**ASKED)


def test_the_folder_of_the_start_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="--out mine is the folder of --from"):
        FurtherSettings(**ASKED | {"start": str(tmp_path / "mine"), "out": Path("mine")})


def test_another_start_is_another_run():
    one, other = FurtherSettings(**ASKED), FurtherSettings(**ASKED | {"start": "mini_bert_en", "add_tokens": ("a",)})
    assert differences(one.identity(), other.identity()) == [
        "--add-tokens [] (was ['a'])",
        "--from gpt_mini_en (was mini_bert_en)",
    ]
    new = RunSettings("gpt2", ("a.txt",), Path("runs/mine"))
    assert "--from None (was gpt_mini_en)" in differences(new.identity(), one.identity())


def test_a_file_of_tokens(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffmetformin\r\n\r\nNew York\r\n".encode())
    assert read_tokens(path) == ("metformin", "New York")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\nb\na\n", "line 4: 'a' is in line 1, too"),
        (b"a\n b\n", "line 2: ' b' has whitespace around it"),
        (b"\n\n", "has no tokens: expected one a line"),
        (b"", "has no tokens"),
        ("é".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_bad_files_of_tokens(tmp_path, content, message):
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_tokens(tmp_path / "words.txt")


def test_no_file_of_tokens(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read_tokens(tmp_path / "words.txt")


def test_the_command_of_a_call_in_python():
    settings = FurtherSettings(**ASKED | {"text": ("a.txt", "b c.txt")}, add_tokens=("metformin",), seed=0)
    expected = "train --text a.txt --text 'b c.txt' --out runs/mine --seed 0 --from gpt_mini_en --add-tokens FILE"
    assert command_of(settings) == expected
