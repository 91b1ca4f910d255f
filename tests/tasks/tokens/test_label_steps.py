"""Steps between labels that a scheme forbids, and texts whose labels take them."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from keras_transformers.layers import CRF
from keras_transformers.tasks.tokens.label_schemes import SCHEMES, TokenLabels, bio_labels
from keras_transformers.tasks.tokens.label_steps import BOUNDARY, LabelSteps, forbidden_steps

TYPES = ["x", "y"]


def entities_by_hand(names: list[str], scheme: str) -> bool:
    """Whether labels are those that some entities give, by the definition of the scheme."""
    first, *inside = SCHEMES[scheme]
    last, single = (inside[1], inside[2]) if len(inside) == 3 else (None, None)
    place = 0
    while place < len(names):
        prefix, _, kind = names[place].partition("-")
        place += 1
        if prefix in ("O", single):
            continue
        if prefix != first:
            return False
        while place < len(names) and names[place] == f"{inside[0]}-{kind}":
            place += 1
        if last is not None:
            if place == len(names) or names[place] != f"{last}-{kind}":
                return False
            place += 1
    return True


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_are_the_labels_of_entities_and_no_others(scheme):
    names = bio_labels(TYPES, scheme)
    forbidden = {tuple(step) for step in forbidden_steps(names)}
    for length in (1, 2, 3):
        for path in product(range(len(names)), repeat=length):
            is_allowed = not forbidden & {*pairwise([BOUNDARY, *path, BOUNDARY])}
            assert is_allowed == entities_by_hand([names[one] for one in path], scheme), [names[one] for one in path]
    CRF(forbidden_steps(names)).build((None, None, len(names)))


def test_labels_without_what_begins_or_ends_an_entity_allow_it():
    assert forbidden_steps(["O", "I-x", "I-y"]) == [] == forbidden_steps(["NOUN", "VERB", "X"])
    assert forbidden_steps(["O", "B-x", "I-x", "I-y"]) == [[-1, 2], [0, 2], [3, 2]]


def steps(scheme: str = "bio") -> LabelSteps:
    names = bio_labels(TYPES, scheme)
    return LabelSteps(TokenLabels(tuple(names)), forbidden_steps(names))


@pytest.mark.parametrize(
    ("scheme", "classes", "message"),
    [
        ("bio", [2], "its first word is labelled 'I-x'"), ("bio", [0, 2], "word 1 is labelled 'I-x' after 'O'"),
        ("bio", [1, 4], "'I-y' after 'B-x', which the scheme BIO forbids"),
        ("bioes", [0, 1], "its last word is labelled 'B-x', which the scheme BIOES forbids"),
    ],
)  # fmt: skip
def test_a_forbidden_step_is_an_error(scheme, classes, message):
    with pytest.raises(ValueError, match=f'{message}.*correct the labels, or load the task with crf="unconstrained"'):
        steps(scheme).check(classes)


def test_allowed_steps_pass():
    for scheme, classes in (("bio", []), ("bio", [0, 1, 2, 2, 3, 1]), ("bioes", [1, 2, 3, 4, 0])):
        steps(scheme).check(classes)
        assert steps(scheme).kept(classes) == [*range(len(classes))]


@pytest.mark.parametrize(
    ("scheme", "classes", "kept"),
    [
        ("bio", [2, 2, 0, 1], [2, 3]), ("bioes", [0, 1, 2], [0]), ("bioes", [2, 3, 0, 1, 3], [2, 3, 4]),
        ("bioes", [0, 1, 0, 4], [0, 2, 3]), ("bioes", [1], []),
    ],
)  # fmt: skip
def test_rests_of_entities_are_left_out(scheme, classes, kept):
    assert steps(scheme).kept(classes) == kept
