"""Exports of the bundled models, for what docs/serving says of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import pytest
from exports import BUNDLED, Exported

# Asked for by name: skipped tests fail in CI, and 4 GB of other TensorFlows are not for every run.
collect_ignore = [] if os.environ.get("ZOO_TF_MINORS") else ["test_serving_minors.py"]


@pytest.fixture(scope="session")
def exported(tmp_path_factory) -> Callable[[str], Exported]:
    """Exports a task of `BUNDLED` when it is first asked for."""
    import zoo

    @cache
    def export(name: str) -> Exported:
        model, to_load, to_export = BUNDLED[name]
        task = zoo.load(model, name, **to_load)
        folder = tmp_path_factory.mktemp(name) / "1"
        task.export(folder, **to_export)
        return Exported(task, folder)

    return export
