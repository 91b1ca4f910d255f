"""Windows of pairs of texts beside those of the library, and what becomes of questions that it refuses."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import pre_tokenizers, processors

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

WORDS = ["the", "cat", "naïve", "日本", "[MASK]", "ﬁ", "x\u0316\u0301", ",", "  ", "danced"]


def byte_pairs(post_processor: processors.PostProcessor) -> Tokenizer:
    library = Library.from_str(Tokenizer.train([" ".join(WORDS)] * 2, 300, model="byte_pair").to_json())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    library.post_processor = post_processor
    return Tokenizer(library)


def unigram() -> Tokenizer:
    tokenizer = Tokenizer.train([" ".join(WORDS)] * 2, 60, model="unigram")
    tokenizer._library.post_processor = processors.TemplateProcessing("$A", "$A </s> $B:1 </s>", [("</s>", 1)])
    return tokenizer


ALL_ZERO = processors.TemplateProcessing("$A", "$A $B:0", [])
TOKENIZERS = {
    "wordpiece": lambda: Tokenizer.train([" ".join(WORDS)] * 2, 60),
    "unigram": unigram,
    "trimmed": lambda: byte_pairs(processors.ByteLevel(trim_offsets=True, add_prefix_space=True)),
    "roberta": lambda: byte_pairs(processors.RobertaProcessing(("a", 5), ("b", 6))),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request) -> Tokenizer:
    return TOKENIZERS[request.param]()


@pytest.fixture(scope="module")
def graph(tokenizer):
    return compile_text(tokenizer.to_json(), pad_id=0)


def texts_of(chance: random.Random, count: int, most: int) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randrange(most))) for _ in range(count)]


def library_windows(tokenizer, library_row, questions, contexts, max_length, stride) -> list[list | None]:
    """[row, *columns] of each window; [row, None] of a pair that the library refuses."""
    windows = []
    for row, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        try:
            found = tokenizer.encode([question], [context], max_length, "only_second", stride=stride)
        except ValueError:  # also where it panics
            windows.append([row, None])
        else:
            windows += [[row, library_row(window)] for window in found]
    return windows


@pytest.mark.integration(quick=["trimmed-48-16"])
@pytest.mark.parametrize(("max_length", "stride"), [(40, 1), (48, 16), (64, 40)])
def test_windows_are_those_of_the_library(tokenizer, graph, graph_rows, library_row, max_length, stride):
    chance = random.Random(max_length)
    questions, contexts = texts_of(chance, 40, 6), texts_of(chance, 40, 90)
    rows = graph.encode_windows(questions, contexts, max_length=max_length, stride=stride)
    ours = [[int(row), window] for row, window in zip(rows["row"], graph_rows(rows, 0), strict=True)]
    theirs = library_windows(tokenizer, library_row, questions, contexts, max_length, stride)

    refused = {row for row, window in theirs if window is None}
    assert set(np.flatnonzero(rows["truncated"])) == refused
    assert [window for window in ours if window[0] not in refused] == [window for window in theirs if window[1]]
    assert rows["row"].dtype == "int32" and len(ours) > len(questions) and len(refused) < 20


@pytest.mark.integration
def test_segments_are_those_of_the_template_in_every_window(graph_rows, library_row):
    """A defect of the library: in all windows but the first, the second text has the segment 1, whatever it should."""
    tokenizer = Tokenizer.train(["a b c d"] * 2, 60)
    tokenizer._library.post_processor = ALL_ZERO
    rows = compile_text(tokenizer.to_json()).encode_windows(["a"], ["b c d"], max_length=3, stride=1)
    theirs = [library_row(row) for row in tokenizer.encode(["a"], ["b c d"], 3, "only_second", stride=1)]
    assert [row[1] for row in graph_rows(rows, 0)] == [[0, 0, 0], [0, 0, 0]]
    assert [row[1] for row in theirs] == [[0, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize("tokenizer", ["wordpiece"], indirect=True)
@pytest.mark.parametrize(
    ("question", "context", "stride", "kept", "windows"),
    [
        (17, 0, 4, 17, [0]),
        (18, 0, 4, 17, [0]),  # no more than the window
        (12, 5, 4, 12, [5]),
        (12, 6, 4, 12, [5, 5]),  # the library's last case: it advances by one
        (13, 5, 4, 12, [5]),
        (13, 20, 4, 6, [11, 11, 6]),
        (99, 20, 4, 6, [11, 11, 6]),
        (99, 2, 4, 15, [2]),
        (99, 20, 0, 8, [9, 9, 2]),
        (5, 20, 15, 1, [16, 16, 16, 16, 16]),
        (0, 20, 16, 0, [17, 17, 17, 17]),
        (1, 20, 16, 0, [17, 17, 17, 17]),
    ],
)
def test_questions_that_fill_the_window_are_cut(graph, question, context, stride, kept, windows):
    texts = tf.constant(["the " * question, "cat"]), tf.constant(["cat " * context, "the"])
    rows = graph.encode_windows(*texts, max_length=20, stride=stride)
    assert rows["truncated"].numpy().tolist() == [kept < question, False]
    of_first = rows["row"].numpy() == 0
    is_context = (rows["segment_ids"].numpy() == 1) & (rows["word_ids"].numpy() >= 0)
    is_question = (rows["segment_ids"].numpy() == 0) & (rows["word_ids"].numpy() >= 0)
    assert is_question.sum(1)[of_first].tolist() == [kept] * len(windows)
    assert is_context.sum(1)[of_first].tolist() == windows


@pytest.mark.parametrize("tokenizer", ["wordpiece"], indirect=True)
def test_a_context_of_many_words(graph):
    context = " ".join(random.Random(0).choices(["the", "cat", "danced"], k=100_000))
    rows = graph.encode_windows(["the cat"], [context], max_length=384, stride=128)
    mask = (rows["segment_ids"].numpy() == 1) & (rows["word_ids"].numpy() >= 0)
    words = rows["word_ids"].numpy()[mask]
    assert len(mask) == 1 + -(-(100_000 - 379) // (379 - 128))
    assert np.unique(words).tolist() == list(range(100_000))
    start, stop = rows["offsets"].numpy()[mask][-1]
    assert context[start:stop] == context.split()[-1] and stop == len(context)


@pytest.mark.integration
@pytest.mark.parametrize("tokenizer", ["wordpiece"], indirect=True)
def test_saved_model_and_no_pairs(graph, tmp_path):
    module = tf.Module()
    module.graph = graph
    spec = tf.TensorSpec([None], tf.string)

    @tf.function(input_signature=[spec, spec], autograph=False)
    def serve(text, text_pair):
        return graph.encode_windows(text, text_pair, max_length=20, stride=4)

    tf.saved_model.save(module, str(tmp_path), {"serving_default": serve})
    loaded = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    texts, pairs = tf.constant(["the cat", "", "naïve"]), tf.constant(["danced, " * 20, "日本", ""])
    expected = graph.encode_windows(texts, pairs, max_length=20, stride=4)
    rows = loaded(text=texts, text_pair=pairs)
    assert rows.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(rows[name], column, name)
    empty = tf.constant([], tf.string)
    assert all(column.shape[0] == 0 for column in loaded(text=empty, text_pair=empty).values())


@pytest.mark.parametrize("tokenizer", ["wordpiece"], indirect=True)
def test_windows_that_cannot_advance(graph):
    with pytest.raises(
        ValueError, match=r"stride=17 with max_length=20 and 3 special tokens: expected 0 <= stride < 17"
    ):
        graph.encode_windows(["a"], ["b"], max_length=20, stride=17)
    with pytest.raises(ValueError, match="max_length=3 leaves no room for text beside 3 special tokens"):
        graph.encode_windows(["a"], ["b"], max_length=3, stride=0)
