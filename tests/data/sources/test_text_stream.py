import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.sources.text_stream import Stream

tf = pytest.importorskip("tensorflow")


def encode(texts, pairs=None):
    """Letters as ids; a stand-in for the compiled text graph."""
    both = texts if pairs is None else tf.strings.join([texts, pairs])
    ids = tf.ragged.map_flat_values(lambda v: v % 100, tf.strings.unicode_decode(both, "UTF-8"))
    mask = tf.sequence_mask(ids.row_lengths())
    return {"token_ids": ids.to_tensor(), "segment_ids": tf.zeros_like(ids.to_tensor()), "padding_mask": mask}


def texts(count):
    return ["abcdefghijklmnopqrstuvwxyz"[: 3 + i % 20] + str(i) for i in range(count)]


def seen(dataset):
    return [keras.tree.map_structure(np.asarray, element) for element in dataset]


def rows_of(elements):
    return sorted(tuple(row[row > 0].tolist()) for x, *_ in elements for row in x["token_ids"])


@pytest.fixture
def make(tokenizer):
    def dataset(count=100, buffer_size=32, **options):
        stream = Stream(tf.data.Dataset.from_tensor_slices(texts(count)), encode, buffer_size)
        return batches(stream, MaskedLM(tokenizer, rate=0.5), 8, max_length=64, **options)

    return dataset


@pytest.mark.integration
def test_every_text_once_an_epoch():
    data = tf.data.Dataset.from_tensor_slices(texts(100))
    dataset = batches(Stream(data, encode, 32), Classification(2), 8, max_length=64)
    ids = encode(tf.constant(texts(100)))["token_ids"].numpy()
    for _ in range(2):
        assert rows_of(seen(dataset)) == sorted(tuple(row[row > 0].tolist()) for row in ids)


@pytest.mark.integration
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("skip", [3, 4, 12])
def test_skipping_equals_going_on(make, skip, steps):
    whole, resumed = make(accumulation_steps=steps), make(accumulation_steps=steps)
    seen(whole)
    expected = seen(whole)[skip:]
    resumed.position.epoch, resumed.position.batch = 1, skip
    got = seen(resumed)
    assert len(got) == len(expected) > 0
    for one, other in zip(got, expected, strict=True):
        keras.tree.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.integration
def test_skipped_buffers_are_not_encoded(tokenizer):
    calls = []

    def counted(texts, pairs):
        tf.py_function(lambda n: calls.append(int(n)), [tf.shape(texts)[0]], [])
        return encode(texts, pairs)

    stream = Stream(tf.data.Dataset.from_tensor_slices(texts(100)), counted, 32)
    dataset = batches(stream, MaskedLM(tokenizer), 8, max_length=64)
    calls.clear()
    dataset.position.batch = 9
    assert len(seen(dataset)) == 4
    assert calls == [32, 4]


@pytest.mark.integration
def test_epochs_differ(make):
    dataset = make()
    one, two = seen(dataset), seen(dataset)
    assert any(not np.array_equal(a[0]["token_ids"], b[0]["token_ids"]) for a, b in zip(one, two, strict=True))


def test_buffers_are_masked_differently(tokenizer):
    same = tf.data.Dataset.from_tensors("a text that is always the same").repeat(64)
    dataset = batches(Stream(same, encode, 32), MaskedLM(tokenizer), 8, max_length=64)
    positions = [x["mask_positions"] for x, _ in seen(dataset)]
    assert len(np.unique([p.tobytes() for p in positions])) == len(positions) == 8


@pytest.mark.integration
def test_labels_and_pairs():
    lines = texts(20)
    data = tf.data.Dataset.from_tensor_slices((lines, ["xyz"] * 20, [len(line) % 2 for line in lines]))
    for x, y in seen(batches(Stream(data, encode), Classification(2), 8, max_length=64)):
        assert ((x["padding_mask"].sum(axis=1) - 3) % 2 == y).all()
        assert y.dtype == np.int32
    pairs = tf.data.Dataset.from_tensor_slices((lines, ["xyz"] * 20))
    unlabelled = batches(Stream(pairs, encode), Classification(2), 8, max_length=64)
    assert sum(len(x["token_ids"]) for (x,) in seen(unlabelled)) == 20


def test_errors(tokenizer):
    strings = tf.data.Dataset.from_tensor_slices(["abc"])
    with pytest.raises(ValueError, match="empty data set"):
        batches(Stream(strings.take(0), encode), MaskedLM(tokenizer), 8, max_length=64)
    with pytest.raises(ValueError, match="unbatch"):
        Stream(strings.batch(2), encode)
    with pytest.raises(ValueError, match="expected a scalar string"):
        Stream(tf.data.Dataset.range(3), encode)
    labelled = tf.data.Dataset.from_tensor_slices((["abc", "de"], [0, 5]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="label 5 in row 1"):
        list(batches(Stream(labelled, encode), Classification(2), 8, max_length=64))


def test_other_backends_cannot_stream(monkeypatch, tokenizer):
    stream = Stream(tf.data.Dataset.from_tensor_slices(["abc"]), encode)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="needs the TensorFlow backend"):
        batches(stream, MaskedLM(tokenizer), 8, max_length=64)


def test_segments_are_those_of_the_encoder():
    def two_segments(texts, pairs):
        arrays = encode(texts, pairs)
        return arrays | {"segment_ids": arrays["token_ids"] % 2}

    data = tf.data.Dataset.from_tensor_slices((texts(8), ["xyz"] * 8, [0, 1] * 4))
    ((inputs, _),) = seen(batches(Stream(data, two_segments), Classification(2), 8, max_length=64))
    np.testing.assert_array_equal(inputs["segment_ids"], np.where(inputs["padding_mask"], inputs["token_ids"] % 2, 0))
    assert inputs["segment_ids"].any()
