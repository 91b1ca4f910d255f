import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import BatchSequence, Position, batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.objectives.sentence_pairs import Pretraining, SentencePairs
from keras_transformers.data.sources.documents import Documents
from keras_transformers.data.sources.rows import Rows


def numpy_elements(dataset) -> list:
    return [keras.tree.map_structure(np.asarray, element) for element in dataset]


def assert_equal(elements, others):
    assert len(elements) == len(others)
    for one, other in zip(elements, others, strict=True):
        keras.tree.map_structure(np.testing.assert_array_equal, one, other)


def differ(elements, others) -> bool:
    try:
        assert_equal(elements, others)
    except AssertionError:
        return True
    return False


@pytest.fixture
def make(id_rows, tokenizer):
    """A data set of each objective: `make(name, **options)`."""

    def dataset(name, **options):
        options = {"batch_size": 8, "max_length": 40, **options}
        rows = id_rows(50)
        if name == "pretraining":
            documents = Documents.of([[row[1:-1] for row in rows[:25]], [row[1:-1] for row in rows[25:]]])
            return batches(SentencePairs(documents, tokenizer, 40), Pretraining(tokenizer), **options)
        objective = Classification(2) if name == "classification" else MaskedLM(tokenizer, whole_word=True)
        return batches(Rows.of(rows, labels=[len(row) % 2 for row in rows]), objective, **options)

    return dataset


OBJECTIVES = ["classification", "masked_lm", "pretraining"]


@pytest.mark.integration
@pytest.mark.parametrize("name", OBJECTIVES)
def test_same_seed_same_epochs(make, name):
    one, two = make(name), make(name)
    first, second = numpy_elements(one), numpy_elements(one)
    assert_equal(first, numpy_elements(two))
    assert_equal(second, numpy_elements(two))
    assert differ(first, second)
    assert differ(first, numpy_elements(make(name, seed=1)))
    assert len(first) == len(second) == len(one)
    assert one.position == Position(epoch=2)


@pytest.mark.integration(quick=["1-classification"])
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("steps", [1, 2])
def test_skipping_equals_going_on(make, name, steps):
    whole, resumed = make(name, accumulation_steps=steps), make(name, accumulation_steps=steps)
    expected = [numpy_elements(whole) for _ in range(3)]
    resumed.position.epoch, resumed.position.batch = 1, 3
    assert_equal(numpy_elements(resumed), expected[1][3:])
    assert_equal(numpy_elements(resumed), expected[2])


def test_without_shuffle_every_pass_is_the_same(make):
    dataset = make("masked_lm", shuffle=False)
    assert_equal(numpy_elements(dataset), numpy_elements(dataset))


def test_labels_stay_with_their_rows(make):
    elements = numpy_elements(make("classification"))
    lengths = np.concatenate([x["padding_mask"].sum(axis=1) for x, _ in elements])
    labels = np.concatenate([y for _, y in elements])
    assert len(labels) == 50
    assert (labels == lengths % 2).all()


def test_signature_knows_the_axes_that_never_change(id_rows):
    rows = Rows.of(id_rows(50), labels=np.zeros((50, 3)))
    dataset = batches(rows, Classification(3, "multi_label"), 8, max_length=40, buckets=(), drop_remainder=True)
    assert dataset.element_spec[0]["token_ids"].shape == (8, 40)
    assert dataset.element_spec[1].shape == (8, 3)
    dataset = batches(rows, Classification(3, "multi_label"), 8, max_length=40)
    assert dataset.element_spec[0]["token_ids"].shape.as_list() == [None, None]


def test_autotune_is_off(make):
    assert make("classification").options().autotune.enabled is False


def test_skipped_batches_cost_no_masking(id_rows, tokenizer):
    calls = []

    class Counting(MaskedLM):
        def __call__(self, *arguments):
            calls.append(1)
            return super().__call__(*arguments)

    dataset = batches(Rows.of(id_rows(80)), Counting(tokenizer), 8, max_length=40)
    calls.clear()
    dataset.position.batch = 9
    assert len(numpy_elements(dataset)) == len(calls) == 1


class Lengths(keras.layers.Layer):
    """Counts the real tokens, so that a history shows which rows were seen."""

    def call(self, inputs):
        return keras.ops.cast(keras.ops.sum(inputs, axis=1, keepdims=True), "float32")


def tiny_model():
    names = ("token_ids", "segment_ids", "padding_mask")
    inputs = {name: keras.Input((None,), name=name, dtype="int32") for name in names}
    model = keras.Model(inputs, keras.layers.Dense(2)(Lengths()(inputs["padding_mask"])))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=[])
    return model


class Seen(keras.callbacks.Callback):
    def __init__(self, position=None, start=None):
        super().__init__()
        self.position, self.start, self.batches = position, start, []

    def on_train_begin(self, logs=None):
        if self.start:
            self.position.epoch, self.position.batch = self.start

    def on_epoch_begin(self, epoch, logs=None):
        self.batches.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.batches[-1] += 1


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["dataset", "sequence"])
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_fit_takes_an_epoch_each_and_can_start_in_the_middle(make, id_rows, monkeypatch, kind):
    if kind == "sequence":
        monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    dataset, seen = make("classification"), Seen()
    monkeypatch.undo()
    assert isinstance(dataset, BatchSequence) == (kind == "sequence")
    tiny_model().fit(dataset, epochs=3, verbose=0, callbacks=[seen])
    assert seen.batches == [7, 7, 7]
    assert dataset.position == Position(epoch=3)
    seen = Seen(dataset.position, start=(5, 4))
    tiny_model().fit(dataset, epochs=2, verbose=0, callbacks=[seen])
    assert seen.batches == [3, 7]
    assert dataset.position == Position(epoch=7)


@pytest.mark.integration
def test_fit_under_a_strategy(make):
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = tiny_model()
    seen = Seen()
    model.fit(make("classification"), epochs=2, verbose=0, callbacks=[seen], validation_data=make("classification"))
    assert seen.batches == [7, 7]


JAX = """
import json, sys
sys.modules["tensorflow"] = None
import numpy as np
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.sources.rows import Rows
from types import SimpleNamespace
rows, facts = json.load(sys.stdin)
dataset = batches(Rows.of(rows), MaskedLM(SimpleNamespace(**facts)), 8, max_length=40, accumulation_steps=2, seed=7)
seen = [element for _ in range(2) for element in dataset]
print(json.dumps([[[x[k].tolist() for k in sorted(x)], y.tolist(), w.tolist()] for x, y, w in seen]))
"""


@pytest.mark.slow
def test_jax_without_tensorflow_makes_the_same_dicts(id_rows, tokenizer):
    rows = id_rows(50)
    facts = {name: value for name, value in vars(tokenizer).items() if name != "is_continuation"}
    dataset = batches(Rows.of(rows), MaskedLM(tokenizer), 8, max_length=40, accumulation_steps=2, seed=7)
    here = [(x, y, w) for _ in range(2) for x, y, w in numpy_elements(dataset)]
    answer = subprocess.run(
        [sys.executable, "-c", JAX],
        input=json.dumps([rows, facts]),
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout.splitlines()[-1]) == [
        [[x[k].tolist() for k in sorted(x)], y.tolist(), w.tolist()] for x, y, w in here
    ]


def test_too_few_rows():
    with pytest.raises(ValueError, match="2 rows: not enough for one step of 3 batches of 8"):
        batches(Rows.of([[1], [2]]), Classification(2), 8, max_length=4, accumulation_steps=3)
    with pytest.raises(ValueError, match="2 rows"):
        batches(Rows.of([[1], [2]]), Classification(2), 8, max_length=4, drop_remainder=True)


def test_wrong_labels_are_found_at_once():
    with pytest.raises(ValueError, match="label 2 in row 1"):
        batches(Rows.of([[1], [2]], labels=[0, 2]), Classification(2), 8, max_length=4)
