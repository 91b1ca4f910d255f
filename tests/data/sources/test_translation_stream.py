import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.translation_stream import TranslationStream
from keras_transformers.data.sources.translations import encode_translations
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:\\d+ of \\d+")

tf = pytest.importorskip("tensorflow")

WORDS = ["the", "cat", "sat", "on", "a", "dog", "that", "danced"]
SOURCES = [" ".join(WORDS[(i + j) % 8] for j in range(1 + i % 11)) for i in range(300)]
TARGETS = [source.upper()[: 3 + i % 20] for i, source in enumerate(SOURCES)]
SOURCES[7] = SOURCES[200] = " \u00a0\u2028"
TARGETS[41] = ""
LENGTH = 12


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SOURCES, vocabulary_size=60)


@pytest.fixture(scope="module")
def encode(tokenizer):
    """The tokenizer inside of tf.data; a stand-in for the compiled text graph, which takes long to trace."""

    def of_text(text):
        row = tokenizer.encode([text.decode()], max_length=LENGTH)[0]
        return row.ids, row.truncated

    def lines(texts):
        rows = [of_text(text) for text in texts.numpy()]
        return tf.ragged.constant([ids for ids, _ in rows], dtype="int32").to_tensor(), [cut for _, cut in rows]

    def encode(texts):
        ids, cut = tf.py_function(lines, [texts], ["int32", "bool"])
        return {"token_ids": ids, "padding_mask": ids != tokenizer.pad_id, "truncated": cut}

    return encode


def make(encode, lines=(SOURCES, TARGETS), buffer_size=64, **options):
    texts = tf.data.Dataset.from_tensor_slices(lines)
    options = options if "batch_size" in options else {"batch_tokens": 96, **options}
    source = TranslationStream(texts, encode, encode, LENGTH, buffer_size)
    return batches(source, Translation(60, start_id=2), max_length=LENGTH, **options)


def rows(elements):
    """Every (source, target) as often as it occurs."""
    return sorted(
        (source[mask > 0].tolist(), target[target >= 0].tolist())
        for x, y, *_ in elements
        for source, mask, target in zip(x["encoder_token_ids"], x["encoder_padding_mask"], y, strict=True)
    )


def seen(dataset):
    with pytest.warns(UserWarning, match="blank side|cut to"):
        return [[{k: v.numpy() for k, v in x.items()}, *(part.numpy() for part in rest)] for x, *rest in dataset]


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"batch_size": 8}, {"shuffle": False}])
def test_the_pairs_are_those_of_lists(encode, tokenizer, options):
    with pytest.warns(UserWarning, match="3 of 300 pairs"):
        pairs = encode_translations(SOURCES, TARGETS, tokenizer, tokenizer, LENGTH)
    expected = sorted(
        (source.tolist(), target.tolist())
        for source, target in zip(
            np.split(pairs.sources.tokens(), np.cumsum(pairs.sources.lengths)[:-1]),
            np.split(pairs.targets.tokens(), np.cumsum(pairs.targets.lengths)[:-1]),
            strict=True,
        )
    )
    dataset = make(encode, **options)
    first, second = seen(dataset), seen(dataset)
    assert rows(first) == rows(second) == expected
    same = all(np.array_equal(one[1], other[1]) for one, other in zip(first, second, strict=True))
    assert same == (options == {"shuffle": False})
    assert all(max(np.size(x["encoder_token_ids"]), y.size) <= 96 for x, y in first) or "batch_size" in options


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"accumulation_steps": 3}, {"batch_size": 8}])
def test_skipping_equals_going_on(encode, options):
    whole, resumed = make(encode, **options), make(encode, **options)
    seen(whole)
    expected = seen(whole)
    resumed.position.epoch, resumed.position.batch = 1, 17
    got = seen(resumed)
    assert len(expected) % options.get("accumulation_steps", 1) == 0
    assert len(got) == len(expected) - 17 > 0
    for one, other in zip(got, expected[17:], strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.integration
def test_it_reads_no_further_than_its_buffer(encode):
    read = []

    def endless():
        while True:
            read.append(1)
            yield "the cat sat", "the dog"

    spec = tf.TensorSpec((), "string")
    texts = tf.data.Dataset.from_generator(endless, output_signature=(spec, spec))
    source = TranslationStream(texts, encode, encode, LENGTH, buffer_size=64)
    dataset = batches(source, Translation(60, start_id=2), batch_tokens=96, max_length=LENGTH)
    assert len(list(dataset.take(8))) == 8
    assert len(read) < 2000


def test_errors(encode):
    for lines in (["a"], (["a"], [1]), (["a"], ["b"], ["c"])):
        with pytest.raises(ValueError, match=r"expected \(source, target\)"):
            TranslationStream(tf.data.Dataset.from_tensor_slices(lines), encode, encode, LENGTH)
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="empty data set"):
        make(encode, ([""], ["a"]))
