"""`Batches`: a `tf.data.Dataset` like any other, that knows its place and says who made it forget."""

import gc
import warnings
import weakref

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.batching import Position
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.batches.tf_batches import Batches, lost_by
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.data.sources.text_stream import Stream
from keras_transformers.training.resuming.resume import Resume
from keras_transformers.utils.keras_private import input_datasets

tf = pytest.importorskip("tensorflow")
NUM_BATCHES = 7


@pytest.fixture
def make(id_rows):
    """`make(**options)`: a data set of 50 rows in 7 batches."""

    def dataset(**options):
        rows = id_rows(50)
        source = Rows.of(rows, labels=[len(row) % 2 for row in rows])
        return batches(source, Classification(2), **{"batch_size": 8, "max_length": 40, **options})

    return dataset


def model():
    names = ("token_ids", "segment_ids", "padding_mask")
    inputs = {name: keras.Input((None,), name=name, dtype="int32") for name in names}
    hidden = keras.layers.Embedding(100, 4)(inputs["token_ids"])
    hidden = hidden + keras.layers.Embedding(2, 4)(inputs["segment_ids"])  # some versions of Keras want each input used
    hidden = keras.layers.GlobalAveragePooling1D()(hidden, mask=inputs["padding_mask"])
    network = keras.Model(inputs, keras.layers.Dense(2)(hidden))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile("sgd", loss, jit_compile=False)
    return network


def elements(dataset) -> list:
    return [tf.nest.map_structure(np.asarray, element) for element in dataset]


def test_it_is_a_data_set(make):
    dataset = make()
    assert isinstance(dataset, tf.data.Dataset)
    assert len(dataset) == int(dataset.cardinality()) == dataset.num_batches == len(elements(dataset)) == NUM_BATCHES
    assert len(elements(dataset.take(2))) == 2
    assert dataset.element_spec[0]["token_ids"].shape.as_list() == [None, None]
    assert dataset.options().autotune.enabled is False
    assert len(list(dataset.as_numpy_iterator())) == NUM_BATCHES
    assert input_datasets(dataset)  # as every subclass of `tf.data.Dataset` must say


def test_position_cannot_be_replaced(make):
    """The pass that is under way would not see it."""
    with pytest.raises(AttributeError):
        make().position = Position(1, 2)


ONE_TO_ONE = {
    "map": lambda d: d.map(lambda x, y: (x, y), num_parallel_calls=2),
    "prefetch": lambda d: d.prefetch(2),
    "with_options": lambda d: d.with_options(tf.data.Options()),
}


@pytest.mark.integration(quick=["prefetch", "with_options"])
@pytest.mark.parametrize("name", ONE_TO_ONE)
def test_what_keeps_batches_one_to_one_keeps_all(make, name):
    whole = make()
    dataset = ONE_TO_ONE[name](whole)
    assert isinstance(dataset, Batches)
    assert dataset.position is whole.position and dataset.identity() == whole.identity()
    assert len(dataset) == dataset.num_batches == NUM_BATCHES
    assert dataset.options().autotune.enabled is False
    expected = elements(make())
    dataset.position.batch = 3
    for got, wanted in zip(elements(dataset), expected[3:], strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, got, wanted)
    assert whole.position == Position(epoch=1)


def test_map_changes_the_batches(make):
    dataset = make().map(lambda x, y: (x, y + 10, tf.ones_like(y)))
    assert len(dataset.element_spec) == 3
    assert all((y >= 10).all() for _, y, _ in elements(dataset))


def any_order() -> tf.data.Options:
    options = tf.data.Options()
    options.deterministic = False
    return options


OTHERS = {
    "take": lambda d: d.take(3),
    "skip": lambda d: d.skip(3),
    "unbatch": lambda d: d.unbatch(),
    "padded_batch": lambda d: d.unbatch().padded_batch(2),
    "filter": lambda d: d.filter(lambda x, y: tf.shape(y)[0] > 7),
    "repeat": lambda d: d.repeat(2),
    "shuffle": lambda d: d.shuffle(4),
    "cache": lambda d: d.cache(),
    "shard": lambda d: d.shard(2, 0),
    "enumerate": lambda d: d.enumerate(),
    "map": lambda d: d.map(lambda x, y: (x, y), num_parallel_calls=2, deterministic=False),
    "options": lambda d: d.with_options(any_order()),
    "concatenate": lambda d: tf.data.Dataset.concatenate(d, d),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_changes_number_or_order_loses_all_and_resume_says_so(make, tmp_path, name):
    dataset = OTHERS[name](make())
    lost = {"padded_batch": "unbatch", "enumerate": "zip", "options": "with_options"}.get(
        name, name
    )  # the first one in a row
    for given in (dataset, dataset.map(lambda *element: element), dataset.prefetch(1).take(1)):
        assert isinstance(given, tf.data.Dataset) and not isinstance(given, Batches)
        assert lost_by(given) == lost
        with pytest.raises(ValueError, match=f"without `position`: `{lost}` lost it.* without `{lost}`: use the opt"):
            Resume(tmp_path, given)


@pytest.mark.integration
def test_resume_takes_what_was_mapped(make, tmp_path):
    def fit():
        dataset, network = make().map(lambda x, y: (x, y)).prefetch(1), model()
        resume = Resume(tmp_path, dataset)
        return network.fit(dataset, epochs=1, verbose=0, shuffle=False, callbacks=[resume]).history

    assert fit() == fit()  # the second one only reads what the first one saved


@pytest.mark.integration
def test_keras_takes_it_as_it_is(make):
    network = model()
    history = network.fit(make(), epochs=2, verbose=0, shuffle=False, validation_data=make(shuffle=False)).history
    assert len(history["val_loss"]) == 2
    assert int(network.optimizer.iterations) == 2 * NUM_BATCHES
    network.fit(make(), epochs=2, steps_per_epoch=3, verbose=0, shuffle=False)
    assert int(network.optimizer.iterations) == 2 * NUM_BATCHES + 6
    network.fit(make(), epochs=1, verbose=0, shuffle=False, class_weight={0: 1.0, 1: 2.0})
    assert int(network.optimizer.iterations) == 3 * NUM_BATCHES + 6
    assert len(network.predict(make(shuffle=False), verbose=0)) == 50
    assert np.isfinite(network.evaluate(make(shuffle=False), verbose=0))


@pytest.mark.integration
def test_keras_knows_the_number_of_steps_of_what_was_mapped(make):
    seen = []
    steps = keras.callbacks.LambdaCallback(on_train_begin=lambda logs: seen.append(steps.params["steps"]))
    model().fit(make().map(lambda x, y: (x, y)), verbose=0, shuffle=False, callbacks=[steps])
    assert seen == [NUM_BATCHES]


@pytest.mark.integration
def test_fit_under_a_strategy(make):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        network = model()
    network.fit(make(), epochs=2, verbose=0, shuffle=False, validation_data=make(shuffle=False))
    assert network.optimizer.iterations.numpy() == 2 * NUM_BATCHES
    network.fit(make(), epochs=1, steps_per_epoch=3, verbose=0, shuffle=False)
    assert network.optimizer.iterations.numpy() == 2 * NUM_BATCHES + 3


def test_a_loop_in_a_tensorflow_function(make):
    @tf.function
    def rows(dataset):
        total = 0
        for _, y in dataset:
            total += tf.shape(y)[0]
        return total

    assert int(rows(make())) == 50


def test_of_a_stream_the_number_is_unknown():
    texts = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e"])

    def encode(strings, pairs):
        ids = tf.strings.length(strings)[:, None]
        return {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0}

    dataset = batches(Stream(texts, encode), Classification(2), 2, max_length=4)
    assert isinstance(dataset, Batches)
    assert dataset.num_batches is None and int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert dataset.prefetch(1).num_batches is None
    assert len(elements(dataset)) == 2


@pytest.mark.integration
def test_rows_are_freed_with_the_last_data_set_made_of_them():
    """TensorFlow keeps what `from_generator` is given for ever: it must not hold the texts of each `fit`."""
    rows = Rows.of([[2, 9, 3], [2, 8, 3]], labels=[1, 0])
    held = weakref.ref(rows)
    dataset = batches(rows, Classification(2), 1, max_length=4).take(1)
    del rows
    gc.collect()
    assert len(elements(dataset)) == 1
    del dataset
    gc.collect()
    assert held() is None


def test_fit_does_not_warn_of_its_own_default():
    rows = Rows.of([[2, 9, 3], [2, 8, 8, 3]], labels=[1, 0])
    model = keras.Sequential(
        [keras.layers.Lambda(lambda inputs: keras.ops.cast(inputs["token_ids"][:, :2], "float32"))]
    )
    model.compile(loss="sparse_categorical_crossentropy")
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        model.fit(batches(rows, Classification(num_classes=2), 1, max_length=4), verbose=0)
    assert not [str(warning.message) for warning in told if "shuffle" in str(warning.message)]
