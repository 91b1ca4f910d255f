"""A model that does not fit into memory is refused before anything is built."""

from __future__ import annotations

import pytest

import zoo
from keras_transformers.utils import memory
from zoo.loading import load as loading

MODEL = "minilm_mini_en"


@pytest.fixture
def made(monkeypatch):
    """The tasks that a load begins to build."""
    made = []
    monkeypatch.setattr(loading, "_make", lambda *arguments, **options: made.append(arguments))
    monkeypatch.setattr(loading, "_to_train", lambda *arguments: None)
    return made


def has(monkeypatch, megabytes: float) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: int(megabytes * 1e6))


def test_it_is_refused_with_the_numbers_and_the_remedy(monkeypatch, made):
    has(monkeypatch, 50)
    needed = r"loading minilm_mini_en \([\d,]+ weights in float32\) takes at least 0\.0756 GB of memory, and 0\.05 GB"
    with pytest.raises(ValueError, match=needed) as error:
        zoo.load(MODEL, "sentence_embedding")
    assert 'Load it with dtype="bfloat16" (0.0378 GB)' in str(error.value) and not made


@pytest.mark.integration
def test_half_of_the_bytes_fit_in_half_precision(monkeypatch, made):
    has(monkeypatch, 50)
    zoo.load(MODEL, "sentence_embedding", dtype="bfloat16")
    assert len(made) == 1
    with pytest.raises(ValueError, match="weights in float32"):  # its weights are not halved
        zoo.load(MODEL, "sentence_embedding", dtype="mixed_bfloat16")
    has(monkeypatch, 10)
    with pytest.raises(ValueError, match=r"weights in float16.* Take a smaller model, or free memory\."):
        zoo.load(MODEL, "sentence_embedding", dtype="float16")


def test_a_model_that_fits_is_loaded(monkeypatch, made):
    has(monkeypatch, 100)
    zoo.load(MODEL, "sentence_embedding")
    assert len(made) == 1
