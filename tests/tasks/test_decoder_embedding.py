"""Vectors by a decoder, which sees a text from left to right: learned, exported, and of texts without tokens."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import tiny

from keras_transformers.families import llama
from keras_transformers.tasks import Task
from keras_transformers.text.end_token import without_end_tokens

TEXTS = list(tiny.TEXTS)
OF = {name: [text for text, label in zip(TEXTS, tiny.LABELS, strict=True) if label == name] for name in tiny.NAMES}
ALIKE = [OF[label][(7 * row + 3) % 12] for row, label in enumerate(tiny.LABELS)]


def make(tokenizer=None, **options) -> Task:
    """A decoder whose tokenizer ends texts with a token."""
    keras.utils.set_random_seed(0)
    tokenizer = tiny.byte_tokenizer() if tokenizer is None else tokenizer
    config = llama(313, 1, 2, 16, 32, 16, num_kv_heads=1, initializer_range=0.2)
    return Task("sentence_embedding", config, tokenizer, **options)


@pytest.mark.integration
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_it_learns_and_is_exported(tmp_path, pooling):
    task = make(pooling=pooling, prompts={"query": "a "})
    history = task.fit(TEXTS, tiny.LABELS, pairs=ALIKE, **tiny.FIT).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    together = task.embed([*TEXTS, "", "film " * 40])
    alone = np.concatenate([task.embed([text]) for text in (*TEXTS[:3], "", "film " * 40)])
    np.testing.assert_allclose(together[[0, 1, 2, 24, 25]], alone, atol=1e-6)
    task.export(tmp_path / "1")
    answers = bare.ask(tmp_path / "1", {name: {"text": TEXTS[:4]} for name in ("serving_default", "query")})
    np.testing.assert_allclose(answers["serving_default"]["embedding"], together[:4], atol=1e-5)
    np.testing.assert_allclose(answers["query"]["embedding"], task.embed(TEXTS[:4], prompt="query"), atol=1e-5)


@pytest.mark.integration
def test_the_last_token_has_seen_the_text_before_it_alone():
    task = make(pooling="last", outputs=["hidden_states"], normalize=False)
    inputs = next(iter(task.dataset(["a fine film", "a"], shuffle=False)))[0]
    states, lengths = task.model(inputs)["hidden_states"].numpy()[:, 0], inputs["padding_mask"].numpy()[:, 0].sum(-1)
    assert inputs["token_ids"].numpy()[[0, 1], 0, lengths - 1].tolist() == [task.tokenizer.eos_id] * 2
    np.testing.assert_allclose(task.embed(["a fine film", "a"]), states[[0, 1], lengths - 1], atol=1e-5)
    first = states[:, 0]
    np.testing.assert_allclose(first[0], first[1], atol=1e-6)  # the same token, with nothing before it


@pytest.mark.integration
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_an_empty_text_without_special_tokens(pooling):
    tokenizer = without_end_tokens(tiny.byte_tokenizer())
    assert tokenizer.encode([""])[0].ids == []
    assert np.isfinite(make(tokenizer, pooling=pooling).embed(["", "a film"])).all()
