"""The word of each token in the graph, beside Python: the same on hostile text, for each kind of tokenizer."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from word_tokenizers import CORPUS, KINDS, word_tokenizer

from keras_transformers.tasks.answers.readers import places_of
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.outputs.place_words import PlaceWords
from keras_transformers.text.graph.streams.words_of_text import place_words
from keras_transformers.text.space_splitting import split_at_spaces

PARTS = [
    *"aZé1²,.!_'€京々あっアーｱ。ก๒กะကឡ한\0\x1c\x85\t\n  ", "\u3000", "\xa0", "\u2028", "\u200b", "\u200d",
    "\ufe0f", "\u00ad",
    "\u0301", "\u0316", "น้ำ", "😀", "👩‍👧", "👍🏽", "🇳🇴", "1️⃣", "हिन्दी", "Oslo", " Paris", "北京", "東京",
    "<mask>", "</s>", "▁", "Ġ", "ﬁ",
    "\u0600", "\ufffd", "\U000e0067", "\U0010ffff",
]  # fmt: skip


def hostile(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    texts = ["".join(chance.choices(PARTS, k=chance.randrange(14))) for _ in range(count)]
    return [*texts, *CORPUS[:7], "", " ", "\u3000", " a", "a ", "x" * 3_000, "京" * 500]


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_graph_and_python_place_the_same_words(kind):
    tokenizer = split_at_spaces(word_tokenizer(kind))
    graph, texts = compile_text(tokenizer.to_json(), pad_id=1), hostile(len(kind), 300)
    for max_length in (4, 64):
        encoded = tokenizer.encode(texts, max_length=max_length)
        rows = graph.encode(tf.constant(texts), max_length=max_length, with_offsets=True)
        found = PlaceWords()(tf.constant(texts), rows["offsets"], rows["word_ids"])
        places = places_of(encoded, max(len(row.ids) for row in encoded))
        expected = place_words(texts, places["offsets"], places["word_ids"])
        for name in ("word_ids", "offsets"):
            different = np.nonzero((found[name].numpy() != expected[name]).reshape(len(texts), -1).any(1))[0]
            assert not different.size, [texts[row] for row in different[:5]]
        for text, spans in zip(texts, expected["offsets"].tolist(), strict=True):
            for start, end in spans:
                assert text[start:end] == text[start:end].strip(), (text, start, end)


def test_no_texts_and_bytes_that_are_not_text():
    empty = PlaceWords()(tf.constant([], tf.string), tf.zeros((0, 1, 2), tf.int32), tf.zeros((0, 1), tf.int32))
    assert empty["word_ids"].shape == (0, 1) and empty["offsets"].shape == (0, 1, 2)
    found = PlaceWords()(tf.constant([b"\xff a"]), tf.constant([[[0, 1], [1, 3]]]), tf.constant([[0, 1]]))
    assert found["offsets"].numpy().tolist() == [[[0, 1], [2, 3]]]


@pytest.mark.integration
def test_a_saved_model_needs_no_state():
    spec = tf.TensorSpec([None], tf.string)

    @tf.function(
        input_signature=[spec, tf.TensorSpec([None, None, 2], tf.int32), tf.TensorSpec([None, None], tf.int32)]
    )
    def place(texts, offsets, words):
        return PlaceWords()(texts, offsets, words)

    found = place(tf.constant(["a 京"]), tf.constant([[[0, 1], [1, 3]]]), tf.constant([[0, 0]]))
    assert found["offsets"].numpy().tolist() == [[[0, 1], [2, 3]]]
