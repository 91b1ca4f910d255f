"""Names of token labels: what scheme they are of, how they go on, and where entities start and end."""

from __future__ import annotations

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_transformers.tasks.tokens.label_schemes import TokenLabels, bio_labels, labels_in

BIO = TokenLabels(tuple(bio_labels(["x", "y-z"])))
BIOES = TokenLabels(tuple(bio_labels(["x", "y-z"], "bioes")))


def test_labels_of_types():
    assert bio_labels(["x"], "bioes") == ["O", "B-x", "I-x", "E-x", "S-x"]
    assert bio_labels("x") == bio_labels(["x"]) == ["O", "B-x", "I-x"]


@pytest.mark.parametrize(
    ("types", "scheme", "message"),
    [([], "bio", "at least one"), (["x", "x"], "bio", "different"), ([""], "bio", "strings"), (["x"], "io", "scheme")],
)
def test_types_that_are_refused(types, scheme, message):
    with pytest.raises(ValueError, match=message):
        bio_labels(types, scheme)


@pytest.mark.parametrize(
    ("names", "scheme"),
    [
        (("O", "B-x", "I-x"), "bio"), (("O", "I-x"), "bio"), (("B-x", "O", "S-x"), "bioes"), (("O", "E-x"), "bioes"),
        (("NOUN", "VERB"), None), (("O", "B-x", "X", "Y"), None), (("O", "B-"), None), (("O", "P"), None),
        (("B-cell", "T-cell"), None), (("O", "U-x"), "bilou"), (("B-x", "L-x"), "bilou"), (("B-x", "M-x"), "bmes"),
        (("B_x", "O"), "bio"), (("b-x", "o"), "bio"), (("O", "B-x", "U-x", "S-y"), "bilou"),
    ],
)  # fmt: skip
def test_the_scheme_follows_from_the_names(names, scheme):
    assert TokenLabels(names).scheme == scheme


@pytest.mark.parametrize("odd", ["o", "0", "_", "B_x", "b-x", "X-x", "B x", "x", "B-"])
def test_labels_that_are_of_no_scheme_are_named(odd):
    """They are outside of entities, and do not turn the others into plain tags."""
    labels = TokenLabels((*BIO.names, odd))
    assert labels.odd == (odd,) and labels.scheme == "bio" and labels.types == BIO.types
    assert labels.parts[-1] == ("O", "") and labels.bounds[0].shape == (7, 7)
    with pytest.raises(
        ValueError, match=rf"follow the scheme BIO, such as 'B-x', but \[{odd!r}\] are not.* is in row 1"
    ):
        labels_in([[*BIO.names], ["O", odd]])


@pytest.mark.parametrize("scheme", ["bilou", "bmes"])
def test_schemes_by_other_letters(scheme):
    """The same entities as BIOES', by name of the same parts."""
    labels = TokenLabels(tuple(bio_labels(["x", "y-z"], scheme)))
    assert labels.scheme == scheme and not labels.odd and labels.types == BIOES.types
    assert sorted(labels.parts) == sorted(BIOES.parts)
    for count in (1, 2, 4):
        parts = [labels.parts[number] for number in labels.entity("x", count)]
        assert parts == [BIOES.parts[number] for number in BIOES.entity("x", count)]
    order = [labels.parts.index(part) for part in BIOES.parts] + [len(labels.names)]
    for ours, theirs in zip(labels.bounds, BIOES.bounds, strict=True):
        assert (ours[np.ix_(order, order)] == theirs).all()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["o", "b_x"], ["o", "b_x", "i_x"]),
        (["O", "B-x", "U-y"], [*bio_labels(["x", "y"], "bilou")]),
        (["O", "B-x", "U-x", "S-x"], ["O", "B-x", "I-x", "L-x", "U-x", "S-x"]),
        (["B-x", "M-x"], ["O", "B-x", "M-x", "E-x", "S-x"]),
    ],
)
def test_the_labels_of_a_scheme_are_completed_in_their_form(found, expected):
    assert labels_in([found]) == expected


def test_an_absent_label_is_named_in_the_form_of_the_others():
    with pytest.raises(ValueError, match="needs the label 'i_x'"):
        TokenLabels(("o", "b_x")).spread(1, 2)
    with pytest.raises(ValueError, match="needs the label 'L-x'"):
        TokenLabels(("O", "U-x", "B-x")).spread(1, 2)


def test_types_with_a_hyphen():
    assert BIO.types == ["x", "y-z"] and BIO.parts[3] == ("B", "y-z")
    assert BIO.kinds.tolist() == [-1, 0, 0, 1, 1, -1]
    assert TokenLabels(("NOUN", "VERB")).types == []


@pytest.mark.parametrize(
    ("labels", "name", "parts"),
    [
        (BIO, "O", "O O O"), (BIO, "B-x", "B-x I-x I-x"), (BIO, "I-x", "I-x I-x I-x"),
        (BIOES, "S-x", "B-x I-x E-x"), (BIOES, "B-x", "B-x I-x I-x"), (BIOES, "I-x", "I-x I-x I-x"),
        (BIOES, "E-x", "I-x I-x E-x"), (TokenLabels(("NOUN", "VERB")), "VERB", "VERB VERB VERB"),
    ],
)  # fmt: skip
def test_a_word_of_several_parts(labels, name, parts):
    number = labels.numbers[name]
    assert [labels.names[part] for part in labels.spread(number, 3)] == parts.split()
    assert labels.spread(number, 1) == [number] and labels.spread(number, 0) == []


def test_entities_of_several_words():
    assert [BIOES.names[number] for number in BIOES.entity("x", 2)] == ["B-x", "E-x"]
    assert [BIOES.names[number] for number in BIOES.entity("x", 1)] == ["S-x"]
    assert [BIO.names[number] for number in BIO.entity("y-z", 2)] == ["B-y-z", "I-y-z"]
    with pytest.raises(ValueError, match=r"unknown type of entity 'q'; the labels have \['x', 'y-z'\]"):
        BIO.entity("q", 1)


def test_a_label_that_is_missing_is_named():
    with pytest.raises(ValueError, match="needs the label 'I-x', which is not among"):
        TokenLabels(("O", "B-x")).spread(1, 2)


@pytest.mark.parametrize("labels", [BIO, BIOES], ids=["bio", "bioes"])
def test_bounds_are_those_of_seqeval(labels):
    """On random labels, most of which are inconsistent; also at the edges of a text."""
    random = np.random.default_rng(0)
    starts, ends = labels.bounds
    outside = len(labels.names)
    for _ in range(300):
        numbers = random.integers(0, outside, random.integers(1, 12))
        padded = [outside, *numbers, outside]
        found = [i for i in range(len(numbers)) if starts[padded[i], padded[i + 1]]]
        last = [i for i in range(len(numbers)) if ends[padded[i + 1], padded[i + 2]]]
        kinds = [labels.types[labels.kinds[numbers[i]]] for i in found]
        expected = get_entities([labels.names[number] for number in numbers])
        assert list(zip(kinds, found, last, strict=True)) == expected


def test_labels_of_rows():
    assert labels_in([["O", "S-x"], ["B-x", "E-x"]]) == bio_labels(["x"], "bioes")
    assert labels_in([["O", "B-x"], ["B-y"]]) == bio_labels(["x", "y"])
    assert labels_in([[(0, 1, "b")], [(0, 1, "a")], []]) == bio_labels(["a", "b"])
    assert labels_in([["VERB"], ["NOUN", "VERB"]]) == ["NOUN", "VERB"]
    assert labels_in([["O"], ["O"]]) == ["O"]
    with pytest.raises(ValueError, match="no text has a label"):
        labels_in([[], []])
