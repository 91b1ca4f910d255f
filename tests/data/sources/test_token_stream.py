import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.sources.packing import next_token_source
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.token_stream import TokenStream

tf = pytest.importorskip("tensorflow")

END, LENGTH = 1, 16
PACKINGS = [None, "documents", "blocks"]
LINES = ["abcdefghijklmnopqrstuvwxyz"[i % 9 : i % 9 + i % 23] + str(i) * (i % 7 > 0) for i in range(700)]
TARGETS = [line[:3] or "-" for line in LINES]


def tokenize(texts):
    """Letters as ids; a stand-in for the compiled text graph."""
    return tf.strings.unicode_decode(texts, "UTF-8")


def ids(lines):
    return Ragged.of([[ord(letter) for letter in line] for line in lines])


def make(packing, lines=LINES, buffer_size=32, **options):
    stream = TokenStream(
        tf.data.Dataset.from_tensor_slices(lines),
        tokenize,
        LENGTH,
        packing=packing,
        end_id=END,
        buffer_size=buffer_size,
    )
    options = {"batch_size": 4, "buckets": (), **options}
    return batches(stream, NextToken(200), max_length=LENGTH, **options)


def seen(dataset):
    return [keras.tree.map_structure(np.asarray, element) for element in dataset]


def targets(elements):
    """Every (position, token, label), as often as it occurs."""
    columns = [(x["token_ids"][y >= 0], y[y >= 0]) for x, y in elements]
    return sorted(zip(*(np.concatenate(column).tolist() for column in zip(*columns, strict=True)), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("packing", PACKINGS)
def test_the_targets_are_those_of_lists(packing):
    source = next_token_source(ids(LINES), LENGTH, packing=packing, end_id=END)
    in_memory = targets(seen(batches(source, NextToken(200), 4, max_length=LENGTH, buckets=(), shuffle=False)))
    dataset = make(packing)
    first, second = seen(dataset), seen(dataset)
    assert targets(first) == targets(second) == in_memory
    assert {x["token_ids"].tobytes() for x, _ in first} != {x["token_ids"].tobytes() for x, _ in second}
    assert all(x["token_ids"].shape == (4, LENGTH) for x, _ in first[:-1])


@pytest.mark.integration
@pytest.mark.parametrize("buffer_size", [1, 5, 10_000])
def test_blocks_without_shuffle_are_in_order(buffer_size):
    elements = seen(make("blocks", buffer_size=buffer_size, shuffle=False))
    joined = [ord(letter) for line in LINES if line for letter in [*line, chr(END)]]
    labels = np.concatenate([y for _, y in elements])
    assert labels[labels >= 0].tolist() == joined[1:]
    assert len(labels) == -(-(len(joined) - 1) // LENGTH)


@pytest.mark.integration
def test_packed_rows_are_full():
    mask = np.concatenate([x["padding_mask"] for x, _ in seen(make("documents"))])
    assert (mask > 0).mean() > 0.95
    assert mask.max() > 2


@pytest.mark.integration
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("steps", [1, 2])
def test_skipping_equals_going_on(packing, steps):
    whole, resumed = make(packing, accumulation_steps=steps), make(packing, accumulation_steps=steps)
    seen(whole)
    expected = seen(whole)
    for skip in (5, 8, 50):
        resumed.position.epoch, resumed.position.batch = 1, skip
        got = seen(resumed)
        assert len(got) == len(expected) - skip > 0
        for one, other in zip(got, expected[skip:], strict=True):
            keras.tree.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.integration
def test_pairs_are_completions():
    lines = [line or "-" for line in LINES]
    with pytest.warns(UserWarning, match="cut on the left"):
        source = next_token_source(ids(lines), LENGTH, end_id=END, targets=ids(TARGETS))
        in_memory = targets(seen(batches(source, NextToken(200), 4, max_length=LENGTH, shuffle=False)))
        for packing in (None, "documents"):
            assert targets(seen(make(packing, (lines, TARGETS)))) == in_memory


@pytest.mark.integration
@pytest.mark.parametrize("packing", PACKINGS)
def test_it_reads_no_further_than_its_buffer(packing):
    read = []

    def endless():
        while True:
            read.append(1)
            yield "abcdefgh"

    texts = tf.data.Dataset.from_generator(endless, output_signature=tf.TensorSpec((), "string"))
    stream = TokenStream(texts, tokenize, LENGTH, packing=packing, end_id=END, buffer_size=64)
    dataset = batches(stream, NextToken(200), 4, max_length=LENGTH)
    assert len(list(dataset.take(8))) == 8
    assert len(read) < 2000


@pytest.mark.integration
@pytest.mark.parametrize("packing", PACKINGS)
def test_a_short_text_is_a_short_row(packing):
    for dataset in (make(packing, ["", "abc", ""]), make(packing, ["", "abc", ""], shuffle=False)):
        assert targets(seen(dataset)) == [(97, 98), (98, 99), (99, END)]


@pytest.mark.parametrize("packing", PACKINGS)
def test_errors(packing):
    with pytest.raises(ValueError, match="empty data set"):
        make(packing, ["", ""])
    with pytest.raises(ValueError, match="unbatch"):
        TokenStream(tf.data.Dataset.from_tensor_slices(["a"]).batch(2), tokenize, LENGTH, packing=packing)
    with pytest.raises(ValueError, match=r"expected a scalar string, or \(input, target\)"):
        TokenStream(tf.data.Dataset.from_tensor_slices((["a"], [1])), tokenize, LENGTH, packing=packing)


def test_errors_of_packing():
    with pytest.raises(ValueError, match="packing='rows'"):
        make("rows")
    with pytest.raises(ValueError, match="targets with"):
        make("blocks", (LINES, TARGETS))


@pytest.mark.parametrize(("packing", "width"), [("documents", 64), ("blocks", 64), (None, None)])
def test_packed_rows_are_padded_to_max_length(packing, width):
    stream = TokenStream(tf.data.Dataset.from_tensor_slices(LINES[:9]), tokenize, 64, packing=packing)
    dataset = batches(stream, NextToken(200), 4, max_length=64)
    assert dataset.element_spec[0]["token_ids"].shape[1] == width
