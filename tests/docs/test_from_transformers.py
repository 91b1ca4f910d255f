"""The migration page: every line of ours runs, and every line of theirs is of a version that had it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tensorflow as tf

PAGE = (Path(__file__).parents[2] / "docs" / "from_transformers.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_what_they_had_stands_beside_what_is_here(title, text):
    theirs, ours = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("py", "python"))
    assert len(theirs) == len(ours) == 1 and text.index("```py\n") < text.index("```python\n")
    compile(ours[0], title, "exec")


@pytest.mark.slow
def test_every_line_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    tf.config.run_functions_eagerly(True)  # for a step each: graphs take longer to trace
    try:
        for title, text in SECTIONS:
            (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
            exec(compile(block, title, "exec"), names)
    finally:
        tf.config.run_functions_eagerly(False)
    assert names["vectors"].shape == (2, 384) and names["answers"]
    assert names["outputs"].keys() == {"logits", "attention_scores", "all_hidden_states"}
