"""`describe`."""

from __future__ import annotations

import pytest
from command_line import run

import zoo


@pytest.mark.parametrize("name", zoo.names())
def test_describe(name):
    entry, text = zoo.describe(name), " ".join(run("describe", name).split())  # a long line is wrapped
    for fact in (name, entry.summary, f"{entry.parameters:,}", entry.licence, entry.paper, entry.task):
        assert fact in text
    assert all(result.shown in text for result in entry.results)
