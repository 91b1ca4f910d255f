"""From logits of tokens to labelled words and entities, beside plain loops and seqeval."""

from __future__ import annotations

import resource

import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from seqeval.metrics.sequence_labeling import get_entities
from tiny import softmax

from keras_transformers.tasks.tokens.label_schemes import TokenLabels, bio_labels
from keras_transformers.tasks.tokens.word_answers import (
    answer_tokens,
    cut_out,
    describe_tokens,
    find_entities,
    label_words,
    number_tokens,
)
from keras_transformers.text.strings import decoded

BIO = TokenLabels(tuple(bio_labels(["x", "y"])))
BIOES = TokenLabels(tuple(bio_labels(["x", "y"], "bioes")))


def arrays(tensors) -> dict[str, np.ndarray]:
    return {name: ops.convert_to_numpy(tensor) for name, tensor in tensors.items()}


def random_tokens(labels: TokenLabels, rows: int = 6, seed: int = 0):
    """Logits, word ids and offsets of texts of words of one to three pieces, between special tokens and padding."""
    random = np.random.default_rng(seed)
    logits = 3 * random.normal(size=(rows, 20, len(labels.names))).astype("float32")
    word_ids, offsets = np.full((rows, 20), -1, np.int32), np.zeros((rows, 20, 2), np.int32)
    for row in range(rows):
        ids = np.repeat(np.arange(8), random.integers(1, 4, 8))[: random.integers(0, 18)]
        ends = np.cumsum(random.integers(1, 4, len(ids)) + 1)
        word_ids[row, 1 : len(ids) + 1] = ids
        offsets[row, 1 : len(ids) + 1] = np.stack([ends - 1, ends], axis=1)
    return logits, word_ids, offsets


def answered(logits, encoded, texts, labels):
    return answer_tokens(number_tokens(logits, encoded, labels), texts, labels)


def words_by_hand(logits, word_ids, offsets):
    """(label, start, end, score) of each word of a row."""
    found = []
    for row, ids, places in zip(logits, word_ids, offsets, strict=True):
        probabilities, words = softmax(row), []
        for number in range(max(ids) + 1):
            (own,) = np.nonzero(ids == number)
            first = probabilities[own[0]]
            words.append((first.argmax(), places[own[0], 0], places[own[-1], 1], first.max()))
        found.append(words)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_words(seed):
    tokens = random_tokens(BIO, seed=seed)
    words, expected = arrays(label_words(*tokens)), words_by_hand(*tokens)
    assert words["real"].sum(axis=1).tolist() == list(map(len, expected))
    for row, of_row in enumerate(expected):
        for name, values in zip(("label", "start", "end", "score"), zip(*of_row, strict=True), strict=False):
            np.testing.assert_allclose(words[name][row, : len(of_row)], values, rtol=1e-5)


@pytest.mark.parametrize("labels", [BIO, BIOES], ids=["bio", "bioes"])
@pytest.mark.parametrize("seed", range(3))
def test_entities_are_those_of_seqeval(labels, seed):
    """On labels that are mostly inconsistent."""
    tokens = random_tokens(labels, rows=20, seed=seed)
    entities = arrays(find_entities(label_words(*tokens), labels))
    for row, words in enumerate(words_by_hand(*tokens)):
        expected = get_entities([labels.names[word[0]] for word in words])
        count = len(expected)
        assert entities["real"][row].sum() == count
        assert [labels.types[number] for number in entities["kind"][row, :count]] == [kind for kind, _, _ in expected]
        assert entities["start"][row, :count].tolist() == [words[first][1] for _, first, _ in expected]
        assert entities["end"][row, :count].tolist() == [words[last][2] for _, _, last in expected]
        means = [np.mean([word[3] for word in words[first : last + 1]]) for _, first, last in expected]
        np.testing.assert_allclose(entities["score"][row, :count], means, rtol=1e-5)


def test_rows_without_words_and_no_rows():
    logits, word_ids, offsets = random_tokens(BIO, rows=2)
    answer = answered(logits, {"word_ids": np.full_like(word_ids, -1), "offsets": offsets}, ["", "a"], BIO)
    assert {tuple(column.shape) for column in answer.values()} == {(2, 1)}
    row = {name: decoded(column.numpy())[0] for name, column in answer.items()}
    assert describe_tokens(row) == {"entities": [], "tokens": []}


@pytest.mark.integration
def test_no_rows_at_all():
    """In a graph, as a server may ask: Keras takes no maximum of nothing outside of one."""
    logits, word_ids, offsets = random_tokens(BIO, rows=1)
    specs = [tf.TensorSpec([None, *array.shape[1:]], array.dtype) for array in (logits, word_ids, offsets)]

    @tf.function(input_signature=[*specs, tf.TensorSpec([None], tf.string)], autograph=False)
    def answer(logits, word_ids, offsets, texts):
        return answered(logits, {"word_ids": word_ids, "offsets": offsets}, texts, BIO)

    none = answer(logits[:0], word_ids[:0], offsets[:0], tf.constant([], tf.string))
    assert {tuple(column.shape) for column in none.values()} == {(0, 1)}


def test_plain_tags_have_no_entities():
    logits, word_ids, offsets = random_tokens(TokenLabels(("NOUN", "VERB")), rows=1, seed=1)
    encoded = {"word_ids": word_ids, "offsets": offsets}
    answer = answered(logits, encoded, ["x" * 99], TokenLabels(("NOUN", "VERB")))
    assert set(answer) == {"token", "token_label", "token_start", "token_end", "token_score"}


def test_parts_of_texts_are_counted_in_code_points():
    """Of bytes that are not UTF-8, too: the tokenizer reads U+FFFD for them."""
    texts = ["naïve 日本語", "😀 smile", ""]
    starts, ends = np.array([[6, 0], [0, 2], [0, 0]]), np.array([[9, 5], [1, 7], [0, 0]])
    expected = [["日本語", "naïve"], ["😀", "smile"], ["", ""]]
    assert decoded(cut_out(tf.constant(texts), starts, ends).numpy()).tolist() == expected
    broken = cut_out(tf.constant([b"a\xff\xe6b c"]), np.array([[1, 3]]), np.array([[3, 4]]))
    assert decoded(broken.numpy()).tolist() == [["\ufffd\ufffd", "b"]]


def test_memory_does_not_hold_the_text_once_for_each_part():
    start = np.arange(2000, dtype=np.int32)[None]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parts = cut_out(tf.constant(["ab" * 500_000]), start, start + 1)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 200e6
    assert parts.numpy()[0, :3].tolist() == [b"a", b"b", b"a"]


def test_parts_of_texts_without_tensorflow(monkeypatch):
    monkeypatch.setattr("keras_transformers.tasks.tokens.word_answers.on_tensorflow", lambda: False)
    parts = cut_out(["naïve 日本語", ""], np.array([[6, 0], [0, 0]]), np.array([[9, 5], [0, 0]]))
    assert parts.tolist() == [["日本語", "naïve"], ["", ""]] and parts.dtype == object
    assert cut_out([], np.zeros((0, 1), int), np.zeros((0, 1), int)).shape == (0, 1)
