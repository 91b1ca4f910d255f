"""The table of models of docs/models.md is the one that the code makes: `UPDATE_MODELS=1` writes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import zoo
from zoo.cli.list import markdown_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
TABLE = re.compile(r"(?<=<!-- models -->\n).*?(?=\n<!-- /models -->)", re.DOTALL)


def test_the_table_of_models_is_made_from_the_zoo():
    expected = markdown_table(map(zoo.describe, zoo.names()))
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_MODELS"):
        text = TABLE.sub(lambda _: expected, text)
        PAGE.write_text(text, encoding="utf-8")
    assert TABLE.search(text)[0] == expected
