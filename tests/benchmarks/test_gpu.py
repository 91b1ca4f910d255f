"""`benchmarks/gpu.py`: every case works at a small size, and what the table says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benchmark_modules import BENCHMARKS, imported

gpu = imported("gpu")
cases = sys.modules["gpu_cases"]
CASE = "BERT-base step, 64 x 128"
LINES = [
    {"case": "matrix product, bfloat16", "side": "torch", "device": "H100", "s": 1e-3, "unit": "step", "flops": 8e14},
    {"case": CASE, "side": "ours", "device": "H100", "s": 0.016, "unit": "step", "flops": 2e14, "memory": 4e9},
    {"case": CASE, "side": "torch", "error": "over 60 s to build", "message": ""},
    {"case": CASE, "side": "torch compiled", "device": "H100", "s": 0.02, "unit": "step", "flops": 1e14, "memory": 5e9},
    {"case": "embed", "side": "ours", "device": "H100", "s": 0.0001, "unit": "sentence", "flops": 0.0, "moved": 0.0},
]
WORKER = """
import json, sys, time
from pathlib import Path
case, side, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
if side == "fails":
    raise SystemExit("no such device")
(folder / "ready").touch()
if side == "ours":
    while not (folder / "go").exists():
        time.sleep(0.01)
    (folder / "result").write_text(json.dumps({"case": case, "side": side}))
else:
    time.sleep(60)
"""


def test_the_table():
    first, _, _, _, *rows = gpu.table(LINES).splitlines()
    assert first == "Devices: H100. Limits: 800 TFLOP/s, 0 GB/s."
    assert rows == [
        "| matrix product, bfloat16 |  | 1 ms |  |  |  |  | - / - |",
        f"| {CASE} | 16 ms | over 60 s to build | 20 ms |  | **1.25** | 25% | 4.0 GB / 5.0 GB |",
        "| embed | 10,000 sentences/s |  |  |  |  |  | - / - |",
    ]


@pytest.mark.integration
def test_processes_that_fail_or_take_too_long(tmp_path, monkeypatch):
    (tmp_path / "gpu_cases.py").write_text(WORKER)
    monkeypatch.setattr(gpu, "HERE", tmp_path)
    pairs = [("a", "fails"), ("b", "ours"), ("c", "sleeps"), ("d", "ours")]
    lines = {line["case"]: line for line in gpu.measured(pairs, 3, 1.0, [])}
    assert lines["a"]["error"] == "failed to build" and "no such device" in lines["a"]["message"]
    assert lines["c"]["error"] == "over 1 s to run"
    assert all(lines[case] == {"case": case, "side": "ours"} for case in "bd")


def test_the_operations_of_a_step():
    """BERT-base has 85 million weights in its blocks: six operations of each for a token, and attention's."""
    sizes = cases.CASES[CASE].sizes
    weights, tokens = 12 * 12 * 768**2, 64 * 128
    attention = 3 * 12 * 2 * 2 * 128 * 768 * tokens
    assert cases.training_flops(sizes) == 6 * weights * tokens + attention
    assert cases.weight_bytes(cases.GPT2 | {"dtype": "float32"}) == pytest.approx(4 * 124e6, rel=0.02)


def test_each_case_has_its_functions():
    """Read, not imported: gpu_peers.py needs torch."""
    for name in ("gpu_ours", "gpu_peers"):
        source = Path(BENCHMARKS, f"{name}.py").read_text(encoding="utf-8")
        for case in cases.CASES.values():
            assert f"def {case.does}(" in source or (case.sides == ("ours",) and name == "gpu_peers")


@pytest.mark.slow
def test_a_small_run(tmp_path, monkeypatch, capsys):
    """torch.compile needs a C++ compiler and minutes: it is left out."""
    for package in ("jax", "torch", "transformers", "sentence_transformers"):
        pytest.importorskip(package)
    out = tmp_path / "gpu.jsonl"
    sides = ["--sides", "ours", "torch", "sentence-transformers"]
    arguments = ["gpu.py", "--small", "--seconds", "0", "--together", "2", "--out", str(out), *sides]
    monkeypatch.setattr(sys, "argv", arguments)
    gpu.main()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line for line in lines if "error" in line] == []
    assert {line["case"] for line in lines} == {*cases.CASES}
    assert "best peer / ours" in capsys.readouterr().out
