"""Labels of tokens: plain tags, and the schemes that mark entities: BIO, BIOES, BILOU and BMES."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SCHEMES = {"bio": "BI", "bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}
OUTSIDE = "O"
SAME = {"M": "I", "L": "E", "U": "S"}  # prefixes of BILOU and BMES, and those of BIOES for the same
MARK = re.compile("([BIESLUM])([-_])(.+)", re.IGNORECASE | re.DOTALL)


def bio_labels(types: Iterable[str], scheme: str = "bio") -> list[str]:
    """Return the labels that mark entities of some types.

    Use it for the `labels` of a token classifier, if entities are given by their types.
    Papers: BIO, Ramshaw and Marcus 1995, https://arxiv.org/abs/cmp-lg/9505040; BIOES (there BILOU), Ratinov and Roth
    2009, https://aclanthology.org/W09-1119.

    Args:
        types: Names of the types.
        scheme: `"bio"` (begin, inside, outside); `"bioes"` (and end, single); or the same with other letters: `"bilou"`
            (last, unit) or `"bmes"` (middle, end, single).

    Returns:
        `"O"`, and the labels of each type, in the order of the types.

    Raises:
        ValueError: There are no types, two are the same, or the scheme is unknown.

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
    """Return the labels of a data set.

    Args:
        rows: Labels of the words of each text, or its entities as (start, end, type).

    Returns:
        If they are of a scheme, all labels of the scheme for their types: a test set may need `I-x` even if this data
        set has `B-x` only. Else all different labels, sorted.

    Raises:
        ValueError: There are no labels, or most are of a scheme and others are not.

    Example:

    >>> labels_in([["O", "B-person"], ["O"]]), labels_in([[(0, 3, "person")], []]), labels_in([["NOUN", "VERB"]])
    (['O', 'B-person', 'I-person'], ['O', 'B-person', 'I-person'], ['NOUN', 'VERB'])
    """
    rows = [*rows]
    found = [label for row in rows for label in row]
    if types := sorted({label[2] for label in found if isinstance(label, tuple)}):
        return bio_labels(types)
    names = sorted(set(found))
    if not names:
        raise ValueError("no text has a label: expected one per word, or entities.")
    labels = TokenLabels(tuple(names))
    if labels.odd:
        row = next(number for number, row in enumerate(rows) if labels.odd[0] in row)
        raise ValueError(f"{labels.describe_odd()} The first is in row {row}.")
    return labels.completed() if labels.types else names


@dataclass(frozen=True)
class TokenLabels:
    """The labels of a token classifier, and the scheme by which they mark entities.

    The scheme follows from the names: if most are `O` or begin with `B-` or `I-`, it is BIO; if some begin with `E-` or
    `S-`, BIOES; with `L-` or `U-`, BILOU; with `M-`, BMES; else they are plain tags, such as parts of speech. `B_` and
    `b-` are accepted, too, if most names have that separator and case. Names of another form are outside of entities.

    Args:
        names: Names of the labels, in the order of the classes.

    Example:

    >>> labels = TokenLabels(("O", "B-place", "I-place"))
    >>> labels.scheme, labels.spread(1, 3)
    ('bio', [1, 2, 2])
    """

    names: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Return the class of each name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _form(self) -> tuple[bool, str] | None:
        """Return whether most prefixes are capitals, and their separator; None for plain tags."""
        forms = Counter((mark[1].isupper(), mark[2]) for name in self.names if (mark := MARK.fullmatch(name)))
        if not forms:
            return None
        form, count = forms.most_common(1)[0]
        return form if 2 * (count + (_outside(form) in self.names)) > len(self.names) else None

    def _of_scheme(self) -> tuple[tuple[bool, str], str]:
        """Return the form and the scheme of labels that mark entities; raise a `ValueError` for plain tags."""
        if self._form is None or self.scheme is None:
            raise ValueError(f"expected labels that mark entities, such as O and B-person: received {self.names}.")
        return self._form, self.scheme

    @cached_property
    def _marks(self) -> list[tuple[str, str] | None]:
        """Return the prefix and the type of each name of the scheme; None for other names."""
        marks = [MARK.fullmatch(name) for name in self.names]
        return [(m[1], m[3]) if m and (m[1].isupper(), m[2]) == self._form else None for m in marks]

    @cached_property
    def scheme(self) -> str | None:
        """`"bio"`, `"bioes"`, `"bilou"`, `"bmes"`, or None for plain tags."""
        if self._form is None:
            return None
        prefixes = {mark[0].upper() for mark in self._marks if mark}
        if prefixes & {"L", "U"}:
            return "bilou"
        return "bmes" if "M" in prefixes else "bioes" if prefixes & {"E", "S"} else "bio"

    @property
    def outside(self) -> int | None:
        """Return the class of words outside of entities; None if there is none."""
        return self.numbers.get(_outside(self._form)) if self._form else None

    @cached_property
    def odd(self) -> tuple[str, ...]:
        """Return the names that do not fit the scheme of most names."""
        if (form := self._form) is None:
            return ()
        others = [name for name, mark in zip(self.names, self._marks, strict=True) if mark is None]
        return tuple(name for name in others if name != _outside(form))

    def describe_odd(self) -> str:
        """Return an error message for the labels that do not fit the scheme, with the remedy."""
        form, scheme = self._of_scheme()
        good = next(name for name, mark in zip(self.names, self._marks, strict=True) if mark)
        return (
            f"most labels follow the scheme {scheme.upper()}, such as {good!r}, but {list(self.odd)} are not: "
            f"correct them, or write {_outside(form)!r} for words outside of entities."
        )

    def completed(self) -> list[str]:
        """Return the names, with all labels that the scheme has for their types."""
        form, scheme = self._of_scheme()
        is_upper, separator = form
        names = [_outside(form)]
        for kind in self.types:
            marks = [f"{letter if is_upper else letter.lower()}{separator}{kind}" for letter in SCHEMES[scheme]]
            names += marks + [
                name
                for name, mark in zip(self.names, self._marks, strict=True)
                if mark and mark[1] == kind and name not in marks
            ]
        return names

    @cached_property
    def parts(self) -> list[tuple[str, str]]:
        """Return the prefix, a letter of BIOES, and the type of each label; `"O"` and `""` for `O` and plain tags."""
        marks = [mark or (OUTSIDE, "") for mark in self._marks]
        return [(SAME.get(prefix.upper(), prefix.upper()), kind) for prefix, kind in marks]

    @property
    def types(self) -> list[str]:
        """Return the types of entities, sorted."""
        return sorted({kind for _, kind in self.parts if kind})

    def spread(self, number: int, count: int) -> list[int]:
        """Return the classes of the parts of a word that the tokenizer splits, such as "U.S.".

        Args:
            number: The class of the word.
            count: The number of parts.

        Raises:
            ValueError: A class that the parts need is not among the labels.
        """
        prefix, kind = self.parts[number]
        if count < 2 or prefix == OUTSIDE:
            return [number] * count
        first, last = "B" if prefix in "BS" else "I", "E" if prefix in "ES" else "I"
        return [self._class(prefix, kind) for prefix in (first, *"I" * (count - 2), last)]

    def entity(self, kind: str, count: int) -> list[int]:
        """Return the classes of the words of an entity.

        Args:
            kind: Type of the entity.
            count: The number of words.

        Raises:
            ValueError: The type is unknown, or a class that the entity needs is not among the labels.
        """
        if kind not in self.types:
            raise ValueError(f"unknown type of entity {kind!r}; the labels have {self.types}.")
        return self.spread(self._class("B" if self.scheme == "bio" else "S", kind), count)

    def _class(self, prefix: str, kind: str) -> int:
        if (prefix, kind) not in self.parts:
            (is_upper, separator), scheme = self._of_scheme()
            letter = next(x for x in SCHEMES[scheme] if SAME.get(x, x) == prefix)
            name = f"{letter if is_upper else letter.lower()}{separator}{kind}"
            raise ValueError(
                f"an entity of type {kind!r} needs the label {name!r}, which is not among {list(self.names)}: add it. "
                "(A word that the tokenizer splits is an entity of several.)"
            )
        return self.parts.index((prefix, kind))

    @cached_property
    def kinds(self) -> np.ndarray:
        """Return the number in `types` of each class and of padding, -1 for none: int32 (C + 1,)."""
        numbers = [self.types.index(kind) if kind else -1 for _, kind in self.parts]
        return np.array([*numbers, -1], np.int32)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and ends of entities by the rules of CoNLL-2000's conlleval, the default of seqeval.

        Returns:
            Two arrays, bool (C + 1, C + 1), for a class (row) and the class of the next word (column). The first:
            whether an entity starts at the next word. The second: whether an entity ends before the next word. Class C
            is padding, before the text and behind it.
        """
        parts = [*self.parts, (OUTSIDE, "")]
        starts = [[_starts(*before, *after) for after in parts] for before in parts]
        ends = [[_ends(*before, *after) for after in parts] for before in parts]
        return np.array(starts), np.array(ends)


def _outside(form: tuple[bool, str]) -> str:
    return OUTSIDE if form[0] else OUTSIDE.lower()


def _starts(before: str, before_kind: str, prefix: str, kind: str) -> bool:
    if prefix == OUTSIDE:
        return False
    return kind != before_kind or prefix in "BS" or before + prefix in ("EE", "EI", "SE", "SI")


def _ends(prefix: str, kind: str, after: str, after_kind: str) -> bool:
    if prefix == OUTSIDE:
        return False
    return kind != after_kind or prefix in "ES" or after in "BS"
