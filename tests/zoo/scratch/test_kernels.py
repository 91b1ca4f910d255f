"""The dtype and the compiler that suit a machine."""

from __future__ import annotations

import pytest

from zoo.scratch.kernels import suited_dtype, suits_xla


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
    monkeypatch.setattr("zoo.scratch.kernels._has_accelerator", lambda: True)
    assert suits_xla("gpt2", None) and not suits_xla("lstm", None) and not suits_xla("gpt2", "a strategy")
