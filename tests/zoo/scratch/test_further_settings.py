"""What a user asks of a run that goes on with a model is checked before any work."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import classifier

from zoo.cli.train import read_tokens
from zoo.scratch.kept_plan import KeptPlan
from zoo.scratch.run_plan import Candidate, make_plan
from zoo.scratch.run_settings import FurtherSettings, RunSettings, command_of, differences

ASKED = {"start": "gpt_mini_en", "text": ("a.txt",), "out": Path("runs/mine")}
NEW = {
    "size": "mini", "layers": 2, "heads": 2, "hidden_dim": 64, "tokenizer": "bytes", "vocabulary": 300,
    "lowercase": True,
    "model": "bert",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), NEW.items())
def test_what_the_model_has_itself_is_refused_by_name(name, value):
    with pytest.raises(
        ValueError, match=f"--from gpt_mini_en already has .* --{name.replace('_', '-')} is for new models"
    ):
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
    tokens, start = differences(one.identity(), other.identity())
    assert tokens == "--add-tokens [] (was ['a'])"
    content = r"content [0-9a-f]{12}"
    assert re.fullmatch(rf"--from gpt_mini_en, {content} \(was mini_bert_en, {content}\)", start)
    new = RunSettings("gpt2", ("a.txt",), Path("runs/mine"))
    different = " ".join(differences(new.identity(), one.identity()))
    assert re.search(rf"--from None \(was gpt_mini_en, {content}\)", different)


def test_a_start_that_has_changed_is_another_run(tmp_path):
    """Its files may be written anew, and have another time; a weight, a token or a setting makes another model."""
    start, task = tmp_path / "start", classifier()
    settings = FurtherSettings(**ASKED | {"start": str(start), "out": tmp_path / "mine"})
    (tmp_path / "mine.run").mkdir()
    task.save(start)
    plan = make_plan(settings, Candidate((1, 2, 16), 1_000, 0.1), 100, 10, 64)
    KeptPlan(settings).write(plan, [])

    def again() -> FurtherSettings:
        return replace(settings)  # as the same command makes them

    task.save(start)
    assert KeptPlan(again()).check()["plan"] == plan.to_dict()
    variable = task.model.weights[0]
    variable.assign(variable + 1)
    task.save(start)
    with pytest.raises(
        ValueError, match=r"other settings is under way in .*: --from .*start, content .* \(was .*start"
    ):
        KeptPlan(again()).check()
    KeptPlan(settings).write(plan, [], done=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").touch()
    assert KeptPlan(settings).is_done([]) and not KeptPlan(again()).is_done([])
    changed = {"config.json": ('"hidden_act": "gelu"', '"hidden_act": "relu"'), "tokenizer.json": ("fine", "fiNe")}
    contents = {again().identity()["start"]}
    for name, change in changed.items():
        text = (start / name).read_text(encoding="utf-8")
        assert change[0] in text, text
        (start / name).write_text(text.replace(*change), encoding="utf-8")
        contents.add(again().identity()["start"])
    assert len(contents) == 3


def test_a_file_of_tokens(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffmetformin\r\n\r\nNew York\r\n".encode())
    assert read_tokens(path) == ("metformin", "New York")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\nb\na\n", "line 4: 'a' is in line 1, too"),
        (b"a\n b\n", "line 2: ' b' has whitespace around it"),
        (b"\n\n", "has no tokens: expected one per line"),
        (b"", "has no tokens"),
        ("é".encode("latin-1"), "0xe9 cannot be decoded as utf-8"),
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
