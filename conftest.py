"""Names that docstring examples use without importing them."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict):
    doctest_namespace["np"] = np
