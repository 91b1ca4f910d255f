"""Metaspace before a model that would merge across spaces: only what is split keeps it from that."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models, normalizers, pre_tokenizers, trainers

from keras_transformers.text.graph.compile import compile_text

TEXTS = ["the cat the", " the cat the", " the  cat", "the▁cat", "thecat", ""]


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
def test_merges_across_spaces(split, scheme):
    library = Library(models.BPE())
    library.normalizer = normalizers.Replace(" ", "▁")
    library.train_from_iterator([" the cat the"] * 3, trainers.BpeTrainer(show_progress=False))
    library.normalizer = None
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    rows = library.encode_batch(TEXTS)
    assert any("▁" in token[1:] for row in rows for token in row.tokens) != split
    assert compile_text(library.to_str(), pad_id=0).tokenize(tf.constant(TEXTS)).to_list() == [row.ids for row in rows]
