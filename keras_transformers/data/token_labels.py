"""Labels of tokens by name: plain tags, and the BIO and BIOES schemes, which mark entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SCHEMES = {"bio": "BI", "bioes": "BIES"}
OUTSIDE = "O"


def bio_labels(types: Iterable[str], scheme: str = "bio") -> list[str]:
    """The labels that mark entities of some types.

    Use it for the `labels` of a token classifier, where the entities are given by their types.
    Papers: BIO, Ramshaw and Marcus 1995, https://arxiv.org/abs/cmp-lg/9505040; BIOES (there BILOU), Ratinov and Roth
    2009, https://aclanthology.org/W09-1119.

    Args:
        types: Names of the types.
        scheme: `"bio"` (begin, inside, outside) or `"bioes"` (end and single besides).

    Returns:
        `"O"`, and the labels of each type, in the order of the types.

    Raises:
        ValueError: There are no types, or one str for all; or the scheme is unknown.

    Example:

    >>> bio_labels(["person", "place"])
    ['O', 'B-person', 'I-person', 'B-place', 'I-place']
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {sorted(SCHEMES)}: received {scheme!r}.")
    types = [types] if isinstance(types, str) else list(types)
    if not types or not all(isinstance(name, str) and name for name in types) or len(set(types)) < len(types):
        raise ValueError(f"types must be different strings, at least one: received {types}.")
    return [OUTSIDE, *(f"{prefix}-{name}" for name in types for prefix in SCHEMES[scheme])]


def labels_in(rows: Iterable[Sequence]) -> list[str]:
    """The labels for a data set, from those that its rows have.

    Args:
        rows: For each text the labels of its words, or its entities as (start, end, type).

    Returns:
        Those of a whole scheme, where they are of one: a word of the test set may need `I-x` where the training set has
        `B-x` only. Else all different labels, sorted.

    Raises:
        ValueError: There are no labels.

    Example:

    >>> labels_in([["O", "B-person"], ["O"]]), labels_in([[(0, 3, "person")], []]), labels_in([["NOUN", "VERB"]])
    (['O', 'B-person', 'I-person'], ['O', 'B-person', 'I-person'], ['NOUN', 'VERB'])
    """
    found = [label for row in rows for label in row]
    if types := sorted({label[2] for label in found if isinstance(label, tuple)}):
        return bio_labels(types)
    names = sorted(set(found))
    if not names:
        raise ValueError("no text has a label: expected one a word, or entities.")
    labels = TokenLabels(tuple(names))
    types = sorted({kind for _, kind in labels.parts if kind})
    return bio_labels(types, labels.scheme) if types else names


@dataclass(frozen=True)
class TokenLabels:
    """The labels of a token classifier, and what they say of entities.

    The scheme follows from the names: where all are `O` or begin with `B-` or `I-`, it is BIO; with `E-` or `S-`
    besides, BIOES; else they are plain tags, such as parts of speech.

    Args:
        names: Of the labels, in the order of the classes.

    Example:

    >>> labels = TokenLabels(("O", "B-place", "I-place"))
    >>> labels.scheme, labels.spread(1, 3)
    ('bio', [1, 2, 2])
    """

    names: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The class of each name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def scheme(self) -> str | None:
        """`"bio"`, `"bioes"`, or None for plain tags."""
        prefixes = {name[0] for name in self.names if re.match("[BIES]-.", name)}
        if not prefixes or not all(name == OUTSIDE or re.match("[BIES]-.", name) for name in self.names):
            return None
        return "bioes" if prefixes & {"E", "S"} else "bio"

    @cached_property
    def parts(self) -> list[tuple[str, str]]:
        """The prefix and the type of each label; that of `O`, and all plain tags, have the type `""`."""
        return [(name[0], name[2:]) if self.scheme and name != OUTSIDE else (OUTSIDE, "") for name in self.names]

    @property
    def types(self) -> list[str]:
        """The types of entities, sorted."""
        return sorted({kind for _, kind in self.parts if kind})

    def spread(self, number: int, count: int) -> list[int]:
        """The classes of the parts of what has one label: a word that a tokenizer splits at its full stops, say.

        Args:
            number: The class of the whole.
            count: How many parts there are.

        Raises:
            ValueError: A class that the parts need is not among the labels.
        """
        prefix, kind = self.parts[number]
        if count < 2 or prefix == OUTSIDE:
            return [number] * count
        first, last = "B" if prefix in "BS" else "I", "E" if prefix in "ES" else "I"
        return [self._class(prefix, kind) for prefix in (first, *"I" * (count - 2), last)]

    def entity(self, kind: str, count: int) -> list[int]:
        """The classes of an entity of a type, of so many words.

        Raises:
            ValueError: The type is unknown, or a class that the entity needs is not among the labels.
        """
        if kind not in self.types:
            raise ValueError(f"unknown type of entity {kind!r}; those of the labels are {self.types}.")
        return self.spread(self._class("S" if self.scheme == "bioes" else "B", kind), count)

    def _class(self, prefix: str, kind: str) -> int:
        name = f"{prefix}-{kind}"
        if name not in self.numbers:
            raise ValueError(
                f"an entity of type {kind!r} needs the label {name!r}, which is not among {list(self.names)}: add it. "
                "(A word that the tokenizer splits is an entity of several.)"
            )
        return self.numbers[name]

    @cached_property
    def kinds(self) -> np.ndarray:
        """The number in `types` of each class, and last that of a place without a word; -1 for none: int32 (C + 1,)."""
        numbers = [self.types.index(kind) if kind else -1 for _, kind in self.parts]
        return np.array([*numbers, -1], np.int32)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Where entities start and end, by the rules of CoNLL-2000's conlleval, which are those of seqeval's default.

        Returns:
            Two arrays, bool (C + 1, C + 1). The first: whether an entity starts at a word of the second class, after
            one of the first. The second: whether one ends at a word of the first class, before one of the second. Class
            C is a place without a word: before the text and behind it.
        """
        parts = [*self.parts, (OUTSIDE, "")]
        starts = [[_starts(*before, *after) for after in parts] for before in parts]
        ends = [[_ends(*before, *after) for after in parts] for before in parts]
        return np.array(starts), np.array(ends)


def _starts(before: str, before_kind: str, prefix: str, kind: str) -> bool:
    if prefix == OUTSIDE:
        return False
    return kind != before_kind or prefix in "BS" or before + prefix in ("EE", "EI", "SE", "SI")


def _ends(prefix: str, kind: str, after: str, after_kind: str) -> bool:
    if prefix == OUTSIDE:
        return False
    return kind != after_kind or prefix in "ES" or after in "BS"
