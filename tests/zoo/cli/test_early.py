"""Names, files, headers and folders are checked before Keras is imported, which takes seconds."""

from __future__ import annotations

import json
import os

import pytest
from command_line import fail, python

RUN = """
import json, os, sys
sys.modules.update(dict.fromkeys(["keras", "tensorflow", "jax"]))
from typer.testing import CliRunner
from zoo.__main__ import app
os.chdir(sys.argv[1])
for command in json.loads(sys.argv[2]):
    done = CliRunner().invoke(app, command)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""
NEW_FILES = {
    "train.csv": "text,label\na,good\nb,bad\n",
    "pairs.jsonl": '{"a": "x", "b": "y"}\n',
    "notes.txt": "x\n",
    "header.csv": "text\n",
}
MODELS = {
    "gpt_mini": "no model 'gpt_mini' in the zoo. The nearest names are ['gpt_mini_en'",
    "runs/finetund": "no folder 'runs/finetund'. Give a folder, a name of zoo.names(), or 'hf:org/repo'. The nearest "
    "names there are ['finetuned'].",
    "runs/finetuned": "there is no checkpoint in runs/finetuned: expected a folder with the config.json",
    "transformer_base": "no weights for 'transformer_base', only sizes",
    "hf:": "expected 'hf:org/repo'",
}
VERBS = {
    "evaluate": ("--data", "train.csv"),
    "predict": ("a",),
    "generate": ("a",),
    "export": ("out",),
    "convert": ("out",),
    "explore": (),
    "finetune": (),
}
CASES = {
    ("evaluate", "mini_bert_en", "--data", "trian.csv"): "trian.csv: there is no such file. The nearest names there "
    "are ['train.csv'].",
    ("evaluate", "mini_bert_en", "--data", "."): ". is a folder: expected a file.",
    (
        "evaluate",
        "mini_bert_en",
        "--data",
        "train.csv",
        "--text",
        "txet",
    ): "no column 'txet'; the file has 'text', 'label'",
    ("evaluate", "mini_bert_en", "--data", "train.csv", "--text", "0", "--label", "label"): "expected all names",
    ("evaluate", "mini_bert_en", "--data", "train.csv", "--task", "masked"): "--task must be one of causal_lm, ",
    ("predict", "mini_bert_en", "--file", "none.csv"): "none.csv: there is no such file",
    (
        "predict",
        "mini_bert_en",
        "--file",
        "pairs.jsonl",
        "--text",
        "a",
        "--text-pair",
        "c",
    ): "no 'c'; the object has 'a', ",
    ("predict", "mini_bert_en", "a", "--file", "train.csv"): "give one of them",
    ("predict", "mini_bert_en", "--file", "header.csv"): "header.csv: no rows; expected at least one.",
    ("predict", "mini_bert_en", "--file", "pipe.csv"): "pipe.csv is a pipe or a device: expected a regular file",
    ("predict", "mini_bert_en", "a", "--out", "folder.csv"): "folder.csv, which is a folder: expected a file",
    ("list", "mini_bert_n"): "nearest names are ['mini_bert_en'",
    ("generate", "gpt_mini_en", "--file", "notse.txt"): "nearest names there are ['notes.txt']",
    ("finetune", "--train", "train.csv", "--label", "lable"): "no column 'lable'; the file has 'text', 'label'",
    ("finetune", "--train", "pairs.jsonl", "--text", "a"): "no 'label'; the object has 'a', 'b'",
    ("finetune", "--train", "train.csv", "--test", "tset.csv"): "tset.csv: there is no such file",
    ("finetune", "--task", "clasification"): "--task must be one of ",
    ("finetune", "--out", "notes.txt"): "notes.txt is a file",
    ("export", "mini_bert_en", "notes.txt"): "notes.txt is a file",
    ("explore", "mini_bert_en", "--html", "."): "is a folder: --html takes the name of a file",
    ("train", "mini_bert", "--data", ".", "--out", "x"): "nearest names are ['mini_bert_en'",
    ("train", "mini_bert_en", "--data", "none", "--out", "x"): "there is no folder none",
    ("describe", "mini_bert"): "nearest names are ['mini_bert_en'",
}


@pytest.mark.integration
def test_mistakes_are_told_without_keras(tmp_path):
    for name, text in NEW_FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "runs" / "finetuned").mkdir(parents=True)
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    cases = CASES | {(verb, model, *rest): text for verb, rest in VERBS.items() for model, text in MODELS.items()}

    done = python("-c", RUN, str(tmp_path), json.dumps(list(cases)))

    assert done.returncode == 0, done.stderr
    for (command, message), line in zip(cases.items(), done.stdout.splitlines(), strict=True):
        code, printed, error = json.loads(line)
        assert (code, printed, error.count("\n")) == (2, "", 1), (command, error)
        assert message in error, (command, error)


def test_what_is_read_is_not_written_over(tmp_path):
    """Under whatever name: a report would end the table that it is about."""
    table, other = tmp_path / "table.csv", tmp_path / "other.csv"
    table.write_text("text,label\na,x\nb,y\n")
    other.hardlink_to(table)
    common = "finetune", "--train", table, "--out", tmp_path / "model"
    for report in (table, other):
        assert "is one of the files to read" in fail(*common, "--report", report)[1]
    assert "is one of the files to read" in fail(*common, "--split", 0, "--test", other, "--report", table)[1]
    assert table.read_text() == "text,label\na,x\nb,y\n"
