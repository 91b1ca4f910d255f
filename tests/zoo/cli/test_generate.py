"""`generate`: prompts that are continued, and lines that are translated."""

from __future__ import annotations

import pytest
from command_line import fail, invoke, run

import zoo

pytestmark = pytest.mark.usefixtures("loaded_once")


@pytest.mark.integration
def test_generate_prints_prompt_and_text(folders):
    options = {"max_new_tokens": 6, "temperature": 0.7, "seed": 3}
    expected = zoo.load(folders["causal_lm"]).generate(["a fine", "the"], **options)
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    assert run("generate", folders["causal_lm"], "a fine", "the", *flags) == f"a fine{expected[0]}\nthe{expected[1]}\n"
    assert run("generate", folders["causal_lm"], *flags, stdin="a fine\n") == f"a fine{expected[0]}\n"


@pytest.mark.integration
def test_generate_by_beams(folders):
    expected = zoo.load(folders["causal_lm"]).generate(["a fine"], max_new_tokens=6, num_beams=2)[0]
    command = ("generate", folders["causal_lm"], "a fine", "--max-new-tokens", 6, "--num-beams", 2)
    assert run(*command) == f"a fine{expected}\n"


@pytest.mark.integration
def test_a_prefix_is_read_and_not_printed(folders):
    task, options = zoo.load(folders["causal_lm"]), ("--max-new-tokens", 6, "--prefix", "the long ")
    expected = task.generate(["the long a fine"], max_new_tokens=6)[0]
    assert run("generate", folders["causal_lm"], "a fine", *options) == f"a fine{expected}\n"
    assert run("generate", folders["causal_lm"], "a fine", *options, "--num-beams", 1) == f"a fine{expected}\n"
    assert "this model has an encoder" in fail("generate", folders["seq2seq_lm"], "a film", *options)[1]


@pytest.mark.integration
def test_generate_errors(folders):
    assert "masked_lm, which writes no text" in fail("generate", folders["masked_lm"], "a")[1]
    assert "give one of them" in fail("generate", folders["causal_lm"], "a", "--file", __file__)[1]
    assert "top_p must be in" in fail("generate", folders["causal_lm"], "a", "--top-p", 2)[1]


@pytest.mark.integration
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


@pytest.mark.integration
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
    wrong = b"ok\n\xe9\n", "lines.txt, line 2, byte 3: 0xe9 cannot be decoded as utf-8"
    for content, message in ((b"", "lines.txt is empty"), wrong):
        path.write_bytes(content)
        assert message in fail("generate", folders["seq2seq_lm"], "--file", path)[1]
    assert "there is no such file" in fail("generate", folders["seq2seq_lm"], "--file", tmp_path / "none.txt")[1]
