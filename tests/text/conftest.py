"""A tokenizer of words and their pieces, which tests of text share."""

from __future__ import annotations

import pytest
from cats import CORPUS

from keras_transformers.text.tokenizer import Tokenizer


@pytest.fixture(scope="package")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=90)
