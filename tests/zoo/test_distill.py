"""A student cut out of its teacher."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny

from keras_transformers.data.sources.rows import Rows
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer
from zoo.registry.distill import Teaching, cut_weights

TEXTS = ["a fine film", "the finest films of all", "unaffordable, isn't it?", "café x1", ""]


@pytest.fixture(scope="module")
def teacher():
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train([*tiny.TEXTS, *TEXTS] * 3, vocabulary_size=200)
    config = tiny.config(num_layers=3).replace(vocabulary_size=tokenizer.vocabulary_size)
    return Task("sentence_embedding", config, tokenizer, outputs=["hidden_states"])


@pytest.mark.integration
def test_a_student_with_all_that_its_teacher_has_is_its_teacher(teacher):
    student = Task("sentence_embedding", teacher.config, teacher.tokenizer)
    cut_weights(student.model, teacher.model, range(3))
    np.testing.assert_allclose(student.embed(TEXTS), teacher.embed(TEXTS), atol=1e-6)


def test_weights_of_some_layers_and_positions(teacher):
    student = Task("sentence_embedding", teacher.config.replace(num_layers=2, max_length=8), teacher.tokenizer)
    cut_weights(student.model, teacher.model, (0, 2))
    ours, theirs = ({weight.path: np.array(weight) for weight in task.model.weights} for task in (student, teacher))
    for path in ("attention/query/kernel", "feed_forward_norm/gamma"):
        assert np.array_equal(ours[f"encoder_block_1/{path}"], theirs[f"encoder_block_2/{path}"])
    assert np.array_equal(ours["token_embedding/embeddings"], theirs["token_embedding/embeddings"])
    assert np.array_equal(ours["position_embedding/embeddings"], theirs["position_embedding/embeddings"][:8])


def test_targets_are_what_the_teacher_makes_of_the_same_tokens(teacher):
    model = teacher.parts.answers.model
    rows = Rows.of([row.ids for row in teacher.tokenizer.encode(TEXTS)])
    inputs, labels = Teaching(model)(rows, 16, np.random.default_rng(0))
    assert np.array_equal(inputs["token_ids"], rows.padded(16, 0)["token_ids"])
    taught = {name: np.array(value) for name, value in model(inputs).items()}
    np.testing.assert_allclose(labels["embedding"], taught["embedding"], atol=1e-6)

    is_padding = inputs["padding_mask"] == 0
    assert is_padding.any() and np.isnan(labels["hidden_states"][is_padding]).all()
    np.testing.assert_allclose(labels["hidden_states"][~is_padding], taught["hidden_states"][~is_padding], atol=1e-6)
