"""The migration page: every line of ours runs, and every line of theirs is of a version that had it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tensorflow as tf
import tf_layout
import tiny

PAGE = (Path(__file__).parents[2] / "docs" / "from_transformers.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_what_they_had_stands_beside_what_is_here(title, text):
    theirs, ours = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("py", "python"))
    assert len(theirs) == len(ours) == 1 and text.index("```py\n") < text.index("```python\n")
    compile(ours[0], title, "exec")


def write_old_folder(folder: str) -> None:
    """Write a classifier as `TFBertForSequenceClassification.save_pretrained` did."""
    tiny.classifier().save(folder)
    tf_layout.rewrite(Path(folder), "h5")
    assert (Path(folder) / "tf_model.h5").is_file() and not (Path(folder) / "model.safetensors").exists()


@pytest.mark.integration
def test_your_own_checkpoints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_old_folder("runs/reviews")
    (block,) = re.findall(r"```python\n(.*?)```", dict(SECTIONS)["Your own checkpoints"], re.DOTALL)
    exec(compile(block, "page", "exec"), {})
    assert (tmp_path / "runs/reviews_2/model.safetensors").is_file()


@pytest.mark.slow
def test_every_line_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_old_folder("runs/reviews")
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
