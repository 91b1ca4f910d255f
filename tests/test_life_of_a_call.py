"""The lives of calls that docs/contributing/architecture.md tells are those of traced calls."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import keras_transformers
import zoo

PACKAGE = Path(keras_transformers.__file__).parent
TEXT = (Path(__file__).resolve().parent.parent / "docs" / "contributing" / "architecture.md").read_text(
    encoding="utf-8"
)
TEXTS, LABELS = ["a fine film", "a dull day"], ["yes", "no"]


def steps(title: str) -> list[tuple[str, str]]:
    """Return the file and function of each line of a section."""
    section = TEXT[TEXT.index(f"### {title}\n") :].split("\n#")[0]
    return re.findall(r"^\d+\. `([\w./]+\.py)` `(\w+)`: ", section, re.MULTILINE)


@functools.cache  # a call enters millions of functions, most of them TensorFlow's
def own_file(filename: str) -> str | None:
    """Return the path inside our packages, or None for another file."""
    path = Path(filename)
    if PACKAGE.parent not in path.parents:
        return None
    root = PACKAGE if PACKAGE in path.parents else PACKAGE.parent
    return path.relative_to(root).as_posix()


def trace(call: Callable) -> list[tuple[str, str]]:
    """Return the files and functions of ours that a call enters, each once, in order."""
    entered: dict[tuple[str, str], None] = {}

    def note(frame, event, _):
        if event == "call" and (file := own_file(frame.f_code.co_filename)):
            entered.setdefault((file, frame.f_code.co_name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(entered)


def load():
    return zoo.load("mini_bert_en", task="classification", labels=["no", "yes"])


@pytest.mark.integration
@pytest.mark.parametrize("title", ["A load", "A predict", "A generate", "A batch of fit"])
def test_the_lines_are_the_calls_in_order(title):
    if title == "A load":
        entered = trace(load)
    elif title == "A generate":
        task = zoo.load("gpt_mini_en")
        entered = trace(lambda: task.generate(["He was"], max_new_tokens=3))
    else:
        task = load()
        predict, fit = (lambda: task.predict(TEXTS)), (lambda: task.fit(TEXTS, LABELS, epochs=1, verbose=0))
        entered = trace(predict if title == "A predict" else fit)
    told = steps(title)
    assert len(told) == 12 and not set(told) - set(entered)
    assert told == sorted(told, key=entered.index)
