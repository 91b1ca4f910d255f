"""The model zoo: names, descriptions, and `load`."""

from __future__ import annotations

from zoo._entry import describe, names
from zoo._load import load

__all__ = ["describe", "load", "names"]
