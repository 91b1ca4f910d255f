"""The names of a classifier's labels in config.json, in the order of its outputs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.utils.json_file import check_types
from keras_transformers.utils.untrusted import shown

MOST = 10**6  # labels
NUMBER = re.compile(r"(?:LABEL_)?(-?\d{1,9})")


class Labels(NamedTuple):
    """The labels of a classifier.

    Args:
        names: Names in the order of the outputs; LABEL_0 and so on if there are none.
        fault: Why the file's names cannot be used; empty if they can, or if it has none.
    """

    names: tuple[str, ...]
    fault: str = ""


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether the labels have no names but numbers, in order: others may take their place.

    Example:

    >>> are_numbers(["LABEL_0", "LABEL_1"]), are_numbers(["-1", "0", "1"]), are_numbers(["1", "0"]), are_numbers(["no"])
    (True, True, False, False)
    """
    matches = [NUMBER.fullmatch(name) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    return len(numbers) == len(names) and all(one < other for one, other in itertools.pairwise(numbers))


def read_labels(values: Mapping[str, Any], path: Path) -> Labels:
    """Read the labels that a config.json names.

    Args:
        values: Values of the file.
        path: Path of the file, for errors.

    Raises:
        ValueError: `id2label` has keys that are no numbers, or `label2id` contradicts it.
    """
    check_types(values, {"id2label": dict, "label2id": dict, "num_labels": int}, path)
    labels = values.get("id2label")
    if not labels:  # `transformers` does not write it for two labels
        return Labels(_numbered(values.get("num_labels") or 2, path))
    if not all(number.isdecimal() for number in labels):
        raise ValueError(f"{path}: id2label must name a label for each number: received {shown(labels)}.")
    names = [labels[key] for key in sorted(labels, key=int)]
    names = [str(name) if type(name) is int else name for name in names]
    is_whole = sorted(map(int, labels)) == list(range(len(labels)))
    if not is_whole or not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        return Labels(_numbered(len(labels), path), _fault(labels, path))
    _check_inverse(names, values.get("label2id") or {}, path)
    return Labels(tuple(names))


def _numbered(count: int, path: Path) -> tuple[str, ...]:
    if not 0 < count <= MOST:
        raise ValueError(f"{path}: num_labels={shown(count)}: expected a number from 1 to {MOST:,}. Correct it.")
    return tuple(f"LABEL_{index}" for index in range(count))


def _fault(labels: Mapping[str, Any], path: Path) -> str:
    return (
        f"{path}: id2label must give each number from 0 to {len(labels) - 1} a different name: received "
        f"{shown(labels)}. Correct it, or give labels=[...]: {len(labels)} names, in the order of the classifier's "
        "outputs."
    )


def _check_inverse(names: Sequence[str], numbers: Mapping[str, Any], path: Path) -> None:
    """Refuse a `label2id` that gives a label another number; the default, LABEL_0 and so on, says nothing."""
    if numbers == {f"LABEL_{index}": index for index in range(len(numbers))}:
        return
    by_number: dict[str, list[str]] = {}
    for name, number in numbers.items():
        by_number.setdefault(str(number), []).append(name)
    for number, name in enumerate(names):
        wrong_name = name not in by_number.get(str(number), [name])
        if wrong_name or str(numbers.get(name, number)) != str(number):
            raise ValueError(
                f"{path}: id2label says that {number} is {shown(name)}, and label2id {shown(dict(numbers))}. Correct "
                "the one that is wrong, or remove label2id."
            )
