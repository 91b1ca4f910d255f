"""The command line itself: help, errors in one line, and what is refused before any work."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from pathlib import Path

import pytest
from command_line import ROWS, fail, invoke, python, run

import zoo
from zoo.__main__ import app
from zoo.cli import describe as describe_verb
from zoo.cli.app import OPTIONS, explain
from zoo.terminal.console import print_facts
from zoo.terminal.options import check_loadable, loadable

COMMANDS = ("list", "describe", "compare", "train", "finetune", "evaluate", "predict", "generate", "export", "convert")
WITHOUT_KERAS = """
import runpy, sys
sys.modules.update(dict.fromkeys(["keras", "tensorflow", "tokenizers", "numpy"]))
for arguments in (["list"], ["describe", "mini_bert_en"], ["finetune", "--help"], ["--help"]):
    assert "zoo.cli.train" not in sys.modules  # a verb comes without the others
    sys.argv = ["zoo", *arguments]
    try:
        runpy.run_module("zoo", run_name="__main__")
    except SystemExit as end:
        assert not end.code, arguments
"""
ONEDNN = """
import os, sys
sys.modules["keras"] = None
os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
os.environ.update({environment}, TF_CPP_MIN_LOG_LEVEL="0")
import zoo.__main__
import tensorflow
tensorflow.zeros(1)
print(os.environ["TF_ENABLE_ONEDNN_OPTS"])
"""


def test_standard_output_may_be_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as end:
        app(["list"])
    assert not end.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    assert command in run("--help")
    assert f"python -m zoo {command}" in run(command, "--help")


def test_no_command_is_help():
    assert run().strip() == run("--help").strip()


@pytest.mark.integration
def test_help_list_and_describe_come_without_keras():
    done = python("-W", "ignore", "-c", WITHOUT_KERAS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bert_base_en_uncased" in done.stdout


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "darwin", reason="TensorFlow for macOS has no oneDNN")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="it is switched on for x86 alone")
@pytest.mark.parametrize(("environment", "on"), [({}, True), ({"TF_ENABLE_ONEDNN_OPTS": "0"}, False)])
def test_onednn_is_on_unless_the_environment_says_otherwise(environment, on):
    """TensorFlow reports on stderr that it computes with oneDNN."""
    done = python("-c", ONEDNN.format(environment=environment))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(int(on))]
    assert ("oneDNN custom operations are on" in done.stderr) == on


REFUSED = {
    "unknown command": (("lsit",), "No such command"),
    "unknown option": (("list", "--all"), "No such option"),
    "argument missing": (("describe",), "[Mm]issing"),
    "not a number": (("finetune", "--epochs", "many"), "epochs"),
    "no such pattern": (("list", "mamba*"), "no model is named like 'mamba"),
    "wrong name": (("describe", "mini_bert"), "nearest names are .*mini_bert_en"),
    "no recipe": (("train", "bert_base_en_cased", "--data", ".", "--out", "x"), "there is no recipe"),
    "no data": (("train", "mini_bert_en", "--data", "no/such", "--out", "x"), "there is no folder no/such"),
    "no file": (("finetune", "--train", "no.csv"), "no.csv: there is no such file"),
    "test alone": (("finetune", "--test", __file__), "without --train"),
    "no text": (("predict", "mini_bert_en"), "received no text"),
    "texts and file": (("predict", "mini_bert_en", "a", "--file", __file__), "give one of them"),
    "no folder": (("evaluate", "no/such", "--data", __file__), "there is no folder 'no/such'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_told_in_one_line(case):
    arguments, message = REFUSED[case]
    code, printed = fail(*arguments)
    assert code == 2
    assert re.search(message, printed), printed


@pytest.mark.integration
def test_the_exit_code_and_the_line_of_an_error():
    done = python("-m", "zoo", "describe", "bert_bas")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no model 'bert_bas'") and done.stderr.count("\n") == 1


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.* means the class BertTokenizer")
def test_texts_and_patterns_that_no_tokenizer_takes(folders, table, tmp_path):
    """Each is one line that says what to mend; a pattern of endless time was a panic, past every `except Exception`."""
    code, printed = fail("predict", folders["classification"], "fine", "half \ud83d")
    assert code == 2 and "row 1 has the lone surrogate" in printed
    folder, file = tmp_path / "model", table("rows.csv", [{"text": "a" * 40, "label": "good"}])
    shutil.copytree(folders["classification"], folder)
    config = json.loads((folder / "tokenizer.json").read_text())
    pattern = {"type": "Replace", "pattern": {"Regex": "(a+)+b"}, "content": "c"}
    (folder / "tokenizer.json").write_text(json.dumps(config | {"normalizer": pattern}))
    for command, message in ((("predict", folder, "a"), "(a+)+b"), (("evaluate", folder, "--data", file), "a pattern")):
        code, printed = fail(*command)
        assert code == 2 and message in printed, printed


@pytest.fixture
def foreign(tmp_path) -> Path:
    """A folder that is not ours to replace."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("work of years")
    return tmp_path / "thesis"


def test_a_folder_of_others_is_refused_before_the_work(foreign, folders, table, monkeypatch):
    monkeypatch.setattr("zoo.loading.load.load", lambda *_, **__: pytest.fail("loaded"))
    file = table("train.csv", ROWS)
    for command in (
        ("finetune", "--train", file, "--out", foreign),
        ("finetune", "--train", file, "--out", foreign / "new", "--export", foreign),
        ("export", folders["classification"], foreign),
        ("train", "mini_bert_en", "--data", foreign, "--out", foreign),
    ):
        assert "is not replaced" in fail(*command)[1]
    assert (foreign / "chapter1.txt").read_text() == "work of years"


def broken(*_):
    raise KeyError("sizes")


def test_other_errors_are_one_line_and_another_code(monkeypatch):
    monkeypatch.setattr(describe_verb, "facts", broken)
    code, message = fail("describe", "mini_bert_en")
    assert code == 1 and "KeyError" in message and "--debug" in message


def test_debug_shows_where(monkeypatch):
    monkeypatch.setattr(describe_verb, "facts", broken)
    result = invoke("--debug", "describe", "mini_bert_en")
    assert isinstance(result.exception, KeyError)


def test_facts_stand_side_by_side(capsys):
    print_facts({"a": "x", "longer": "word " * 40})
    first, second, *more = capsys.readouterr().out.splitlines()
    assert first == "a       x" and second.startswith("longer  word word")
    assert more and all(line.startswith("        word") for line in more)
    print_facts({"a": "x"}, width=9)
    assert capsys.readouterr().out == "a          x\n"


def test_names_are_checked_with_what_is_said_of_them(tmp_path):
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        check_loadable(str(tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")  # whose base may be on the hub
    check_loadable(str(tmp_path))
    check_loadable("mini_bert_en")
    check_loadable("hf:org/repo")
    with pytest.raises(ValueError, match="whose files specify it"):
        check_loadable(str(zoo.describe("mini_bert_en").folder), num_heads=2)
    assert loadable(None) is None and loadable("mini_bert_en") == "mini_bert_en"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("pass them as pairs=.", "pass them as --text-pair."),
        ("Name the columns: text= and label=.", "Name the columns: --text and --label."),
        ("say lowercase=True or lowercase=False.", "say --lowercase or --cased of `python -m zoo convert`."),
        ("give num_heads=...", "give --num-heads of `python -m zoo convert`"),
        ("Say encoding='utf-16', or field='text'.", "Say --encoding utf-16, or --field text."),
        ("received pairs=['a'], context= and label=3", "received pairs=['a'], context= and label=3"),
    ],
)
def test_arguments_of_python_are_named_as_options(message, told):
    assert explain(ValueError(message)) == (told, 2)


def test_errors_of_python_calls_name_no_options():
    """The command line translates names of arguments: `app.OPTIONS`."""
    options = {option[2:] for option in re.findall(r"--[a-z-]+", str(OPTIONS))}
    named = re.compile(rf"--(?:{'|'.join(sorted(options))})\b")
    files = sorted((Path(__file__).resolve().parents[3] / "keras_transformers").rglob("*.py"))
    assert [str(path) for path in files if named.search(path.read_text(encoding="utf-8"))] == []
