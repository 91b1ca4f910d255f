"""`list`, at any width of the terminal."""

from __future__ import annotations

from command_line import run
from rich.console import Console

import zoo
from zoo.cli import app


def test_list():
    table = run("list")
    assert all(name in table for name in zoo.names())
    assert "109 M" in table and "12 x 768" in table and "Apache-2.0" in table
    assert "bert_large_en_cased" not in run("list", "bert_base*")
    lines = run("list", "--bundled").splitlines()[2:]
    assert [line.split()[0] for line in lines] == zoo.names(bundled=True)
    assert all(line.split()[-1] == "bundled" for line in lines)


def test_it_fits_80_columns_and_holds_nothing_but_text():
    table = run("list")
    assert max(map(len, table.splitlines())) <= 80
    assert table.replace("\n", "").isprintable()


def test_names_are_whole_where_the_terminal_is_narrower(monkeypatch):
    whole = run("list")
    monkeypatch.setattr(app, "console", lambda: Console(width=30, highlight=False, markup=False))
    assert run("list") == whole
