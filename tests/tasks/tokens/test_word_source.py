"""What a user may give a token classifier to learn from, and what is refused or told."""

from __future__ import annotations

import warnings

import entities
import numpy as np
import pytest
import tensorflow as tf
from entities import LABELS, NAMES, SPANS, TEXTS, WORDS

from keras_transformers.tasks.tokens.word_source import read_texts


@pytest.fixture(scope="module")
def task():
    return entities.token_classifier()


def targets_of(task, texts, labels, **options) -> list[list[int]]:
    return task.parts.source(texts, labels, None, **options).labels.padded(12, -1).tolist()


def test_words_and_spans_say_the_same(task):
    """But for "U.S.": of three words of the tokenizer more, which are words of their own where spans are given."""
    from keras_transformers.tasks.tokens.token_targets import target_classes

    words, spans = (np.array(targets_of(task, *given)) for given in ((WORDS, LABELS), (TEXTS, SPANS)))
    assert (target_classes(words) == spans).all()
    is_us = np.array(["U.S." in text for text in WORDS])
    assert ((words < -1).sum(axis=1) == 3 * is_us).all() and (spans >= -1).all()


def test_labels_by_name_or_number_in_lists_or_arrays(task):
    expected = targets_of(task, WORDS, LABELS)
    numbers = [[NAMES.index(label) for label in row] for row in LABELS]
    arrays = [np.array(row) for row in numbers]
    for labels in (numbers, arrays, [np.array(row) for row in LABELS], tuple(map(tuple, LABELS))):
        assert targets_of(task, [np.array(words) for words in WORDS], labels) == expected
    assert targets_of(task, (words for words in WORDS), LABELS) == expected
    spans = [np.array([(np.int64(0), np.int64(3), "person")], object)]
    assert targets_of(task, ["Ann sat"], spans, shuffle=False) == targets_of(
        task, ["Ann sat"], [[(0, 3, "person")]], shuffle=False
    )


def test_texts_alone_have_no_targets(task):
    assert task.parts.source(TEXTS, None, None).labels is None
    assert task.parts.source(WORDS, None, None).token_ids.flat.tolist() == (
        task.parts.source(TEXTS, None, None).token_ids.flat.tolist()
    )


def test_a_text_without_words(task):
    targets = targets_of(task, [[], ["Ann"]], [[], ["B-person"]], shuffle=False)
    assert [max(row) for row in targets] == [-1, 1]
    assert [max(row) for row in targets_of(task, ["", "Ann"], [[], [(0, 3, "person")]], shuffle=False)] == [-1, 1]


def test_labels_may_be_an_iterator(task):
    words, labels = [["Ann"], ["Bob", "sat"]], [["B-person"], ["B-person", "O"]]
    expected = targets_of(task, words, labels, shuffle=False)
    assert targets_of(task, iter(words), iter(labels), shuffle=False) == expected


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["Ann"], [["B-person"]], "row 0: expected entities"),
        ([["Ann"]], [[(0, 3, "person")]], "row 0: unknown label"),
        ([["Ann"], ["Bob", "sat"]], [["O"], ["O"]], "row 1 has 2 words and 1 labels"),
        ([["Ann"], ["Bob"]], [["O"]], "1 rows of labels for 2 texts"),
        ([["Ann"]], [["B-animal"]], r"row 0: unknown label 'B-animal'; the labels are \['O', 'B-person'"),
        ([["Ann"]], [[5]], "unknown label 5"), ([["Ann"]], [[-1]], "unknown label -1"),
        ([["Ann"]], [[True]], "unknown label True"), ([["Ann"]], [[None]], "unknown label None"),
        ([["Ann"]], ["O"], "a list for each text"), ([["Ann"]], "O", "a list for each text"),
        ([["Ann"]], 5, "a list for each text.*Received '5'"),
        ([["Ann"], "Bob sat"], [["O"], ["O"]], "row 1 is no list of words"),
        ([["Ann", ""]], [["O", "O"]], "row 0: expected words, none of them empty: received ''"),
        ([["Ann", 3]], [["O", "O"]], "received 3"), ([["\ud800"]], [["O"]], "lone surrogate"),
        ("Ann", [["O"]], "received one str"), (5, [["O"]], "received int"), ({"a": 1}, [["O"]], "received dict"),
        ([], [], "empty data set"), ([[], []], [[], []], "no text has a word with a label"),
        (["Ann"], [[(0, 3, "animal")]], "row 0: unknown type of entity 'animal'"),
        (["Ann"], [[(0, 4, "person")]], r"0 <= start < end <= 3.*\(0, 4, 'person'\)"),
        (["Ann"], [[(-1, 2, "person")]], "0 <= start"), (["Ann"], [[(2, 2, "person")]], "0 <= start"),
        (["Ann"], [[(0.0, 2.0, "person")]], "0 <= start"), (["Ann"], [[(0, 2)]], "expected entities"),
        (["Ann Ray"], [[(0, 5, "person"), (4, 7, "place")]], "overlap: each token has one label"),
        (["Ann  Ray"], [[(3, 5, "person")]], "row 0: the span .* covers no token"),
    ],
)  # fmt: skip
def test_what_is_refused(task, texts, labels, message):
    with pytest.raises(ValueError, match=message):
        task.dataset(texts, labels)


@pytest.mark.integration
def test_streams_and_spans_for_tags_are_refused(task):
    with pytest.raises(ValueError, match="takes lists of texts, or of words"):
        task.dataset(tf.data.Dataset.from_tensors("Ann"))
    tagger = entities.token_classifier(["NOUN", "VERB"])
    with pytest.raises(ValueError, match=r"expected lists of words, with a label each.*\['NOUN', 'VERB'\]"):
        tagger.dataset(["Ann sat"], [[(0, 3, "NOUN")]])
    with pytest.raises(ValueError, match="bio_labels"):
        entities.token_classifier(["B-person", "I-person"]).dataset(["Ann sat"], [[(0, 3, "person")]])


def test_a_label_that_a_split_word_needs():
    task = entities.token_classifier(["O", "B-place"])
    with pytest.raises(ValueError, match="row 1: an entity of type 'place' needs the label 'I-place'"):
        task.dataset([["Oslo"], ["U.S."]], [["B-place"], ["B-place"]])


@pytest.mark.integration
def test_labels_that_no_text_has_are_told_in_training(task):
    with pytest.warns(UserWarning, match=r"no text has the label\(s\) I-person, I-place: the model cannot learn them"):
        task.dataset([["Ann", "in", "Oslo"]], [["B-person", "O", "B-place"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task.dataset([["Ann", "in", "Oslo"]], [["B-person", "O", "B-place"]], shuffle=False)
        task.evaluate([["Ann"]], [["B-person"]])
        task.dataset(WORDS, LABELS)


def test_what_is_lost_is_told(task):
    options = {"shuffle": False}
    with pytest.warns(
        UserWarning, match=r"2 of 3 words give no token, such as '\\u200d' in row 0: they are used neither"
    ):
        task.dataset([["\u200d", "Ann"], ["\u00ad"]], [["O", "O"], ["O"]], **options)
    with pytest.warns(
        UserWarning, match="1 of 2 entities begin or end inside a word .* such as 'An' in row 0.* count as right"
    ):
        task.dataset(["Ann", "Bob"], [[(0, 2, "person")], [(0, 3, "person")]], **options)
    with pytest.warns(UserWarning, match="1 of 2 texts were cut to max_length=24 tokens"):
        rows = task.parts.source([["Ann"] * 30, ["sat"]], [["B-person"] * 30, ["O"]], None, **options)
    assert (rows.labels.padded(24, -1)[0] == [-1, *[1] * 22, -1]).all()


def test_texts_of_words():
    assert read_texts(WORDS[:1]) == (WORDS[:1], [TEXTS[0]]) and read_texts(TEXTS) == (None, TEXTS)
    assert read_texts([]) == (None, [])


@pytest.mark.data
@pytest.mark.parametrize("name", ["wnut17/emerging.dev.conll", "ud_ewt/en_ewt-ud-dev.conllu"])
@pytest.mark.filterwarnings("ignore:.* give no token")
def test_words_of_real_files_are_found_as_the_library_finds_them(data_dir, name):
    """It takes sentences as words, too, and says which word each token is of: not one difference."""
    import zoo
    from keras_transformers.tasks.tokens.conll import read_conll
    from keras_transformers.tasks.tokens.label_schemes import labels_in

    words, labels = read_conll(data_dir / name)
    task = zoo.load("mini_bert_en", "token_classification", labels=labels_in(labels))
    rows = task.parts.source(words, labels, None, shuffle=False)
    numbers = [[task.labels.index(label) for label in row] for row in labels]
    encodings = task.tokenizer._library.encode_batch(words, is_pretokenized=True)
    for row, (encoding, of_words) in enumerate(zip(encodings, numbers, strict=True)):
        length = min(len(encoding.ids), task.max_length)
        places = {word: place for place, word in reversed(list(enumerate(encoding.word_ids))) if word is not None}
        expected = {place: of_words[word] for word, place in places.items() if place < length - 1}
        targets = rows[np.array([row])].labels.tokens()
        assert {place: target for place, target in enumerate(targets.tolist()) if target >= 0} == expected, words[row]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
def test_a_label_of_no_scheme_is_told_and_refused_in_training():
    """A task with an odd tag finds entities, not plain tags, and learns from no such row."""
    with pytest.warns(UserWarning, match=r"follow the scheme BIO, such as .* but \['o'\] are not: correct them"):
        task = entities.token_classifier([*NAMES, "o"])
    assert {"f1", "precision"} <= {metric.name for metric in task.parts.metrics()["logits"]}
    assert "entities" in task.predict(TEXTS[:1])[0]
    assert targets_of(task, WORDS[:1], LABELS[:1]) == targets_of(entities.token_classifier(), WORDS[:1], LABELS[:1])
    with pytest.raises(ValueError, match=r"row 1: label 'o': most labels follow the scheme BIO"):
        targets_of(task, WORDS[:2], [LABELS[0], ["o"] * len(WORDS[1])])
