from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.data.objectives.token_replacement import ReplacedTokens
from keras_transformers.data.sources.rows import Rows

SPECIAL = 5  # ids below are special


@pytest.fixture
def batch(tokenizer, id_rows):
    """Original ids (B, T), the inputs of 400 rows and their labels."""
    rows = Rows.of(id_rows(400, longest=64))
    inputs, labels = ReplacedTokens(tokenizer)(rows, 64, np.random.default_rng(0))
    return rows.padded(64, 0)["token_ids"], inputs, labels


def test_labels_tell_which_tokens_are_others(batch):
    original, inputs, labels = batch
    ordinary = original >= SPECIAL
    assert (labels[~ordinary] == -1).all()
    assert ((inputs["token_ids"] != original) == (labels == 1)).all()
    assert set(labels[ordinary].tolist()) == {0, 1}
    assert (inputs["token_ids"][labels == 1] >= SPECIAL).all()
    assert inputs.keys() == {"token_ids", "padding_mask"} | (inputs.keys() & {"segment_ids"})


def test_a_seventh_of_the_tokens_is_replaced(batch):
    """By random ones, of which some are the original."""
    _, _, labels = batch
    share = (labels == 1).sum() / (labels >= 0).sum()
    assert 0.13 < share <= 0.16
