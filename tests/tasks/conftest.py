"""One trained classifier, for tests that only look at it."""

from __future__ import annotations

import pytest
import tiny


@pytest.fixture(scope="session")
def trained():
    """A classifier after `fit`, with what `fit` returned in `history`."""
    task = tiny.classifier()
    task.history = task.fit(tiny.TEXTS, tiny.LABELS, **tiny.FIT).history
    return task
