"""Right answers in a context: forms that users give, checks, and targets of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Rows
from keras_transformers.text.encoded import Encoded
from keras_transformers.utils.number_checks import is_token_id

NO_TARGET = -1
MAX_LENGTH = 2**31  # of a text, in characters
ROWS = (list, tuple, np.ndarray)
Answer = tuple[int, str]  # its start in the context, in characters, and its text


def read_answers(label: Any) -> list[Answer]:
    """Return the right answers to a question, from any form that is accepted.

    Args:
        label: A dict `{"text": [...], "answer_start": [...]}`, as in data sets of Hugging Face; a tuple (start, text);
            a list of these; or None, or an empty dict or list, if the context has no answer.

    Returns:
        (start, text) of each answer.

    Raises:
        ValueError: The label has another form.

    Example:

    >>> read_answers({"text": ["Oslo"], "answer_start": [10]}), read_answers([(10, "Oslo"), (10, "Oslo.")])
    ([(10, 'Oslo')], [(10, 'Oslo'), (10, 'Oslo.')])
    """
    if label is None:
        return []
    if isinstance(label, Mapping):
        return _of_dict(label) if label else []
    if isinstance(label, ROWS) and len(label) == 2 and isinstance(label[1], str):
        return [_checked(label[0], label[1], label)]
    if not isinstance(label, ROWS) or not all(isinstance(one, (Mapping, *ROWS)) for one in label):
        raise _wrong_form(label)
    return [answer for one in label for answer in read_answers(one)]


def _of_dict(label: Mapping) -> list[Answer]:
    texts, starts = label.get("text"), label.get("answer_start")
    if isinstance(texts, str):
        texts, starts = [texts], [starts]
    if not isinstance(texts, ROWS) or not isinstance(starts, ROWS) or len(texts) != len(starts):
        raise _wrong_form(label)
    return [_checked(start, text, label) for start, text in zip(starts, texts, strict=True)]


def _checked(start: Any, text: Any, label: Any) -> Answer:
    if not is_token_id(start, MAX_LENGTH) or not isinstance(text, str) or not text:
        raise _wrong_form(label)
    return int(start), str(text)


def _wrong_form(label: Any) -> ValueError:
    return ValueError(
        "expected answers as {'text': [...], 'answer_start': [...]}, as (start, text) or as a list of these, no text "
        f"empty, or None where the context has no answer: received {str(label)[:80]}."
    )


def misplaced(context: str, answer: Answer) -> str:
    """Return an error message for the place of an answer; empty if the place is right.

    Example:

    >>> misplaced("Ann is in Oslo.", (9, "Oslo"))
    "the answer 'Oslo' is not at character 9 of its context (' Osl' is there), but at 10"
    """
    start, text = answer
    if context.startswith(text, start):
        return ""
    found: list[int] = []
    place = context.find(text)
    while place >= 0 and len(found) < 3:
        found.append(place)
        place = context.find(text, place + 1)
    known = f"but at {', '.join(map(str, found))}" if found else "nor anywhere else in it"
    there = context[start : start + len(text)]
    return f"the answer {text!r} is not at character {start} of its context ({there!r} is there), {known}"


def context_tokens(window: Encoded) -> np.ndarray:
    """Return which tokens of an encoded pair belong to the second text, (T,) bool."""
    found = zip(window.word_ids, window.sequence_ids, strict=True)
    return np.array([word is not None and sequence == 1 for word, sequence in found], bool)


def answer_targets(windows: Sequence[Encoded], answer: Answer | None) -> np.ndarray:
    """Return the first and the last token of an answer in each window of its text.

    A token that holds a part of the answer belongs to it. A window that lacks a part of the answer has no answer: its
    target is the first token, `[CLS]`.

    Args:
        windows: All windows of one pair of question and context.
        answer: Answer in the context; None for no answer.

    Returns:
        (windows, 2) int32; -1, no target, if no token of any window holds a part of the answer.
    """
    targets = np.zeros((len(windows), 2), np.int32)
    if answer is None:
        return targets
    start, end = answer[0], answer[0] + len(answer[1])
    found = []
    for window in windows:
        offsets = np.array(window.offsets, np.int64).reshape(-1, 2)  # (T, 2)
        inside = context_tokens(window) & (offsets[:, 1] > start) & (offsets[:, 0] < end)
        places = inside.nonzero()[0]
        # The first and the last token, the start of the first and the end of the last.
        found.append((*places[[0, -1]], offsets[places[0], 0], offsets[places[-1], 1]) if len(places) else None)

    parts = [part for part in found if part is not None]
    if not parts:
        return targets + NO_TARGET
    whole = min(part[2] for part in parts), max(part[3] for part in parts)
    for number, part in enumerate(found):
        if part is not None and part[2:] == whole:
            targets[number] = part[:2]
    return targets


@dataclass(frozen=True)
class AnswerSpans:
    """The objective of rows with the first and last token of an answer: the model's inputs and (B, 2) targets.

    Args:
        pad_id: int, the id of padding.

    Raises:
        ValueError: from `check`: labels are not two whole numbers a row, below the row's length; negative for no
            target.

    Example:

    >>> rows = Rows.of([[2, 7, 3, 8, 9, 3], [2, 7, 3]], labels=[[3, 4], [0, 0]])
    >>> x, y = AnswerSpans()(rows, width=8)
    >>> x["token_ids"].shape, y.tolist()
    ((2, 8), [[3, 4], [0, 0]])
    """

    pad_id: int = 0

    def check(self, rows: Rows):
        labels = rows.labels
        if labels is None:
            return
        if labels.shape != (rows.num_rows, 2) or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(
                f"Received labels of shape {labels.shape} and type {labels.dtype}: expected two whole numbers a row."
            )
        if (wrong := (labels >= rows.lengths[:, None]).any(axis=1)).any():
            row = int(wrong.argmax())
            last = rows.lengths[row] - 1
            raise ValueError(f"Received label {labels[row].tolist()} in row {row}: expected tokens from 0 to {last}.")

    def __call__(self, rows: Rows, width: int, rng: np.random.Generator | None = None) -> tuple:
        inputs = rows.padded(width, self.pad_id)
        return (inputs,) if rows.labels is None else (inputs, rows.labels.astype(np.int32))
