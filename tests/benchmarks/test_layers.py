"""`benchmarks/layers.py`: what it compares is the same, and what its table says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmark_modules import imported

layers = imported("layers")
FOUND = {"forward": [0.001, 2_000_000], "step": [0.003, 4_000_000]}


def answers(ours, difference: float = 0.0):
    """A measurement without processes: theirs finds `FOUND`."""

    def measured(case, file, limit):
        np.save(file, np.full(3, difference if case[2] == "ours" else 0.0))
        return ours if case[2] == "ours" else FOUND

    return measured


def test_rows_of_the_table(monkeypatch, tmp_path):
    monkeypatch.setattr(layers, "measured", answers({"forward": [0.0005, 3_000_000], "step": [0.003, 1_000_000]}))
    assert layers.compare("encoder", 1024, 3, 60, tmp_path) == [
        "| encoder | 1024 | 1 | forward | 1.0 ms | 0.5 ms | **0.50** | 2.0 MB | 3.0 MB | **1.50** |  |",
        "| encoder | 1024 | 1 | step | 3.0 ms | 3.0 ms | **1.00** | 4.0 MB | 1.0 MB | **0.25** |  |",
    ]


def test_a_side_that_fails_is_in_the_table(monkeypatch, tmp_path):
    monkeypatch.setattr(layers, "measured", answers("out of memory"))
    assert layers.compare("encoder", 8192, 2, 60, tmp_path)[0].endswith(
        "| 2.0 MB | - MB | **-** | ours out of memory |"
    )


def test_outputs_that_differ_are_no_comparison(monkeypatch, tmp_path):
    monkeypatch.setattr(layers, "measured", answers(FOUND, difference=1e-3))
    with pytest.raises(RuntimeError, match=r"encoder, T = 128: the outputs differ by 1.0e-03"):
        layers.compare("encoder", 128, 1, 60, tmp_path)


def test_a_process_that_takes_too_long(tmp_path):
    assert layers.measured(("attention", 4, "ours"), tmp_path / "file.npy", 0.01) == "over 0.01 s"


@pytest.mark.parity
@pytest.mark.parametrize("layer", layers.LAYERS)
def test_both_sides_give_the_same(layer):
    x = np.random.default_rng(0).standard_normal((1, 5, layers.WIDTH)).astype("float32")
    theirs, ours = (np.asarray(layers.model_of(layer, side)(x)) for side in layers.SIDES)
    np.testing.assert_allclose(ours, theirs, atol=layers.EQUAL)
    assert np.abs(theirs).max() > 0.1


@pytest.mark.slow
def test_a_tiny_run(tmp_path):
    rows = layers.compare("decoder", 4, 1, 120, tmp_path)
    assert [row.split(" | ")[3] for row in rows] == list(layers.CALLS)
    assert all(row.endswith("** |  |") and "-" not in row for row in rows)
