"""The table: what is counted grows as theory says, where it is exact."""

from __future__ import annotations

import pytest

from keras_transformers.analysis.cost.layer_comparison import RECURRENCES, THEORY, LayerComparison, growth, quantities

# What theory promises and a layer of ours does not keep: a mask hides scores after they are computed.
MEASURED = {("attention, window", "scores and mixing"): (2, 1)}


@pytest.fixture(scope="module")
def comparison() -> LayerComparison:
    return LayerComparison(lengths=(16, 32, 64), widths=(32, 64, 128), kernel=3, window=4)


@pytest.mark.integration(quick=["attention-scores and mixing"])
@pytest.mark.parametrize(("layer", "quantity"), [(layer, each) for layer in THEORY for each in THEORY[layer]])
def test_exponents_are_those_of_theory(comparison, layer, quantity):
    row = comparison.row(layer, quantity)
    length, width = MEASURED.get((layer, quantity), row.theory[1:])
    assert row.width == pytest.approx(width, abs=0.1)
    if length is None:
        assert 0.1 < row.length < 0.5
    else:
        assert row.length == pytest.approx(length, abs=0.1)


@pytest.mark.integration
def test_the_numbers_by_hand(comparison):
    """T = 32, d = 64."""
    shown = {(row.layer, row.quantity): row.counted for row in comparison.rows()}
    weights, length, width = 64**2, 32, 64
    assert shown["attention", "parameters"] == 4 * weights + 4 * width
    assert shown["attention", "scores and mixing"] == 2 * length**2 * width
    assert shown["attention", "projections"] == 4 * length * weights
    assert shown["attention", "multiply-adds"] == 4 * length * weights + 2 * length**2 * width
    assert [shown[name, "multiply-adds"] for name in RECURRENCES] == [n * length * weights for n in (2, 6, 8)]
    assert shown["Conv1D", "multiply-adds"] == 3 * length * weights
    assert [shown[name, "sequential steps"] for name in THEORY] == [4, 4, *[length] * 3, 1, 1]
    assert [shown[name, "path length"] for name in THEORY] == [1, 8, *[length] * 3, 16, 4]
    assert len(shown) == sum(len(quantities(layer)) for layer in THEORY)


@pytest.mark.integration
@pytest.mark.parametrize("width", [8, 40])
def test_attention_and_recurrence_cross_at_as_many_positions_as_dimensions(comparison, width):
    """The two products of attention and the two of a step: T²d = Td². Gates are more; projections are four at once."""
    crossings = {
        part: [comparison.crossing(part, name, width) for name in RECURRENCES]
        for part in ("scores and mixing", "multiply-adds")
    }
    assert crossings == {"scores and mixing": [width, 3 * width, 4 * width], "multiply-adds": [None, width, 2 * width]}
    at = {name: comparison.count(name, "multiply-adds", width, width) for name in RECURRENCES}
    assert comparison.count("attention", "scores and mixing", width, width) == at["SimpleRNN"]
    assert comparison.count("attention", "multiply-adds", width, width) == at["GRU"]


def test_growth():
    assert growth([1, 2, 8], [5, 20, 320]) == pytest.approx(2)
    assert growth([4, 2], [3, 3]) == pytest.approx(0)
    assert growth([1, 10, 100], [1, 10, 1000]) == pytest.approx(1.5)


@pytest.mark.parametrize(("sizes", "counts"), [([1], [1]), ([2, 2], [1, 2]), ([1, 2], [0, 2]), ([1, 2], [1])])
def test_growths_that_cannot_be_fitted(sizes, counts):
    with pytest.raises(ValueError, match="two or more different sizes and a count for each, all positive"):
        growth(sizes, counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": (8,)}, "lengths must be two or more different integers from 2"),
        ({"lengths": (1, 8)}, "lengths must be"),
        ({"widths": (8, 8)}, "widths must be"),
        ({"widths": (8, 2.5)}, "widths must be"),
        ({"kernel": 1}, "kernel must be an integer from 2: received 1"),
        ({"window": 0}, "window must be an integer from 1: received 0"),
    ],
)
def test_sizes_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        LayerComparison(**options)


@pytest.mark.integration
def test_odd_sizes():
    odd = LayerComparison(lengths=(2, 5), widths=(3, 7), kernel=2, window=1)
    assert odd.num_heads == 1
    shown = {(row.layer, row.quantity): row.counted for row in odd.rows()}
    assert shown["attention", "scores and mixing"] == 2 * 5**2 * 3
    assert shown["Conv1D", "path length"] == 4 and shown["SimpleRNN", "path length"] == 5
