"""Small tokenizers and the one comparison that most graph tests make: the graph's rows == the library's rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

from keras_transformers.text.encoded import Encoded
from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = [
    "The cat danced on the table, and the dog sat under it; nobody was unhappy.",
    "Über die Brücke tanzte die Katze, naïve façade, crème brûlée.",
    "Ελλάδα και ελληνική γλώσσα. Привет, мир! Как дела?",
    "中文字符 日本語 の テキスト 한국어 텍스트 שלום עולם مرحبا بالعالم 😀 a\u0316\u0301b",
]


@pytest.fixture(scope="session", params=[True, False], ids=["uncased", "cased"])
def tokenizer(request) -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=230, lowercase=request.param)


@pytest.fixture(scope="session")
def graph(tokenizer: Tokenizer) -> TextGraph:
    return compile_text(tokenizer.to_json())


@pytest.fixture(scope="session")
def bert(data_dir) -> Tokenizer:
    return Tokenizer.from_vocab(data_dir / "bert_vocab" / "vocab.txt")


@pytest.fixture(scope="session")
def bert_graph(bert: Tokenizer) -> TextGraph:
    return compile_text(bert.to_json())


@pytest.fixture(scope="session")
def gpt2(data_dir) -> Tokenizer:
    return Tokenizer.from_folder(data_dir / "gpt2_vocab")


@pytest.fixture(scope="session")
def gpt2_graph(gpt2: Tokenizer) -> TextGraph:
    return compile_text(gpt2.to_json(), pad_id=gpt2.eos_id)


@pytest.fixture(scope="session")
def mismatches() -> Callable[..., list]:
    """A function: the texts (str or bytes) whose rows differ between graph and library, with both rows.

    Rows are ids, segment ids, offsets, word ids and sequence ids. Without offsets the graph must give the same ids.
    """

    def compare(tokenizer: Tokenizer, graph: TextGraph, texts: list, pairs: list | None = None, max_length=64) -> list:
        inputs = [None if column is None else tf.constant(column, tf.string) for column in (texts, pairs)]
        rows = graph.encode(*inputs, max_length=max_length, with_offsets=True)
        for name, column in graph.encode(*inputs, max_length=max_length).items():
            assert (rows[name].numpy() == column.numpy()).all(), name

        expected = tokenizer.encode(_decoded(texts), pairs and _decoded(pairs), max_length=max_length)
        assert rows["truncated"].numpy().tolist() == [row.truncated for row in expected]
        columns = texts, pairs or texts, _graph_rows(rows, graph.pad_id), map(_library_row, expected)
        return [row for row in zip(*columns, strict=True) if row[2] != row[3]]

    return compare


@pytest.fixture(scope="session")
def graph_rows() -> Callable[..., list]:
    return _graph_rows


@pytest.fixture(scope="session")
def library_row() -> Callable[..., list]:
    return _library_row


def _graph_rows(rows: dict[str, tf.Tensor], pad_id: int) -> list[list]:
    """[ids, segment ids, offsets, word ids, sequence ids] of each row, without the padding."""
    padding = {"token_ids": pad_id, "segment_ids": 0, "offsets": 0, "word_ids": -1, "sequence_ids": -1}
    mask, columns = rows["padding_mask"].numpy(), [rows[name].numpy() for name in padding]
    for column, value in zip(columns, padding.values(), strict=True):
        assert (column[~mask] == value).all() and column.dtype == "int32"
    return [[column[i][mask[i]].tolist() for column in columns] for i in range(len(mask))]


def _library_row(row: Encoded) -> list:
    words = [-1 if word is None else word for word in row.word_ids]
    sequences = [-1 if sequence is None else sequence for sequence in row.sequence_ids]
    return [row.ids, row.segment_ids, [list(span) for span in row.offsets], words, sequences]


def _decoded(texts: list[str | bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts]
