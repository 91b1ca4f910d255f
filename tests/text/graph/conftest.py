"""Small tokenizers and the one comparison that most graph tests make: the graph's rows == the library's rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import token_rows

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
    """A function: the texts whose rows differ between graph and library."""
    return token_rows.mismatches


@pytest.fixture(scope="session")
def graph_rows() -> Callable[..., list]:
    return token_rows.graph_rows


@pytest.fixture(scope="session")
def library_row() -> Callable[..., list]:
    return token_rows.library_row
