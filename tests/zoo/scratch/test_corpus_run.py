"""What a run on text finds in odd folders and files."""

from __future__ import annotations

import pytest

from zoo.scratch.run_settings import RunSettings
from zoo.scratch.text_rounds import first_words
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
    assert first_words(texts) == expected
