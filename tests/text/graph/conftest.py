"""Small tokenizers and the one comparison that all graph tests make: the graph's rows == the library's rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

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
    """A function: the texts (str or bytes) whose rows differ between graph and library, with both rows."""

    def compare(tokenizer: Tokenizer, graph: TextGraph, texts: list, pairs: list | None = None, max_length=64) -> list:
        rows = graph.encode(
            tf.constant(texts, tf.string),
            None if pairs is None else tf.constant(pairs, tf.string),
            max_length=max_length,
        )
        token_ids, segment_ids, mask, truncated = (
            rows[name].numpy() for name in ("token_ids", "segment_ids", "padding_mask", "truncated")
        )
        assert (token_ids[~mask] == graph.pad_id).all() and (segment_ids[~mask] == 0).all()
        expected = tokenizer.encode(_decoded(texts), pairs and _decoded(pairs), max_length=max_length)
        found = []
        for i, row in enumerate(expected):
            ours = (token_ids[i][mask[i]].tolist(), segment_ids[i][mask[i]].tolist(), bool(truncated[i]))
            theirs = (row.ids, row.segment_ids, row.truncated)
            found += [(texts[i], pairs and pairs[i], ours, theirs)] if ours != theirs else []
        return found

    return compare


def _decoded(texts: list[str | bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts]
