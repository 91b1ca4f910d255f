"""Files of texts and labels."""

from __future__ import annotations

import json

import pytest

from zoo.cli.data import Columns, read_labelled


@pytest.mark.parametrize("label", [None, 3])
def test_a_row_without_labels_of_several(tmp_path, label):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a", "label": label}))
    with pytest.raises(ValueError, match=f"row 1: {label} is no label for the problem multi_label"):
        read_labelled(tmp_path / "rows.jsonl", Columns(), "multi_label")
