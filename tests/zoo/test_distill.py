"""A student cut out of its teacher."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny

from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer
from zoo._distill import Lessons, Teaching, cut_vocabulary, cut_weights, places_of

TEXTS = ["a fine film", "the finest films of all", "unaffordable, isn't it?", "café x1", ""]


@pytest.fixture(scope="module")
def teacher():
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train([*tiny.TEXTS, *TEXTS] * 3, vocabulary_size=200)
    config = tiny.config(num_layers=3).replace(vocabulary_size=tokenizer.vocabulary_size)
    return Task("sentence_embedding", config, tokenizer, outputs=["hidden_states"])


def test_the_most_frequent_pieces_are_kept(teacher):
    size = teacher.tokenizer.vocabulary_size - 20
    tokenizer, kept = cut_vocabulary(teacher.tokenizer, ["film film fine"], size)
    assert tokenizer.vocabulary_size == len(kept) == size and (np.diff(kept) > 0).all()
    pieces = [tokenizer.id_to_token(number) for number in range(size)]
    assert pieces == [teacher.tokenizer.id_to_token(int(number)) for number in kept]
    assert {"[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "a", "##a", "film", "fine"} <= set(pieces)
    assert [row.ids for row in tokenizer.encode(["film fine"])] == [
        [pieces.index(piece) for piece in ("[CLS]", "film", "fine", "[SEP]")]
    ]


def test_a_student_with_all_that_its_teacher_has_is_its_teacher(teacher):
    tokenizer, kept = cut_vocabulary(teacher.tokenizer, TEXTS, teacher.tokenizer.vocabulary_size)
    student = Task("sentence_embedding", teacher.config, tokenizer)
    cut_weights(student.model, teacher.model, range(3), kept)
    np.testing.assert_allclose(student.embed(TEXTS), teacher.embed(TEXTS), atol=1e-6)


def test_weights_of_some_layers_and_pieces(teacher):
    tokenizer, kept = cut_vocabulary(teacher.tokenizer, TEXTS, 60)
    config = teacher.config.replace(vocabulary_size=60, num_layers=2, max_length=8)
    student = Task("sentence_embedding", config, tokenizer)
    cut_weights(student.model, teacher.model, (0, 2), kept)
    ours, theirs = ({weight.path: np.array(weight) for weight in task.model.weights} for task in (student, teacher))
    for path in ("attention/query/kernel", "feed_forward_norm/gamma"):
        assert np.array_equal(ours[f"encoder_block_1/{path}"], theirs[f"encoder_block_2/{path}"])
    assert np.array_equal(ours["token_embedding/embeddings"], theirs["token_embedding/embeddings"][kept])
    assert np.array_equal(ours["position_embedding/embeddings"], theirs["position_embedding/embeddings"][:8])


def test_places_are_those_of_words_that_are_cut_alike(teacher):
    tokenizer, kept = cut_vocabulary(teacher.tokenizer, ["film"], 70)
    found = set()
    for student, taught in zip(tokenizer.encode(TEXTS), teacher.tokenizer.encode(TEXTS), strict=True):
        places = places_of(student, taught, kept)
        for token, place in enumerate(places):
            own = [i for i, word in enumerate(student.word_ids) if word == student.word_ids[token]]
            theirs = [i for i, word in enumerate(taught.word_ids) if word == student.word_ids[token]]
            alike = [kept[student.ids[i]] for i in own] == [taught.ids[i] for i in theirs]
            assert place == (theirs[own.index(token)] if alike else -1)
            found.add(bool(alike))
    assert found == {True, False}


def test_targets_are_what_the_teacher_makes_of_the_same_words(teacher):
    tokenizer, kept = cut_vocabulary(teacher.tokenizer, ["film"], 70)
    lessons = Lessons.read(TEXTS, tokenizer, teacher.tokenizer, kept, 16)
    model = teacher.parts.answers.model
    teaching = Teaching(lambda inputs: keras.tree.map_structure(np.array, model(inputs)))
    inputs, labels = teaching(lessons[np.array([1, 2])], 16)
    assert inputs["token_ids"].shape == (2, 16) and labels["embedding"].shape == (2, 16)
    taught = model(lessons.teachers[np.array([1, 2])].padded(16, 0))
    np.testing.assert_allclose(labels["embedding"], taught["embedding"], atol=1e-6)
    for row, number in enumerate((1, 2)):
        places = lessons.places[np.array([number])].padded(16, -1)[0]
        states = np.array(taught["hidden_states"])[row]
        for token, place in enumerate(places):
            if place < 0:
                assert np.isnan(labels["hidden_states"][row, token]).all()
            else:
                np.testing.assert_allclose(labels["hidden_states"][row, token], states[place], atol=1e-6)
