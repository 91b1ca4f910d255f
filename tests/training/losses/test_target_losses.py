"""Losses: divided by real targets, padding and precision change nothing, they survive saving."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformers.training.losses.target_losses import BinaryCrossEntropy, CrossEntropy, MeanSquaredError

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(3, 4, 5)).astype("float32")
LABELS = np.array([[1, 2, 3, 4], [0, -1, -1, -1], [-1, -1, -1, -1]])


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def negative_log_likelihood():
    rows, columns = np.nonzero(LABELS >= 0)
    return -log_softmax(LOGITS)[rows, columns, LABELS[rows, columns]]


def test_divides_by_real_targets():
    assert float(CrossEntropy()(LABELS, LOGITS)) == pytest.approx(negative_log_likelihood().mean(), rel=1e-6)


def test_padding_changes_nothing():
    labels = np.pad(LABELS, ((0, 2), (0, 7)), constant_values=-100)
    logits = np.pad(LOGITS, ((0, 2), (0, 7), (0, 0)), constant_values=9.0)
    assert float(CrossEntropy(0.1)(labels, logits)) == pytest.approx(float(CrossEntropy(0.1)(LABELS, LOGITS)), rel=1e-6)


def test_label_smoothing_is_that_of_keras():
    keras_loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    labels = LABELS[0]
    expected = keras_loss(np.eye(5, dtype="float32")[labels], LOGITS[0])
    assert float(CrossEntropy(0.1)(labels, LOGITS[0])) == pytest.approx(float(expected), rel=1e-5)


def value_and_gradient(loss, labels, logits):
    """Of one function, compiled, on either backend."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(jax.value_and_grad(lambda x: loss(labels, x)))(logits)
    import tensorflow as tf

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, x)
        return value, tape.gradient(value, x)

    return step(tf.constant(logits))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_that_of_the_formula(smoothing):
    """(softmax - (1 - eps) one-hot - eps / C) / targets; none for padding."""
    targets = (1 - smoothing) * np.eye(5)[LABELS] + smoothing / 5
    softmax = np.exp(log_softmax(LOGITS))
    real = LABELS >= 0
    expected = (softmax - targets) * real[..., None] / real.sum()
    value, gradient = value_and_gradient(CrossEntropy(smoothing), LABELS, LOGITS)
    assert float(value) == pytest.approx(-(targets * log_softmax(LOGITS))[real].sum() / real.sum(), rel=1e-5)
    np.testing.assert_allclose(np.asarray(gradient), expected, atol=1e-7)


@pytest.mark.parity
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_loss_and_gradient_are_those_of_torch(smoothing):
    import torch

    rng = np.random.default_rng(1)
    logits = rng.normal(size=(6, 7, 50)).astype("float32") * 5
    labels = np.where(rng.random((6, 7)) < 0.3, -1, rng.integers(0, 50, (6, 7)))
    variable = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(
        variable.reshape(-1, 50), torch.tensor(labels).reshape(-1), ignore_index=-1, label_smoothing=smoothing
    )
    expected.backward()
    value, gradient = value_and_gradient(CrossEntropy(smoothing), labels, logits)
    assert float(value) == pytest.approx(expected.item(), rel=1e-6)
    np.testing.assert_allclose(np.asarray(gradient), variable.grad.numpy(), atol=1e-7)


def test_smoothing_over_the_others_as_in_fairseq():
    """`label_smoothed_nll_loss` of fairseq: 1 - eps for the target, eps / (C - 1) for each other class."""
    labels, logits, eps = LABELS[0], LOGITS[0].astype("float64"), 0.1
    negative = -log_softmax(logits)
    others = eps / (logits.shape[-1] - 1)
    chosen = negative[np.arange(4), labels]
    expected = ((1 - eps - others) * chosen + others * negative.sum(axis=-1)).mean()
    assert float(CrossEntropy(eps * 5 / 4)(labels, LOGITS[0])) == pytest.approx(expected, rel=1e-6)


def test_infinite_logits_of_forbidden_classes():
    logits = np.array([[0.0, 0.0, -np.inf]], "float32")
    value, gradient = value_and_gradient(CrossEntropy(), np.array([1]), logits)
    assert float(value) == pytest.approx(np.log(2))
    np.testing.assert_allclose(np.asarray(gradient), [[0.5, -0.5, 0.0]], atol=1e-7)


@pytest.mark.parametrize("weights", [np.array([2.0, 3.0, 1.0]), np.array([[2.0] * 4, [3.0] * 4, [1.0] * 4])])
def test_weights_of_examples_and_of_tokens_multiply(weights):
    values = negative_log_likelihood()
    expected = (values * [2, 2, 2, 2, 3]).sum() / len(values)
    assert float(CrossEntropy()(LABELS, LOGITS, weights)) == pytest.approx(expected, rel=1e-6)


def test_labels_with_a_last_axis_of_one():
    labels = np.array([1, 2, -1])
    plain = CrossEntropy()(labels, LOGITS[:, 0], np.array([1.0, 2.0, 3.0]))
    column = CrossEntropy()(labels[:, None], LOGITS[:, 0], np.array([1.0, 2.0, 3.0]))
    assert float(column) == pytest.approx(float(plain))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_computed_with_in_float32(dtype):
    logits = ops.cast(LOGITS, dtype)
    loss = CrossEntropy()(LABELS, logits)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    assert float(loss) == float(CrossEntropy()(LABELS, ops.cast(logits, "float32")))


def test_large_half_precision_logits_stay_finite():
    logits = np.full((2, 3), 6e4, "float16")
    assert float(CrossEntropy(0.1)(np.array([0, 1]), logits)) == pytest.approx(np.log(3), rel=1e-3)


def test_multi_label():
    labels, logits = np.array([[1, 0, -1], [1, -1, -1]]), LOGITS[:2, 0, :3]
    p = 1 / (1 + np.exp(-logits))
    expected = -(np.log(p[0, 0]) + np.log(1 - p[0, 1]) + np.log(p[1, 0])) / 3
    assert float(BinaryCrossEntropy()(labels, logits)) == pytest.approx(expected, rel=1e-6)
    weighted = BinaryCrossEntropy()(labels, logits, np.array([0.0, 3.0]))
    assert float(weighted) == pytest.approx(-np.log(p[1, 0]), rel=1e-6)


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_regression(shape):
    labels = np.array([1.0, np.nan, 3.0], "float32").reshape(shape)
    predictions = np.array([[2.0], [5.0], [0.0]], "float32")
    assert float(MeanSquaredError()(labels, predictions)) == pytest.approx(5.0)
    assert float(MeanSquaredError()(labels, predictions, np.array([2.0, 1.0, 0.0]))) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [(CrossEntropy(0.1), [-1, -1]), (BinaryCrossEntropy(), [[-1.0], [-1.0]]), (MeanSquaredError(), [np.nan, np.nan])],
)
def test_no_target_gives_zero(loss, labels):
    assert float(loss(np.array(labels), np.array([[3.0], [-2.0]], "float32"))) == 0.0


@pytest.mark.parametrize("loss", [CrossEntropy(0.1), BinaryCrossEntropy(), MeanSquaredError()])
def test_config_round_trip(loss):
    copy = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(copy) is type(loss) and vars(copy) == vars(loss)


@pytest.mark.parametrize(
    ("loss", "labels", "logits"),
    [(CrossEntropy(), (3,), (4, 5)), (CrossEntropy(), (3, 2), (3, 5)), (BinaryCrossEntropy(), (3, 2), (3, 5))],
)
def test_misfits_name_both_shapes(loss, labels, logits):
    with pytest.raises(ValueError, match=r"labels of shape .* logits of shape"):
        loss(np.zeros(labels), np.zeros(logits))


def test_label_smoothing_out_of_range():
    with pytest.raises(ValueError, match=r"label_smoothing=1.0; expected .*\[0, 1\)"):
        CrossEntropy(1.0)


def test_class_weight_of_fit_multiplies():
    x, y = LOGITS[:, 0], np.array([0, 1, 2])
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(5, kernel_initializer="identity", trainable=False)])
    model.compile("sgd", CrossEntropy(), jit_compile=False)
    loss = model.fit(x, y, class_weight={0: 2.0, 1: 0.5, 2: 0.0}, verbose=0).history["loss"][0]
    values = -log_softmax(x)[[0, 1], [0, 1]]
    assert loss == pytest.approx((2.0 * values[0] + 0.5 * values[1]) / 3, rel=1e-5)
