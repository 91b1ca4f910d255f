"""The layer of a conditional random field, alone and in models of Keras."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from layer_checks import check_layer

from keras_transformers import CRF, BestPath, CRFLoss, Viterbi
from keras_transformers.layers.crf.path_scores import marginals, unpacked
from keras_transformers.training.metrics.target_metrics import Accuracy

B, T, C = 4, 5, 3
SCORES, MASK = normal(B, T, C), np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]])


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"forbidden": [[-1, 1], [0, 2], [2, -1]], "scale": 10.0}])
def test_layer(options, tmp_path):
    check_layer(CRF, options, {"scores": SCORES, "padding_mask": MASK}, tmp_path)


def test_forbidden_steps_are_on_no_best_path_and_have_no_probability():
    layer = CRF(forbidden=[(-1, 1), (0, 1), (2, 1), (1, -1)])  # 1 neither begins nor ends, nor follows others
    layer.build((None, None, C))
    favoured = SCORES + np.array([0.0, 50.0, 0.0], "float32")
    scores = randomize(layer)(favoured, padding_mask=MASK)
    assert not (to_numpy(Viterbi()(scores)) == 1).any()
    assert to_numpy(marginals(unpacked(scores)))[..., 1].max() == 0.0


def test_no_path_is_allowed_and_the_loss_is_finite():
    layer = CRF(forbidden=[(one, other) for one in (-1, 0, 1) for other in (0, 1)] + [(0, -1), (1, -1)])
    scores = layer(normal(2, 3, 2))
    labels = np.array([[0, 1, 0], [-1, -1, -1]])
    assert np.isfinite(float(CRFLoss()(labels, scores)))
    assert to_numpy(Viterbi()(scores)).shape == (2, 3)


def test_masks_of_every_kind_hide_the_same():
    layer = randomize_built()
    expected = to_numpy(layer(SCORES, padding_mask=MASK))
    for mask in (MASK.astype(bool), MASK.astype("float32"), MASK.tolist()):
        np.testing.assert_array_equal(to_numpy(layer(SCORES, padding_mask=mask)), expected)
    carried = keras.layers.Masking()(SCORES * MASK[..., None])
    np.testing.assert_array_equal(to_numpy(layer(carried))[:, :T, -1], MASK)


def randomize_built() -> CRF:
    layer = CRF()
    layer.build((None, None, C))
    return randomize(layer)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CRF(forbidden=[(0, 1, 2)]), "pairs of labels"), (lambda: CRF(forbidden=[(0, -2)]), "pairs of labels"),
        (lambda: CRF(forbidden=5), "list of pairs of labels: received 5"),
        (lambda: CRF(forbidden=None), "received None"),
        (lambda: Viterbi()(np.zeros((2, 2, 5))), "expected the output of a `CRF` layer"),
        (lambda: CRF(forbidden=[3]), "received 3"), (lambda: CRF(forbidden=["ab"]), "received 'ab'"),
        (lambda: CRF(forbidden=[(0, C)])(SCORES), r"the pair \[0, 3\]: there are the labels 0 to 2"),
        (lambda: CRF()(SCORES[0]), "Add the axis"), (lambda: CRF()(MASK[..., None]), "floating-point"),
        (lambda: CRF(scale=0), "scale must be a positive number"),
        (lambda: CRF()(SCORES, padding_mask=MASK[:, :2]), "padding_mask must be"),
        (lambda: CRF()(SCORES, padding_mask=2 * MASK), "padding_mask"),
        (lambda: Viterbi()(SCORES[0]), "expected the output of a `CRF` layer"),
        (lambda: CRFLoss()(np.zeros((B, 2), int), CRF()(SCORES)), r"for each of 5 positions"),
        (lambda: CRFLoss()(np.zeros(B, int), CRF()(SCORES)), r"labels of shape \(4,\)"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_pairs_may_be_an_array(tmp_path):
    inputs = keras.Input((None, C))
    model = keras.Model(inputs, CRF(np.array([[-1, 2], [0, 2]]), scale=np.float32(2))(inputs))
    assert model.layers[-1].get_config()["forbidden"] == [[-1, 2], [0, 2]]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(SCORES)), to_numpy(model(SCORES)))


def test_an_empty_batch():
    paths = CRF()(np.zeros((0, 4, C), "float32"))
    assert tuple(paths.shape) == (0, 4 + C + 1, C + 1)
    assert tuple(Viterbi()(paths).shape) == (0, 4)
    assert float(CRFLoss()(np.zeros((0, 4), int), paths)) == 0.0


def test_one_label_and_one_position():
    scores = CRF()(normal(3, 1, 1))
    assert to_numpy(Viterbi()(scores)).tolist() == [[0]] * 3
    assert float(CRFLoss()(np.zeros((3, 1), int), scores)) == pytest.approx(0.0, abs=1e-6)


def tagger(dtype: str = "float32") -> keras.Model:
    """A BiLSTM-CRF (Lample et al. 2016) in a few lines of Keras."""
    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20, 16, mask_zero=True, dtype=dtype)(words)
    x = keras.layers.Bidirectional(keras.layers.LSTM(8, return_sequences=True, dtype=dtype), dtype=dtype)(x)
    x = keras.layers.Dense(C, dtype=dtype)(x)
    return keras.Model(words, CRF(dtype=dtype, name="crf")(x))


def alternating(rows: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Words that are all noise but for the first of a row; labels count on from it, which only steps can tell."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, rows)
    words = np.where(np.arange(8) < lengths[:, None], rng.integers(4, 20, (rows, 8)), 0)
    words[:, 0] = first = rng.integers(1, 4, rows)
    labels = (first[:, None] - 1 + np.arange(8)) % C
    return words, np.where(words > 0, labels, -1)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "jit"), [("float32", True), ("mixed_bfloat16", False)])
def test_fit_in_a_model_of_keras(dtype, jit, tmp_path):
    keras.utils.set_random_seed(0)
    model, (words, labels) = tagger(dtype), alternating()
    model.compile(keras.optimizers.Adam(0.02), CRFLoss(), metrics=[BestPath(Accuracy())], jit_compile=jit)
    history = model.fit(words, labels, epochs=25, verbose=0, validation_data=(words, labels)).history
    assert history["accuracy"][-1] > 0.99 and history["val_accuracy"][-1] > 0.99
    assert history["loss"][-1] < 0.1 * history["loss"][0]
    model.save(tmp_path / "tagger.keras")
    back = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(back.predict(words, verbose=0), model.predict(words, verbose=0))
    assert back.evaluate(words, labels, verbose=0)[1] > 0.99
    found = keras.Model(back.input, Viterbi()(back.output)).predict(words, verbose=0)
    assert ((found == -1) == (words == 0)).all() and (found == labels).mean() > 0.99


@pytest.mark.integration
def test_half_precision_computes_in_float32():
    half, full = CRF(dtype="mixed_bfloat16"), CRF()
    for layer in (half, full):
        layer.build((None, None, C))
        randomize(layer)
    scores = keras.ops.cast(SCORES, "bfloat16")
    assert keras.backend.standardize_dtype(half(scores).dtype) == "float32"
    np.testing.assert_array_equal(to_numpy(half(scores)), to_numpy(full(keras.ops.cast(scores, "float32"))))


def test_in_sequential_and_cloned():
    model = keras.Sequential([keras.Input((T, 4)), keras.layers.Dense(C), CRF([[0, 1]]), Viterbi()])
    assert model.output_shape == (None, T) and model.predict(normal(2, T, 4), verbose=0).shape == (2, T)
    twin = keras.models.clone_model(model)
    assert twin.layers[1].forbidden == [[0, 1]]
