"""The plan that a run keeps, and standard input."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from zoo.scratch.api.new import run
from zoo.scratch.kept_plan import PLAN, KeptPlan, file_facts, keep_standard_input
from zoo.scratch.run_plan import Candidate, make_plan
from zoo.scratch.run_settings import RunSettings

FILES = [("a.txt", 5, "0" * 64)]


def model_in(out: Path, content: bytes = b"weights") -> None:
    out.mkdir(exist_ok=True)
    (out / "model.safetensors").write_bytes(content)


def kept(out: Path, **given) -> tuple[KeptPlan, object]:
    settings = RunSettings("gpt2", ("a.txt",), out, **given)
    out.with_name(f"{out.name}.run").mkdir(parents=True, exist_ok=True)
    return KeptPlan(settings), make_plan(settings, Candidate((2, 2, 128), 1_000, 0.1), 100, 10, 64)


def test_the_same_command_goes_on_with_the_same_plan(tmp_path):
    keeper, plan = kept(tmp_path / "mine", steps=7)
    assert keeper.read(FILES) is None and not keeper.is_done([])
    keeper.write(plan, FILES)
    again, _ = kept(tmp_path / "mine", steps=7, prompt="other")
    assert again.read(FILES) == plan and not again.is_done([])


def test_another_command_is_refused_while_a_run_is_under_way(tmp_path):
    keeper, plan = kept(tmp_path / "mine", steps=7)
    keeper.write(plan, FILES)
    other, _ = kept(tmp_path / "mine", steps=8, seed=3)
    with pytest.raises(ValueError, match=r"under way in .*: --seed 3 \(was 1\), --steps 8 \(was 7\)"):
        other.read(FILES)
    with pytest.raises(ValueError, match="under way"):
        other.check()


def test_other_text_is_refused_while_a_run_is_under_way(tmp_path):
    """The steps of its plan are those of the text that it began with."""
    keeper, plan = kept(tmp_path / "mine", steps=7)
    keeper.write(plan, FILES)
    with pytest.raises(ValueError, match=r"the text has changed since the run in .* began: a.txt. Restore the text"):
        keeper.read([("a.txt", 5, "1" * 64)])


def test_a_run_of_other_text_has_not_ended(tmp_path):
    """A file that has changed, another one, or other standard input; the time of a change does not matter."""
    text = tmp_path / "a.txt"
    text.write_text("The cat sat.", encoding="utf-8")
    keeper, plan = kept(tmp_path / "mine", steps=7)
    model_in(tmp_path / "mine")
    keeper.write(plan, file_facts([text]), done=True)
    os.utime(text, (1, 1))
    assert keeper.is_done([text]) and not keeper.is_done([text, text]) and not keeper.is_done([])
    text.write_text("The dog ran.", encoding="utf-8")
    assert not keeper.is_done([text])


@pytest.mark.parametrize("name", ["files", "plan", "plan.steps"])
def test_a_plan_of_another_version(tmp_path, name):
    keeper, plan = kept(tmp_path / "mine", steps=7)
    keeper.write(plan, FILES)
    values = json.loads((keeper.folder / PLAN).read_text())
    first, *others = name.split(".")
    del (values[first] if others else values)[others[0] if others else first]
    (keeper.folder / PLAN).write_text(json.dumps(values))
    for ask in (keeper.check, lambda: keeper.is_done([])):
        with pytest.raises(
            ValueError, match=r"plan.json was written by another version, or is damaged.* remove .*mine.run"
        ):
            ask()


def test_one_process_at_a_time(tmp_path):
    keeper, other = (kept(tmp_path / "mine", steps=7)[0] for _ in range(2))
    with keeper.alone(), pytest.raises(ValueError, match=r"another process trains in .*mine.run: wait"), other.alone():
        pass
    with other.alone():
        pass


def test_after_its_end_a_run_is_known_and_another_may_begin(tmp_path):
    keeper, plan = kept(tmp_path / "mine", steps=7)
    keeper.states.mkdir()
    model_in(tmp_path / "mine")
    keeper.write(plan, [], done=True)
    assert keeper.is_done([]) and not keeper.states.exists()
    other, other_plan = kept(tmp_path / "mine", steps=8)
    assert other.read(FILES) is None and not other.is_done([])
    other.write(other_plan, FILES)
    assert other.read(FILES) == other_plan


@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
def test_a_run_whose_model_is_gone_has_not_ended(tmp_path, left):
    """There is nothing to load: the same command trains anew, into the folder that is there."""
    keeper, plan = kept(tmp_path / "mine", steps=7)
    model_in(tmp_path / "mine")
    keeper.write(plan, [], done=True)
    assert keeper.is_done([])
    shutil.rmtree(tmp_path / "mine")
    if left == "an empty folder":
        (tmp_path / "mine").mkdir()
    assert not keeper.is_done([])
    keeper.check_model()


def test_a_model_that_was_changed_after_the_run_is_not_replaced(tmp_path):
    """Neither by the same command nor by another one."""
    keeper, plan = kept(tmp_path / "mine", steps=7)
    keeper.check_model()
    model_in(tmp_path / "mine")
    keeper.write(plan, [], done=True)
    (tmp_path / "mine" / "README.md").write_text("My notes.", encoding="utf-8")
    keeper.check_model()
    model_in(tmp_path / "mine", b"finetun")
    for one in (keeper, kept(tmp_path / "mine", seed=3)[0]):
        with pytest.raises(ValueError, match=r"mine has another model than .*: model.safetensors has changed since"):
            one.check_model()
    keeper.write(plan, [])  # a run that is under way may replace what is there
    keeper.check_model()


def test_a_second_process_leaves_the_standard_input_of_a_run(tmp_path, monkeypatch):
    """It is refused before it reads any."""
    keeper, _ = kept(tmp_path / "mine", steps=7)
    path = keep_standard_input(keeper.folder / "stdin.txt", io.BytesIO(b"The cat sat.\n"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"The dog ran.\n" * 9000)))
    with keeper.alone(), pytest.raises(ValueError, match="another process trains in"):
        run(RunSettings("gpt2", ("-",), tmp_path / "mine"), "train --text -")
    assert path.read_bytes() == b"The cat sat.\n" and list(keeper.folder.iterdir()) == [path]


def test_standard_input_is_kept_once(tmp_path):
    path = keep_standard_input(tmp_path / "run" / "stdin.txt", io.BytesIO(b"one\ntwo\n"))
    before = path.stat().st_mtime_ns
    assert keep_standard_input(path, io.BytesIO(b"one\ntwo\n")).stat().st_mtime_ns == before
    keep_standard_input(path, io.BytesIO(b"three\n"))
    assert path.read_bytes() == b"three\n" and [file.name for file in path.parent.iterdir()] == ["stdin.txt"]


def test_empty_standard_input(tmp_path):
    with pytest.raises(ValueError, match="standard input is empty"):
        keep_standard_input(tmp_path / "stdin.txt", io.BytesIO(b""))
    assert not list(tmp_path.iterdir())
