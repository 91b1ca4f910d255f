"""What is measured before a run is planned."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from zoo.scratch.plan_table import memory
from zoo.scratch.run_plan import Plan
from zoo.scratch.speed import peak_memory

STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists(), reason="Linux tells the peak in another place, too")
def test_the_peak_of_memory_is_the_systems():
    kibibytes = int(re.search(r"VmHWM:\s+(\d+)", STATUS.read_text())[1])
    assert peak_memory() == pytest.approx(1024 * kibibytes, rel=0.05)


def test_where_no_peak_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory() is None
    plan = Plan((1, 1, 8), 10**9, 16, 8, 4, 2, 2, 1e-3, 1, 0.0, 0.1, "float32", False)
    assert memory(plan) == "16 GB of weights, gradients and moments, and activations"
