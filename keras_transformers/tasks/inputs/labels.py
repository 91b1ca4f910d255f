"""Labels as given by users, names or numbers, and the labels of a classifier."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.data.objectives.class_targets import PROBLEMS
from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.text_checks import check_texts, listed
from keras_transformers.utils.untrusted import shown


class Labels(NamedTuple):
    """The labels of a classifier; made by `make_labels`.

    Args:
        names: Names of the classes.
        problem: `"single_label"`, `"multi_label"` or `"regression"`.
    """

    names: tuple[str, ...]
    problem: str

    def to_numbers(self, labels: Any) -> np.ndarray:
        """Return the numbers of named classes; numbers stay, and of a regression may be strings, as from a table.

        Raises:
            ValueError: A name is unknown, a string is no number, or the labels are one str.

        Example:

        >>> Labels(("bad", "good"), "single_label").to_numbers(["good", "bad"]).tolist()
        [1, 0]
        """
        if isinstance(labels, str):
            raise ValueError(f"expected a label for each text, received the str {labels!r}: pass [{labels!r}].")
        if self.problem == "regression":
            return label_numbers(labels, "labels of regression are numbers, one for each label a text")
        labels = label_rows(labels)
        if self.problem == "single_label" and any(isinstance(label, str) for label in labels):
            return np.array(self._indices(labels), np.int32)
        if self.problem == "multi_label":
            labels = [_plain_row(row, number) for number, row in enumerate(labels)]
        if self.problem == "multi_label" and (any(map(_holds_names, labels)) or all(map(_is_empty, labels))):
            rows = [self._indices(row) for row in labels]
            return np.array([[index in row for index in range(len(self.names))] for row in rows])
        return np.asarray(labels)

    def _indices(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self.names:
                raise ValueError(f"unknown label {name!r}; the labels are {list(self.names)}.")
        return [self.names.index(name) for name in names]

    def class_weights(self, weights: Mapping[Any, float]) -> np.ndarray:
        """Return the weight of each class, float32 (C,); 1 for classes that are left out.

        Args:
            weights: Weights by name or number of a class.

        Raises:
            ValueError: A class is unknown, a weight is no number of at least 0, or texts do not have one class each.
        """
        if self.problem != "single_label":
            raise ValueError(
                f"class_weight is for texts of one class each: received one for {self.problem}. Leave it out."
            )
        if not isinstance(weights, Mapping):
            raise ValueError(f"class_weight is a dict, of labels to numbers: received a {type(weights).__name__}.")
        class_weights = np.ones(len(self.names), np.float32)
        for label, weight in weights.items():
            index = self._indices([label])[0] if isinstance(label, str) else label
            if index not in range(len(class_weights)):
                raise ValueError(
                    f"class_weight has {label!r}; the labels are {list(self.names)}, or their numbers from 0."
                )
            if not (isinstance(weight, numbers.Real) and 0 <= weight <= float(np.finfo(np.float32).max)):
                raise ValueError(
                    f"class_weight has {weight!r} for {label!r}: expected a number from 0 on, for float32."
                )
            class_weights[int(index)] = weight  # by False and True, NumPy would take none and all
        return class_weights


def label_rows(labels: Any, expected: str = "expected a list of labels, one per row") -> list:
    """Return labels, one per row, as a list; raise a `ValueError` if they are no list."""
    rows = listed(labels)
    if rows is None:
        raise ValueError(f"{expected}: received {str(labels)[:60]!r}.")
    return rows


def label_numbers(labels: Any, expected: str) -> np.ndarray:
    """Return labels that are numbers, or rows of numbers, as a float32 array.

    Args:
        labels: The labels as given by the user.
        expected: The beginning of the `ValueError` if they are no numbers.

    Example:

    >>> label_numbers([1, 0.5], "expected scores").tolist()
    [1.0, 0.5]
    """
    rows = labels if isinstance(labels, np.ndarray) and labels.ndim else label_rows(labels)
    try:
        return np.asarray(rows, np.float32)
    except (TypeError, ValueError):
        row = next((number for number, row in enumerate(rows) if not _is_numeric(row)), None)
    where = f"{str(labels)[:60]!r}" if row is None else f"{str(rows[row])[:60]!r} in row {row}"
    raise ValueError(f"{expected}: received {where}.")


def _is_numeric(row: Any) -> bool:
    try:
        np.asarray(row, np.float32)
    except (TypeError, ValueError):
        return False
    return True


def make_labels(labels: Sequence[str] | int | None, problem: str | None) -> Labels:
    """Check the labels of a classifier.

    Args:
        labels: Names of the classes, in their order or with their numbers, as in `{"bad": 0, "good": 1}` or the
            reverse; or the number of classes.
        problem: As in `Labels`; `"single_label"` when None.

    Raises:
        ValueError: There are no labels, two are the same, there is one class alone, or the problem is unknown.

    Example:

    >>> make_labels(2, None)
    Labels(names=('LABEL_0', 'LABEL_1'), problem='single_label')
    """
    names, problem = _names(labels), problem or "single_label"
    if problem not in PROBLEMS:
        raise ValueError(f"problem must be one of {PROBLEMS}: received {problem!r}.")
    if problem == "single_label" and len(names) == 1:
        raise ValueError(
            "a classifier needs at least two labels: received one. For one number per text, give problem='regression'."
        )
    return Labels(names, problem)


def _names(labels: Any) -> tuple[str, ...]:
    if labels is None:
        raise ValueError("classification needs labels: names such as ['negative', 'positive'], or their number.")
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list of names, or their number: received the str {labels!r}. Pass a list.")
    if (is_number := isinstance(labels, numbers.Number)) and not is_size(labels):
        raise ValueError(f"labels must be names or a positive number: received {labels}.")
    if is_number:
        return tuple(f"LABEL_{number}" for number in range(labels))
    labels = tuple(_by_number(labels) if isinstance(labels, Mapping) else label_rows(labels))
    are_names = all(isinstance(label, str) and label for label in labels)
    if not labels or not are_names or len(set(labels)) < len(labels):
        raise ValueError(f"labels must be different strings, at least one: received {list(labels)}.")
    return tuple(check_texts("labels", labels))


def _by_number(labels: Mapping) -> list:
    """Return names in the order of their numbers, from {name: number} or {number: name}."""
    pairs = [
        (name, number) if isinstance(name, str) and not isinstance(number, str) else (number, name)
        for name, number in labels.items()
    ]
    names = {int(number): name for name, number in pairs if _is_whole(number)}
    if sorted(names) != [*range(len(labels))]:
        raise ValueError(
            f"a dict of labels must have a number for each name, 0 to {len(labels) - 1}: received {shown({**labels})}."
        )
    return [names[number] for number in range(len(labels))]


def _is_whole(number: Any) -> bool:
    """Return whether a value is a whole number; "0" and 0.0 are, too, since JSON may have them."""
    if isinstance(number, str):
        return number.isascii() and number.isdigit()
    return is_finite(number) and number == int(number)


def _plain_row(row: Any, number: int) -> Any:
    """Return the labels of a text as Python values; raise a `ValueError` for None, or one str."""
    if row is None:
        raise ValueError(f"the labels of row {number} are None: pass [] for a text without any.")
    if isinstance(row, str):
        raise ValueError(f"expected a list of labels for each text, received the str {row!r}: pass [[{row!r}], ...].")
    return row.tolist() if isinstance(row, np.ndarray) else row


def _is_empty(row: Any) -> bool:
    return isinstance(row, (list, tuple, set, frozenset)) and not row


def _holds_names(row: Any) -> bool:
    return isinstance(row, (list, tuple, set, frozenset)) and any(isinstance(name, str) for name in row)
