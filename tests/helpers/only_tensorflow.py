"""Tests of what only one backend has."""

from __future__ import annotations

from collections.abc import Callable

import keras


def only_tensorflow(test: Callable) -> Callable:
    """Leave a test out on another backend: in CI a test that is skipped fails."""
    test.__test__ = keras.backend.backend() == "tensorflow"
    return test
