"""What is computed without JAX; the whole service stands in tests/tasks/test_jax.py."""

from __future__ import annotations

import numpy as np
from translating import make_sources, seq2seq_lm

from keras_transformers.generation.bucketed_seq2seq import BucketedSeq2SeqService
from keras_transformers.generation.decode import Forced


def test_errors_of_rows_that_cannot_be_answered():
    task = seq2seq_lm()
    service = BucketedSeq2SeqService(task.config, task.model, task.tokenizer, task.tokenizer, 64, Forced())
    sources = [*make_sources(task, 3), "", ""]
    _, about, _ = service._prompts(sources, np.array([5, 63, 64, 5, 64]))
    assert [error[:14] for error in about["error"]] == ["", "", "max_new_tokens", "The text is bl", "max_new_tokens"]
