"""Validation data of `Task.fit`: `validation_data` in any form that is accepted, and `validation_split`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.contract.kind import Kind, keyword_names
from keras_transformers.tasks.fit.trainable import Trainable
from keras_transformers.tasks.inputs.sources import check_given, check_learnable, is_ready
from keras_transformers.text.chat.learnt_answers import is_conversations
from keras_transformers.utils.number_checks import is_number
from keras_transformers.utils.text_checks import listed

COLUMNS = ("texts", "labels", "pairs")
EXPECTED = (
    "Expected (texts, labels) or (texts, labels, pairs), a dict of these names, texts alone where the task needs no "
    "labels, or a data set, such as task.dataset(texts, labels, shuffle=False)"
)


def read_columns(kind: Kind, data: Any) -> dict[str, Any]:
    """Return the texts, labels and pairs of `validation_data`, by name.

    Args:
        kind: Kind of the task.
        data: One of the forms of `EXPECTED`, but no data set of batches.

    Raises:
        ValueError: The data have another form.

    Example:

    >>> from keras_transformers.tasks.contract.kind import find_kind
    >>> read_columns(find_kind("classification"), [["a fine film"], [1]])
    {'texts': ['a fine film'], 'labels': [1]}
    """
    if isinstance(data, dict):
        if unknown := [name for name in data if name not in COLUMNS]:
            raise ValueError(f"received a dict with {unknown}. {EXPECTED}.")
        if "texts" not in data:
            raise ValueError(f"received a dict without texts. {EXPECTED}.")
        return data
    if _are_texts(kind, data):
        return {"texts": data}
    if not isinstance(data, (list, tuple)) or not 1 <= len(data) <= len(COLUMNS):
        size = f" of {len(data)}" if isinstance(data, (list, tuple)) else ""
        raise ValueError(f"received a {type(data).__name__}{size}. {EXPECTED}.")
    return dict(zip(COLUMNS, data, strict=False))


def _are_texts(kind: Kind, data: Any) -> bool:
    """Return whether these are texts, not columns of texts and labels: strings, documents or conversations."""
    if kind.takes_messages and is_conversations(data):
        return True
    if isinstance(data, str):
        return kind.takes_documents  # the name of a file
    if isinstance(data, (list, tuple)):
        first = data[0] if data and kind.takes_documents and isinstance(data[0], (list, tuple)) else data
        return bool(first) and all(isinstance(text, str) for text in first)
    return hasattr(data, "__iter__") or hasattr(data, "__getitem__")


def evaluation_set(task: Trainable, rows: Sequence[Any], settings: dict[str, Any], in_order: bool = False) -> Any:
    """Return a data set of all texts, once: sorted by length, or in the given order if metrics depend on it.

    Args:
        task: The task.
        rows: Texts, labels and pairs.
        settings: Settings of `Task.dataset`.
        in_order: Whether to keep the given order in any case.
    """
    texts, labels, pairs = rows
    check_given(texts)
    check_learnable(task.kind, task.parts, texts, labels, pairs)
    every = {"shuffle": False, "drop_remainder": False, "accumulation_steps": 1, "class_weight": None}
    every["steps_per_epoch"] = None
    if "whole" in keyword_names(task.parts.source):
        every["whole"] = True  # words that are cut off would be missing from the measure
    every |= {"sample_weight": None, "pairs": pairs, "by_length": task.parts.rows_alone and not in_order}
    return task.dataset(texts, labels, **(settings | every))


def validation_set(task: Trainable, data: Any, settings: dict[str, Any], in_order: bool = False) -> Any:
    """Return the data set that is evaluated after each epoch, or None.

    Args:
        task: The task that is fitted.
        data: `validation_data` as given by the user.
        settings: Settings of `Task.dataset`.
        in_order: Whether rows stay in the given order.

    Raises:
        ValueError: The task cannot be evaluated on the data.
    """
    if data is None:
        return None
    try:
        if not is_ready(data):
            columns = read_columns(task.kind, data)
            _check_stream(task.kind, columns)
            return evaluation_set(task, [columns.get(name) for name in COLUMNS], settings, in_order)
        _check_batches(data, task.model.input)
    except ValueError as error:
        raise ValueError(f"validation data: {error}") from None
    return data


def _check_stream(kind: Kind, columns: dict[str, Any]) -> None:
    """Raise a `ValueError` for a stream of texts alone if labels are needed: Keras fails after the first epoch only."""
    spec = getattr(columns["texts"], "element_spec", None)
    if kind.needs_labels and spec is not None and not (isinstance(spec, tuple) and len(spec) > 1):
        raise ValueError(f"{kind.name} needs labels: received a stream of texts alone. Expected (text, label) a row.")


def _check_batches(data: Any, inputs: dict[str, Any]) -> None:
    """Raise a `ValueError` for batches without labels, or for another model: Keras fails after the first epoch only."""
    spec = data.element_spec if hasattr(data, "element_spec") else _first(data)
    if not (isinstance(spec, tuple) and len(spec) > 1):
        raise ValueError("received a data set without labels. Expected (inputs, labels): task.dataset(texts, labels).")
    if not (isinstance(spec[0], dict) and inputs.keys() <= spec[0].keys()):
        raise ValueError(f"received a data set for another model. Expected the inputs {sorted(inputs)}.")


def _first(data: keras.utils.PyDataset) -> Any:
    """Return the first batch, and leave the position where it was."""
    position = getattr(data, "position", None)
    if position is None:
        return data[0]
    before = position.epoch, position.batch
    batch = data[0]
    position.epoch, position.batch = before
    return batch


def hold_out(columns: dict[str, Any], validation_data: Any, share: Any) -> tuple[dict[str, Any], Any]:
    """Split the last rows off, before they are shuffled, as Keras does.

    Args:
        columns: Texts, labels, pairs and weights, one row per text; or None in their place.
        validation_data: None; or anything, if `share` is 0.
        share: `validation_split`, in [0, 1).

    Returns:
        The columns to learn from, and those held out; for a share of 0, all columns and `validation_data`.

    Raises:
        ValueError: The share is out of range, one part would be empty, or columns have different lengths.
    """
    if not (is_number(share) and 0 <= share < 1):
        raise ValueError(f"validation_split must be a share of the texts, in [0, 1): received {share!r}.")
    if not share:
        return columns, validation_data
    if validation_data is not None:
        raise ValueError(f"received validation_data, and validation_split={share}: leave one out.")
    given = {name: _rows(name, values) for name, values in columns.items() if values is not None}
    counts = {name: len(rows) for name, rows in given.items()}
    count = counts["texts"]
    if len({*counts.values()}) > 1:
        raise ValueError(f"received {counts}: expected the same number of each, for validation_split={share}.")
    if not 0 < (begin := math.floor(count * (1 - share))) < count:
        raise ValueError(
            f"validation_split={share} of {count} texts leaves {begin} to learn from: expected at least one there, and "
            "one held out."
        )
    parts = (slice(None, begin), slice(begin, None))
    learnt, held = ({name: rows[part] for name, rows in given.items()} for part in parts)
    return columns | learnt, {name: held[name] for name in COLUMNS if name in held}


def _rows(name: str, values: Any) -> Sequence | np.ndarray:
    rows = values if isinstance(values, (list, tuple, np.ndarray)) else listed(values)
    if rows is None:
        raise ValueError(f"validation_split needs {name} in a list: received {str(values)[:60]!r}.")
    return rows
