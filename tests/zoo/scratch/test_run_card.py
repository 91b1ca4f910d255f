"""The card of a run, whatever its files, its folder and its command are called."""

from __future__ import annotations

from keras_transformers.checkpoints.files.card import MOST_BYTES, is_unedited
from zoo.scratch.run_card import MOST_FILES, card


def lines(files=(), facts=None, command="train", title="mine") -> list[str]:
    return card(title, facts or {}, {"perplexity": 2.0}, list(files), command, ["predict mine"]).splitlines()


def test_names_are_neither_markdown_nor_html():
    made = lines([("texts/a|b`<b>\n# c.txt", 1, "00")], {"text": "one\n| two"}, title="a\n# b")
    assert "| a\\|b\\`\\<b> # c.txt | 1 | `00` |" in made and "| text | one \\| two |" in made
    assert [line for line in made if line.startswith("# ")] == ["# a # b"]


def test_a_command_is_a_block_whatever_stands_in_it():
    made = lines(command="train --prompt '\n# no title\n\n```'")
    start = made.index("## Made by")
    assert made[start + 2 : start + 6] == ["    python -m zoo train --prompt '", "    # no title", "    ", "    ```'"]


def test_a_name_that_is_no_utf_8():
    assert "| ?.txt | 1 | `00` |" in lines([("\udcff.txt", 1, "00")])


def test_a_card_of_many_files_may_be_replaced(tmp_path):
    files = [(f"{number:0200d}.txt", 10, "0" * 64) for number in range(20_000)]
    (tmp_path / "README.md").write_text(card("mine", {}, {}, files, "train", []), encoding="utf-8")
    assert is_unedited(tmp_path / "README.md") and (tmp_path / "README.md").stat().st_size < MOST_BYTES / 2
    assert f"And {20_000 - MOST_FILES:,} more files of 199,000 bytes." in lines(files)
