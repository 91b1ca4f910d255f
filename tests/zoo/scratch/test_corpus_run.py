"""What a run on text finds in odd folders and files."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from zoo.scratch import text_rounds
from zoo.scratch.pairs import pair_rounds
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.text_run import TextRun


def test_a_run_does_not_learn_from_what_it_has_written(tmp_path):
    """The folder of the text may hold the one to write: the same command finds the same text when it is repeated."""
    (tmp_path / "a.txt").write_text("The fox ran.\n", encoding="utf-8")
    settings = RunSettings("gpt2", (str(tmp_path),), tmp_path / "mine", validation=(f"{tmp_path}/**/*.md",))
    (tmp_path / "held.md").write_text("A dog ran.\n", encoding="utf-8")
    before = TextRun(settings)
    for folder in ("mine", "mine.run"):
        (tmp_path / folder).mkdir()
        for name in ("README.md", "vocab.txt"):
            (tmp_path / folder / name).write_text("written", encoding="utf-8")
    (tmp_path / "mine.run" / "tokens.bin").write_bytes(b"\0")
    after = TextRun(settings)
    assert after.files.files == before.files.files == (tmp_path / "a.txt", tmp_path / "held.md")
    assert after.validation.files == before.validation.files == (tmp_path / "held.md",)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["The cat sat on the mat, and slept."], "The cat sat on the m"),
        (["\n" * 20_000, " \r\n", "\r\n The cat\r\nsat."], "The cat"),
        ([" \n"], "\n"),
        ([], "\n"),
    ],
)
def test_samples_begin_with_the_first_words(texts, expected):
    assert text_rounds.first_words(texts) == expected


@pytest.mark.parametrize("commands", [text_rounds.next_commands, pair_rounds.next_commands])
def test_the_next_commands_can_be_pasted(commands):
    settings, wanted = SimpleNamespace(out=Path("my runs/it's")), SimpleNamespace(task="causal_lm")
    run = SimpleNamespace(settings=settings, wanted=wanted, finetune_options=lambda: "")
    for line in commands(run):
        words = shlex.split(line)
        assert words[1] == "my runs/it's" and not any(word in ("runs/it's", "runs/its") for word in words)
    assert "my runs/it's-tuned" in shlex.split(commands(run)[-2])
