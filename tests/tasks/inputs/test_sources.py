from __future__ import annotations

import pytest
import tensorflow as tf
import tiny

from keras_transformers.data.sources.rows import Rows
from keras_transformers.data.sources.text_stream import Stream
from keras_transformers.tasks.inputs.sources import check_labelled, divided, is_ready, is_stream


@pytest.mark.integration
def test_texts_in_memory_and_streams():
    task = tiny.classifier()
    rows = task.parts.source(["a fine film", "a"], ["good", "bad"], None)
    assert isinstance(rows, Rows) and rows.labels.tolist() == [1, 0] and rows.num_rows == 2
    stream = task.parts.source(tf.data.Dataset.from_tensor_slices((["a"], ["good"])), None, None, buffer_size=7)
    assert isinstance(stream, Stream) and stream.buffer_size == 7
    assert stream.sample().labels.tolist() == [1]


@pytest.mark.integration
@pytest.mark.parametrize("num_segments", [0, 2])
def test_segments_where_the_model_has_them(num_segments):
    from keras_transformers.tasks import Task

    task = Task("masked_lm", tiny.config(num_segments=num_segments), tiny.tokenizer())
    rows = task.parts.source(["a fine film"], None, None)
    stream = task.parts.source(tf.data.Dataset.from_tensors("a fine film"), None, None).sample()
    assert (rows.segment_ids is None) == (stream.segment_ids is None) == (not num_segments)
    assert rows.token_ids.tokens().tolist() == stream.token_ids.tokens().tolist()


@pytest.mark.integration
def test_labels_that_a_task_does_not_take():
    with pytest.raises(ValueError, match="masked_lm takes no labels"):
        tiny.masked_lm().dataset(["a"], ["b"])
    with pytest.raises(ValueError, match="leave labels and pairs out"):
        tiny.pretraining().dataset(tiny.DOCUMENTS, ["a"])


def test_a_stream_brings_all_along():
    stream = tf.data.Dataset.from_tensors("a")
    assert is_stream(stream, None) and not is_stream(["a"], ["b"])
    for labels, pairs in ((["a"], None), (None, ["a"])):
        with pytest.raises(ValueError, match="zip them"):
            is_stream(stream, labels, pairs)


@pytest.mark.integration
def test_who_needs_labels():
    classifier, masked_lm = tiny.classifier().kind, tiny.masked_lm().kind
    with pytest.raises(ValueError, match="classification needs labels"):
        check_labelled(classifier, ["a"], None)
    check_labelled(classifier, tf.data.Dataset.from_tensors(("a", 1)), None)
    check_labelled(masked_lm, ["a"], None)


def test_what_is_ready_for_the_model():
    rows = {"text": ["a", "b"], "label": [0, 1]}
    stream = tf.data.Dataset.from_tensor_slices(rows)
    for texts in (["a"], ("a", "b"), stream, tf.data.Dataset.from_tensor_slices((["a"],)), "a", None):
        assert not is_ready(texts)
    assert is_ready(stream.batch(2)) and is_ready(tf.data.Dataset.from_tensors((rows, [0, 1])))
    with pytest.raises(ValueError, match="Received a data set of"):
        tiny.classifier().dataset(stream)


def test_settings_go_where_they_belong():
    def source(texts, *, shuffle=True, packing=None):
        """A source of a task."""

    settings = {"shuffle": False, "packing": None, "seed": 1}
    assert divided("task", source, settings) == ({"shuffle": False, "packing": None}, {"shuffle": False, "seed": 1})
    for name in ("nope", "max_length"):
        with pytest.raises(
            ValueError, match=f"dataset has no setting {name}; for task it has accumulation_steps, buck"
        ):
            divided("task", source, {name: 1})
