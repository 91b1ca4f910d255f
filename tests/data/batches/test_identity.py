"""The identity of a data set: equal for equal data, and any other row or setting shows."""

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.batching import Batching
from keras_transformers.data.batches.identity import digest, identity
from keras_transformers.data.batches.pipeline import Position, batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.objectives.sentence_pairs import Pretraining, SentencePairs
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.documents import Documents
from keras_transformers.data.sources.packing import next_token_source
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.translations import Translations

SOURCES = ["rows", "labels", "pairs", "documents", "blocks", "translations"]


@pytest.fixture
def make(tokenizer):
    """A data set of each source: `make(name, rows, **options)`."""

    def dataset(name, rows, **options):
        options = {"batch_size": 8, "max_length": 40, **options}
        ragged, halves = Ragged.of(rows), [rows[:25], rows[25:]]
        sources = {
            "rows": lambda: (Rows.of(rows), MaskedLM(tokenizer)),
            "labels": lambda: (Rows.of([[2, 3]] * 50, labels=[row[1] % 2 for row in rows]), Classification(2)),
            "pairs": lambda: (SentencePairs(Documents.of(halves), tokenizer, 40), Pretraining(tokenizer)),
            "documents": lambda: (next_token_source(ragged, 40, packing="documents"), NextToken(100)),
            "blocks": lambda: (next_token_source(ragged, 40, packing="blocks"), NextToken(100)),
            "translations": lambda: (Translations(Ragged.of([[5, 3]] * 50), ragged), Translation(100, start_id=0)),
        }
        return batches(*sources[name](), **options)

    return dataset


@pytest.mark.parametrize("name", SOURCES)
def test_every_row_counts(make, id_rows, name):
    rows = id_rows(50)
    expected = make(name, rows).identity()
    assert make(name, rows).identity() == expected
    for number in (0, 30, 49):
        other = [list(row) for row in rows]
        other[number][1] += 1 if other[number][1] < 99 else -1
        found = make(name, other).identity()
        assert found["rows"] != expected["rows"], number
        assert {key for key in found if found[key] != expected[key]} <= {"rows", "objective"}


@pytest.mark.integration
def test_every_setting_counts(make, id_rows, tokenizer):
    rows = id_rows(50)
    expected = make("rows", rows).identity()
    others = {
        "seed": 1, "batch_size": 4, "shuffle": False, "max_length": 41, "buckets": (), "accumulation_steps": 2,
        "drop_remainder": True,
    }  # fmt: skip
    for name, value in others.items():
        found = make("rows", rows, **{name: value}).identity()
        assert found[name] == value and found["rows"] == expected["rows"], name
    one, other = (
        identity(Rows.of(rows), objective, Batching(8, 0, True, 40, (), 1, False))
        for objective in (MaskedLM(tokenizer), MaskedLM(tokenizer, rate=0.2))
    )
    assert {key for key in one if one[key] != other[key]} == {"objective"}


def test_asking_takes_no_batch(make, id_rows):
    dataset, other = make("rows", id_rows(50)), make("rows", id_rows(50))
    dataset.identity()
    assert dataset.position == Position()
    keras.tree.map_structure(np.testing.assert_array_equal, next(iter(dataset)), next(iter(other)))


@pytest.mark.integration
def test_of_a_stream_the_first_buffer_counts(tokenizer):
    tf = pytest.importorskip("tensorflow")
    from keras_transformers.data.sources.text_stream import Stream

    def encode(texts, pairs=None):
        ids = tf.ragged.map_flat_values(lambda v: v % 100, tf.strings.unicode_decode(texts, "UTF-8"))
        return {"token_ids": ids.to_tensor(), "padding_mask": tf.sequence_mask(ids.row_lengths())}

    def rows(changed=None):
        texts = [f"text {i}" for i in range(64)]
        if changed is not None:
            texts[changed] = "other"
        stream = Stream(tf.data.Dataset.from_tensor_slices(texts), encode, buffer_size=32)
        return batches(stream, MaskedLM(tokenizer), 8, max_length=64).identity()["rows"]

    assert rows() == rows() == rows(changed=40) != rows(changed=31)


def test_what_a_digest_tells_apart():
    values = [None, 1, 1.0, "1", True, [1], [[1]], [1, 1], {"a": 1}, np.arange(4), np.arange(4).reshape(2, 2)]
    values += [np.arange(4, dtype="int32"), np.array(["a", None], object), Ragged.of([[1], [2]]), Ragged.of([[1, 2]])]
    values += [["a,str b", "c"], ["a", "b,str c"]]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(object()) == digest(object())  # nothing of it can be told but its class
