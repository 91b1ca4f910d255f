"""A weight for each text: obeyed by the loss, with accumulation and other weights, or refused."""

from __future__ import annotations

import every_task
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from columns import Series
from tiny import EAGER, LABELS, NUMBERS, TEXTS

from keras_transformers.tasks.contract.kind import find_kind

WEIGHTS = np.random.default_rng(0).uniform(0.0, 3.0, len(TEXTS))
TAKING = [name for name in every_task.USES if find_kind(name).takes_weights]
MAKERS = {name: (lambda name=name: every_task.make(name), every_task.USES[name].learns) for name in TAKING}
SIX = {"texts": TEXTS[:4], "pairs": TEXTS[4:8]}
MAKERS |= {
    "decoder": (lambda: tiny.decoder_classifier(lm_weight=0.5), {"texts": TEXTS[:4], "labels": LABELS[:4]}),
    "outputs": (lambda: tiny.classifier(outputs=["hidden_states"]), {"texts": TEXTS[:4], "labels": LABELS[:4]}),
    "multi_label": (lambda: tiny.classifier(problem="multi_label"), {"texts": TEXTS[:4], "labels": [[0, 1]] * 4}),
    "regression": (
        lambda: tiny.classifier(["score"], problem="regression"),
        {"texts": TEXTS[:4], "labels": [0.1, 0.5, 0.7, 2.0]},
    ),
    "cosine": (lambda: embedder(loss="cosine"), SIX | {"labels": [0.1, 0.5, 0.7, 0.2]}),
    "triplet": (lambda: embedder(loss="triplet"), SIX | {"pairs": [TEXTS[8:10]] * 4}),
    "vectors": (lambda: embedder(loss="regression"), {"texts": TEXTS[:4], "labels": np.ones((4, 16))}),
    "listwise": (
        lambda: every_task.Task("ranking", tiny.config(), tiny.tokenizer(), loss="listwise"),
        every_task.USES["multiple_choice"].learns,
    ),
}


def embedder(**options):
    keras.utils.set_random_seed(0)
    return every_task.Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **options)


def loss(task, weights, **learns):
    (element,) = task.dataset(**learns, sample_weight=weights, batch_size=len(learns["texts"]))
    x, y, w = keras.utils.unpack_x_y_sample_weight(element)
    return float(task.model.compute_loss(x, y, task.model(x), w))


@pytest.mark.integration
def test_the_loss_is_that_of_the_formula():
    """The sum of each text's weight times its cross entropy, by the number of texts."""
    task = tiny.classifier()
    outputs, labels = tiny.outputs(task, task.dataset(TEXTS, LABELS, shuffle=False))
    chosen = tiny.softmax(outputs["logits"])[np.arange(len(TEXTS)), np.array(labels)]
    expected = -(WEIGHTS * np.log(chosen)).sum() / len(TEXTS)
    assert loss(task, WEIGHTS, texts=TEXTS, labels=LABELS) == pytest.approx(expected, rel=1e-5)
    logged = task.model.evaluate(task.dataset(TEXTS, LABELS, sample_weight=WEIGHTS), return_dict=True, verbose=0)
    assert logged["loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("name", MAKERS)
def test_each_text_counts_as_much_as_its_weight(name):
    make, learns = MAKERS[name]
    task = make()
    whole, weights = loss(task, None, **learns), np.array([0.5, 0.0, 2.0, 3.0])
    parts = [loss(task, row, **learns) for row in np.eye(4)]
    assert whole == pytest.approx(sum(parts), rel=1e-4)
    assert loss(task, weights, **learns) == pytest.approx(weights @ parts, rel=1e-4)
    assert min(parts) > 0


@pytest.mark.integration
def test_accumulated_batches_take_the_step_of_one_large_batch():
    texts, labels, weights = TEXTS[:12], LABELS[:12], np.where(np.arange(12) % 5, WEIGHTS[:12], 0.0)

    def run(labels=labels, batch_size=12, sample_weight=weights, **settings):
        task = tiny.classifier(outputs=settings.pop("outputs", ()))
        settings |= {"sample_weight": sample_weight, "class_weight": {"good": 2.0}, "batch_size": batch_size, **EAGER}
        task.fit(texts, labels, epochs=1, learning_rate=1e-3, warmup=0, verbose=0, **settings)
        return np.concatenate([array.ravel() for array in tiny.weights(task)])

    whole = run()
    for settings in ({"batch_size": 4, "accumulation_steps": 3}, {"outputs": ["hidden_states"]}):
        np.testing.assert_allclose(whole, run(**settings), atol=1e-5)
    assert np.abs(whole - run(sample_weight=None)).max() > 1e-4
    others = [label if weight else "good" for label, weight in zip(labels, weights, strict=True)]
    assert others != list(labels)
    np.testing.assert_allclose(whole, run(others), atol=1e-6)  # what counts nothing teaches nothing


@pytest.mark.integration
def test_weights_may_be_a_column():
    task = tiny.classifier()
    for weights in (list(WEIGHTS), Series(WEIGHTS), WEIGHTS.astype("float32"), iter(WEIGHTS), np.arange(24)):
        ((_, _, found),) = task.dataset(TEXTS, LABELS, sample_weight=weights, shuffle=False)
        assert found.shape == (24,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 23, "23 weights for 24 texts"),
        ([1.0] * 23 + [-1.0], "numbers from 0 on, one per text: received -1.0 in row 23"),
        ([1.0, float("nan")] * 12, "received nan in row 1"),
        (["1", "heavy"] * 12, "received 'heavy' in row 1"),
        (np.ones((24, 2)), r"an array of shape \(24, 2\)"),
        (2.0, "received '2.0'"),
        ({0: 1.0}, "received '{0: 1.0}'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_weight(weights, message):
    task = tiny.classifier()
    before = task.model.optimizer
    with pytest.raises(ValueError, match=message):
        task.fit(TEXTS, NUMBERS, sample_weight=weights, epochs=1)
    assert task.model.optimizer is before


@pytest.mark.integration(quick=["causal_lm"])
@pytest.mark.parametrize("name", [name for name in every_task.USES if name not in TAKING])
def test_tasks_whose_rows_are_no_texts(name):
    with pytest.raises(ValueError, match=f"received some for {name}, whose rows are no texts. Leave it out"):
        every_task.make(name).fit(**every_task.USES[name].learns, sample_weight=[1.0] * 4)


@pytest.mark.integration
def test_a_stream_has_none():
    stream = tf.data.Dataset.from_tensor_slices((list(TEXTS), list(LABELS)))
    with pytest.raises(ValueError, match="received some for a stream"):
        tiny.classifier().dataset(stream, sample_weight=WEIGHTS)
