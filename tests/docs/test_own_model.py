"""docs/serving/README.md: the model of one's own learns, is exported, and answers as the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import keras
import pytest
from readme_code import python_differences

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving" / "README.md").read_text(encoding="utf-8")
(SECTION,) = re.findall(r"^## A model of your own\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.integration
def test_the_code_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)
    assert SECTION.count("```python\n") == 2
    assert not list(python_differences(SECTION))
