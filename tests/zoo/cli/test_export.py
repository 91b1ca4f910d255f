"""`export`."""

from __future__ import annotations

import pytest
from command_line import run


@pytest.mark.integration
def test_export(folders, tmp_path):
    run("export", folders["classification"], tmp_path / "served" / "1")
    assert (tmp_path / "served" / "1" / "saved_model.pb").is_file()
