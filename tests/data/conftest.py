"""A tokenizer and rows that data tests share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

VOCABULARY = 100


@pytest.fixture(scope="session")
def tokenizer():
    """The facts that objectives read: ids 0-4 are special, ids from 60 continue a word."""
    return SimpleNamespace(
        vocabulary_size=VOCABULARY,
        pad_id=0,
        unk_id=1,
        cls_id=2,
        sep_id=3,
        mask_id=4,
        special_ids=(0, 1, 2, 3, 4),
        is_continuation=np.arange(VOCABULARY) >= 60,
    )


@pytest.fixture
def id_rows():
    """[CLS] ordinary ids [SEP] rows of random lengths: `id_rows(count, longest)`."""

    def make(count: int, longest: int = 40, seed: int = 0) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        return [[2, *rng.integers(5, VOCABULARY, rng.integers(1, longest - 1)).tolist(), 3] for _ in range(count)]

    return make
