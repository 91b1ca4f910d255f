"""What is measured before a run is planned; the dtype and the compiler that suit a machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from zoo.scratch.kept_plan import Plan
from zoo.scratch.plan_table import memory
from zoo.scratch.speed import peak_memory, suited_dtype, suits_xla

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


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fpu avx2", "float32"), ("fpu avx512f avx512_bf16", "mixed_bfloat16"), ("amx_bf16 amx_tile", "mixed_bfloat16")],
)
def test_bfloat16_where_the_processor_multiplies_it(tmp_path, flags, expected):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert suited_dtype(tmp_path / "cpuinfo") == expected
    assert suited_dtype(tmp_path / "none") == "float32"


def test_xla_on_accelerators_only(monkeypatch):
    assert not suits_xla("gpt2", None)
    monkeypatch.setattr("zoo.scratch.speed._has_accelerator", lambda: True)
    assert suits_xla("gpt2", None) and not suits_xla("lstm", None) and not suits_xla("gpt2", "a strategy")
