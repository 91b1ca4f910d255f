"""One graph for a tokenizer and a padding, as long as the tokenizer lives."""

from __future__ import annotations

import gc
import weakref

import pytest

from keras_transformers.text.graph.shared import GRAPHS, graph_of
from keras_transformers.text.tokenizer import Tokenizer


@pytest.mark.integration
def test_one_graph_for_each_padding():
    tokenizer = Tokenizer.train(["the cat"], vocabulary_size=40)
    assert graph_of(tokenizer, 0) is graph_of(tokenizer, 0) is not graph_of(tokenizer, 1)
    assert graph_of(tokenizer, 1).pad_id == 1
    reference = weakref.ref(graph_of(tokenizer, 0))
    assert tokenizer in GRAPHS
    del tokenizer
    gc.collect()
    assert reference() is None
