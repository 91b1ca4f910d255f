"""Steps from a label to the next one that a scheme of entities forbids, and texts whose labels take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from keras_transformers.tasks.tokens.label_schemes import OUTSIDE, TokenLabels

BOUNDARY = -1  # as in `CRF`: before the first word, and behind the last one


def forbidden_steps(labels: Iterable[str]) -> list[list[int]]:
    """Return the steps that the scheme of labels forbids, for the `forbidden` of a `CRF`.

    `I-x` and `E-x` continue an entity of type x, and in BIOES `B-x` and `I-x` are continued. That holds as far as the
    labels have what begins and ends an entity: of `O` and `I-x` alone, any may follow any. BILOU and BMES are BIOES
    with other letters.

    Args:
        labels: Names of the labels, in the order of the classes.

    Returns:
        Pairs of classes, [from, to]; -1 is the boundary of a text. None for plain tags.

    Example:

    >>> forbidden_steps(["O", "B-x", "I-x"])
    [[-1, 2], [0, 2]]
    >>> forbidden_steps(["NOUN", "VERB"])
    []
    """
    known = TokenLabels(tuple(labels))
    if known.scheme is None:
        return []
    parts = [*enumerate(known.parts), (BOUNDARY, (OUTSIDE, ""))]
    steps = [
        [before, after]
        for before, one in parts
        for after, other in parts
        if _is_forbidden(one, other, {*known.parts}) and {before, after} != {BOUNDARY}
    ]
    return sorted(steps)


def _is_forbidden(before: tuple[str, str], after: tuple[str, str], parts: set[tuple[str, str]]) -> bool:
    """Return whether one prefix and type cannot follow another."""
    (prefix, kind), (next_prefix, next_kind) = before, after
    is_open = prefix in ("B", "I")
    continues = next_prefix in ("I", "E")
    if is_open and continues and kind == next_kind:
        return False
    must_continue = is_open and ("E", kind) in parts
    must_have_begun = continues and ("B", next_kind) in parts
    return must_continue or must_have_begun


class LabelSteps:
    """The steps that rows of labels may take.

    Args:
        labels: The labels of the classes.
        forbidden: Pairs as `forbidden_steps` returns them.
    """

    def __init__(self, labels: TokenLabels, forbidden: Iterable[Sequence[int]]):
        self.labels, self.forbidden = labels, {tuple(pair) for pair in forbidden}

    def check(self, classes: Sequence[int]) -> None:
        """Raise a `ValueError` if the labels of a text's words take a forbidden step.

        Args:
            classes: Classes of the words.
        """
        if not classes:
            return
        for place, step in enumerate(pairwise([BOUNDARY, *classes, BOUNDARY])):
            if step in self.forbidden:
                before, after = (repr(self.labels.names[one]) if one >= 0 else None for one in step)
                if before is None:
                    fault = f"its first word is labelled {after}"
                elif after is None:
                    fault = f"its last word is labelled {before}"
                else:
                    fault = f"word {place} is labelled {after} after {before}"
                raise ValueError(
                    f"{fault}, which the scheme {str(self.labels.scheme).upper()} forbids, and so does crf=True: "
                    'correct the labels, or load the task with crf="unconstrained".'
                )

    def kept(self, classes: Sequence[int]) -> list[int]:
        """Return the numbers of the words whose labels take no forbidden step when some words of a text were lost.

        The rest of an entity that has lost its beginning, and in BIOES the beginning of one that has lost its end, are
        left out.

        Args:
            classes: Classes of the words.

        Example:

        >>> labels = ("O", "B-x", "I-x")
        >>> LabelSteps(TokenLabels(labels), forbidden_steps(labels)).kept([2, 2, 0, 1, 2])
        [2, 3, 4]
        """
        found: list[int] = []
        for number, new in [*enumerate(classes), (len(classes), BOUNDARY)]:
            while found and (classes[found[-1]], new) in self.forbidden and (BOUNDARY, new) not in self.forbidden:
                found.pop()
            before = classes[found[-1]] if found else BOUNDARY
            if new != BOUNDARY and (before, new) not in self.forbidden:
                found.append(number)
        return found
