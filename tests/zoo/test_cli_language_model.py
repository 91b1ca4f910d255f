"""`generate`, and `finetune`, `evaluate`, `predict` and `export` of language models."""

from __future__ import annotations

import json

import pytest
from command_line import fail, invoke, run

import zoo

LINES = ["a fine film", "a dull book", "the fine day", "", "the long play"]


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


def test_generate_prints_prompt_and_text(folders):
    options = {"max_new_tokens": 6, "temperature": 0.7, "seed": 3}
    expected = zoo.load(folders["causal_lm"]).generate(["a fine", "the"], **options)
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    assert run("generate", folders["causal_lm"], "a fine", "the", *flags) == f"a fine{expected[0]}\nthe{expected[1]}\n"
    assert run("generate", folders["causal_lm"], *flags, stdin="a fine\n") == f"a fine{expected[0]}\n"


def test_generate_by_beams(folders):
    expected = zoo.load(folders["causal_lm"]).generate(["a fine"], max_new_tokens=6, num_beams=2)[0]
    command = ("generate", folders["causal_lm"], "a fine", "--max-new-tokens", 6, "--num-beams", 2)
    assert run(*command) == f"a fine{expected}\n"


def test_generate_errors(folders):
    assert "masked_lm, which writes no text" in fail("generate", folders["masked_lm"], "a")[1]
    assert "give one of them" in fail("generate", folders["causal_lm"], "a", "--file", "b.txt")[1]
    assert "top_p must be in" in fail("generate", folders["causal_lm"], "a", "--top-p", 2)[1]


def test_finetune_on_a_text_file(folders, text_file, tmp_path, served):
    out = tmp_path / "out"
    files = ("--train", text_file, "--test", text_file)
    lines = run(
        "finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--epochs", 1, "--out", out
    ).splitlines()
    for start in ("fit 4 texts", "evaluate 4 held-out texts", "  perplexity", "save", "export"):
        assert any(line.startswith(start) for line in lines), start
    assert served == [["a fine film"]]
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()
    assert zoo.load(out).name == "causal_lm"
    assert set(json.loads(run("evaluate", out, "--data", text_file))) == {"accuracy", "cross_entropy", "perplexity"}
    answer = json.loads(run("predict", out, "a fine"))
    assert answer["text"] == "a fine" and answer["generated_text"] == zoo.load(out).generate(["a fine"])[0]


def test_finetune_on_inputs_and_targets(folders, table, tmp_path, served):
    rows = [{"text": "a fine film", "label": " a fine day"}, {"text": "a dull book", "label": " a dull play"}]
    files = ("--train", table("pairs.csv", rows), "--out", tmp_path / "out")
    run("finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--label", "label", "--epochs", 1)
    assert served == [["a fine film"]]


def test_finetune_errors(folders, tmp_path):
    command = ("finetune", folders["causal_lm"], "--task", "causal_lm", "--out", tmp_path / "out")
    assert "needs --train" in fail(*command)[1]
    assert "there is no such file" in fail(*command, "--train", tmp_path / "none.txt")[1]
    (tmp_path / "blank.txt").write_text("\n\n")
    assert "holds no text" in fail(*command, "--train", tmp_path / "blank.txt")[1]
    for name, content, message in (
        ("lines.txt", "a\n", "text without columns, so none is 'b'"),
        ("numbers.jsonl", '{"text": "a", "b": 1}\n', "row 1: 'b' is 1; expected a string"),
    ):
        (tmp_path / name).write_text(content)
        assert message in fail(*command, "--train", tmp_path / name, "--label", "b")[1]


def test_translate_line_for_line(folders, tmp_path):
    """Blank lines stay; what the command prints is what the task writes."""
    lines = ["a fine film", "", "the long play"]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    task = zoo.load(folders["seq2seq_lm"])
    expected = [row["generated_text"] for row in task.predict(lines, num_beams=2, max_new_tokens=7)]
    options = ("--num-beams", 2, "--max-new-tokens", 7)
    printed = run("generate", folders["seq2seq_lm"], "--file", tmp_path / "lines.txt", *options)
    assert printed.split("\n") == [*expected, ""] and expected[1] == ""
    assert run("generate", folders["seq2seq_lm"], *options, stdin="\n".join(lines)) == printed


def test_translate_as_many_lines_as_there_are(folders, tmp_path):
    """A line ends with a line feed, wherever else a text breaks; what is cut or cannot be translated is told."""
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffa\rfine\u2028film\r\nthe long\n{}\n".format("day " * 99).encode())
    done = invoke("generate", folders["seq2seq_lm"], "--file", path, "--max-new-tokens", 3)
    assert done.exit_code == 0 and done.stdout.count("\n") == 3
    assert done.stderr.startswith("line 3: cut to ")
    done = invoke("generate", folders["seq2seq_lm"], "a film", "", "--max-new-tokens", 999)
    assert done.exit_code != 0 and done.stdout == "\n\n"
    assert "line 1: max_new_tokens must be less than" in done.stderr and "1 of 2 lines" in done.stderr


def test_files_that_cannot_be_read(folders, tmp_path):
    path = tmp_path / "lines.txt"
    for content, message in ((b"", "lines.txt is empty"), (b"ok\n\xe9\n", "lines.txt, line 2: byte 0xe9 is not UTF-8")):
        path.write_bytes(content)
        assert message in fail("generate", folders["seq2seq_lm"], "--file", path)[1]
    assert "there is no such file" in fail("generate", folders["seq2seq_lm"], "--file", tmp_path / "none.txt")[1]


def test_predict_prints_json_for_what_cannot_be_answered(folders):
    blank = json.loads(run("predict", folders["seq2seq_lm"], " "), parse_constant=pytest.fail)
    assert blank["score"] == 0 and blank["error"].startswith("The text is blank")


def test_finetune_translations(folders, table, tmp_path, served):
    rows = [{"en": "a fine film", "de": "ein guter Film"}, {"en": "a dull book", "de": "ein fades Buch"}]
    command = ("finetune", folders["seq2seq_lm"], "--task", "seq2seq_lm", "--out", tmp_path / "out")
    files = ("--train", table("pairs.csv", rows), "--test", table("more.csv", rows), "--text", "en")
    assert "needs --label" in fail(*command, *files)[1]
    lines = run(*command, *files, "--label", "de", "--epochs", 1)
    assert "perplexity" in lines and served == [["a fine film"]]
    assert zoo.load(tmp_path / "out").name == "seq2seq_lm"
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()
