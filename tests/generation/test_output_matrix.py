from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from arrays import normal
from generating import small_generator
from translating import seq2seq_lm

from keras_transformers.generation.serving.output_matrix import OutputMatrix
from keras_transformers.heads.language_model import head_of

FAMILIES = {
    "tied": lambda: small_generator("gpt2"),
    "half": lambda: small_generator("gpt2", "bfloat16"),
    "own": lambda: small_generator("llama"),
    "scaled": lambda: seq2seq_lm(scale_outputs=True),
    "biased": lambda: seq2seq_lm(output_bias=True),
}


@pytest.mark.integration(quick=["half", "own", "tied"])
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_head(family):
    made = FAMILIES[family]()
    states = normal(3, made.config.hidden_dim, seed=1)
    states = tf.cast(states, "bfloat16" if family == "half" else "float32")
    expected = head_of(made.config, made.model)(states[:, None])[:, 0]
    logits, expected = (tf.cast(x, "float32") for x in (OutputMatrix(made.config, made.model)(states), expected))
    np.testing.assert_allclose(logits, expected, atol=2e-2 if family == "half" else 1e-5)


@pytest.mark.parametrize(("dtype", "copies"), [("bfloat16", 0), ("float16", 0), ("mixed_bfloat16", 1), ("float32", 1)])
def test_a_table_in_half_precision_is_not_copied(dtype, copies):
    made = small_generator("gpt2", dtype)
    output, table = OutputMatrix(made.config, made.model), made.model.get_layer("token_embedding").embeddings
    assert (output.matrix is not table.value) == copies
    assert output(tf.zeros((3, made.config.hidden_dim), made.model.compute_dtype)).shape == (3, table.shape[0])


def test_the_copy_is_made_anew_only_when_the_embedding_has_changed():
    made = small_generator("gpt2")
    output = OutputMatrix(made.config, made.model)
    table = made.model.get_layer("token_embedding").embeddings
    output.matrix.assign(0 * output.matrix)
    output.refresh()
    assert not output.matrix.numpy().any()  # nothing has changed, so nothing was done
    table.assign(table + 1)
    output.refresh()
    np.testing.assert_array_equal(output.matrix.numpy(), np.array(table).T)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16", "float32"])
def test_no_change_is_too_small_to_be_seen(dtype):
    model = small_generator("gpt2", dtype)
    output = OutputMatrix(model.config, model.model)
    table, random = model.model.get_layer("token_embedding").embeddings, np.random.default_rng(0)
    for _ in range(50):
        values = np.array(table)
        values[random.integers(values.shape[0]), random.integers(values.shape[1])] *= 1.02
        table.assign(values)
        output.refresh()
        np.testing.assert_array_equal(output.matrix, tf.cast(np.array(table).T, output.matrix.dtype))
