from __future__ import annotations

import sys

import numpy as np
import pytest
from keras import ops

from keras_transformers.analysis import plot_alignment, plot_attention, plot_heads
from keras_transformers.tasks.seq2seq_lm import Alignment

TOKENS = ["[CLS]", "a", "film", "[SEP]"]
# The plain test run has no matplotlib; the run of slow tests has all extras.
needs_matplotlib = pytest.mark.slow


def weights(*shape: int) -> np.ndarray:
    scores = np.random.default_rng(0).random(shape)
    return (scores / scores.sum(-1, keepdims=True)).astype("float32")


@needs_matplotlib
def test_every_head_has_a_panel_with_its_scores_on_one_scale():
    scores = weights(6, 4, 4)

    figure = plot_attention(ops.convert_to_tensor(scores), TOKENS)

    panels = [panel for panel in figure.axes if panel.images]
    assert [panel.get_title() for panel in panels] == [f"head {head}" for head in range(6)]
    for panel, head in zip(panels, scores, strict=True):
        np.testing.assert_array_equal(panel.images[0].get_array(), head)
        assert panel.images[0].get_clim() == (0, pytest.approx(scores.max()))
        assert [label.get_text() for label in panel.get_yticklabels()] == TOKENS
    assert [panel.axison for panel in figure.axes] == [True] * 6 + [False] * 2


@needs_matplotlib
def test_cross_attention_of_one_head(tmp_path):
    figure = plot_attention(weights(2, 3), ["die", "Katze"], ["the", "cat", "danced"], titles=["last block"])

    (panel,) = figure.axes
    assert panel.get_title() == "last block"
    assert [label.get_text() for label in panel.get_yticklabels()] == ["die", "Katze"]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["the", "cat", "danced"]
    figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@needs_matplotlib
def test_all_zero_scores_are_drawn():
    figure = plot_attention(np.zeros((1, 2, 2)), ["a", "b"])

    low, high = figure.axes[0].images[0].get_clim()
    assert low == 0 < high


@needs_matplotlib
def test_all_heads_have_a_panel_and_long_texts_are_made_small():
    scores = weights(2, 3, 200, 200)

    figure = plot_heads(ops.convert_to_tensor(scores))

    assert [panel.get_title() for panel in figure.axes] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    drawn = figure.axes[5].images[0].get_array()
    assert drawn.shape == (64, 64)
    np.testing.assert_allclose(drawn.sum(), 64, rtol=1e-4)


@needs_matplotlib
def test_an_alignment_has_the_words_of_both_texts():
    alignment = Alignment([(0, 3), (4, 7), (0, 0)], [(0, 3), (4, 9), (0, 0)], np.eye(3))

    (panel,) = plot_alignment(alignment, "The cat", "Die Katze").axes

    assert [label.get_text() for label in panel.get_xticklabels()] == ["The", "cat", "(end)"]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["Die", "Katze", "(end)"]
    np.testing.assert_array_equal(panel.images[0].get_array(), np.eye(3))


def test_scores_of_one_layer_are_refused():
    with pytest.raises(ValueError, match=r"\(L, N, T, S\): received shape \(2, 4, 4\).*scores\[0\]"):
        plot_heads(weights(2, 4, 4))


@needs_matplotlib
def test_pyplot_does_not_keep_the_figure():
    from matplotlib import pyplot

    plot_attention(np.eye(2), ["a", "b"])

    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (weights(2, 3, 4), {}),
        (weights(2, 4, 3), {}),
        (weights(1, 2, 2, 4, 4), {}),
        (weights(2, 4, 4), {"titles": ["one"]}),
        (weights(2, 4, 4), {"key_tokens": ["one"]}),
    ],
)
def test_what_does_not_fit_is_refused(scores, options):
    with pytest.raises(ValueError, match=r"do not fit .* choose a text and a block"):
        plot_attention(scores, TOKENS, **options)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(ImportError, match=r"pip install 'keras_transformers\[plot\]'"):
        plot_attention(np.eye(4), TOKENS)
