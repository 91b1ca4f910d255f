"""Upper and lower case of any text, as this Python has them: tables of code points in the graph."""

from __future__ import annotations

import sys
from functools import cache
from typing import NamedTuple

import numpy as np
import tensorflow as tf

PAGE = 256
OTHER, CASED, IGNORABLE = range(3)  # classes of code points beside a capital sigma
SIGMA, FINAL_SIGMA = 0x3A3, "ς"
DELIMITERS = "-({[<"  # and white space: words of Jinja's filter `title` begin after these


class CaseTable(NamedTuple):
    """A change of each code point: by a difference, or to a text."""

    starts: np.ndarray  # of each page of 256 code points, where its differences begin in `pages`
    pages: np.ndarray
    long: np.ndarray  # code points that become several, in order
    texts: list[str]


def paged(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of all code points in pages, equal ones once: where each page begins, and the pages."""
    distinct: dict[bytes, int] = {}
    index = [PAGE * distinct.setdefault(page.tobytes(), len(distinct)) for page in entries.reshape(-1, PAGE)]
    return np.array(index, np.int32), np.frombuffer(b"".join(distinct), entries.dtype)


@cache
def case_table(name: str) -> CaseTable:
    """Return the table of a method of str: upper, lower or title."""
    letters = [chr(point) for point in range(sys.maxunicode + 1)]
    changed = [(point, getattr(letter, name)()) for point, letter in enumerate(letters)]
    entries = np.array([ord(text) - point if len(text) == 1 else 0 for point, text in changed], np.int32)
    long = [(point, text) for point, text in changed if len(text) > 1]
    return CaseTable(*paged(entries), np.array([point for point, _ in long], np.int32), [text for _, text in long])


@cache
def sigma_classes() -> tuple[np.ndarray, np.ndarray]:
    """Return which code points Python takes for cased, and which it skips, when it lowers a capital sigma."""
    entries = np.zeros(sys.maxunicode + 1, np.int32)
    for point in range(len(entries)):
        if (chr(point) + "Σ").lower()[-1] == FINAL_SIGMA:
            entries[point] = CASED
        elif ("A" + chr(point) + "Σ").lower()[-1] == FINAL_SIGMA:
            entries[point] = IGNORABLE
    return paged(entries)


def look_up(index: np.ndarray, pages: np.ndarray, points: tf.Tensor) -> tf.Tensor:
    """Return the entry of each code point (N,) in a table of pages."""
    return tf.gather(pages, tf.gather(index, points // PAGE) + points % PAGE)


def changed(points: tf.Tensor, name: str) -> tf.Tensor:
    """Return the text of each code point (N,) in another case."""
    table = case_table(name)
    texts = tf.strings.unicode_encode((points + look_up(table.starts, table.pages, points))[:, None], "UTF-8")
    if not table.texts:
        return texts
    place = tf.minimum(tf.searchsorted(table.long, points), len(table.texts) - 1)
    return tf.where(tf.equal(tf.gather(table.long, place), points), tf.gather(table.texts, place), texts)


def lowered(points: tf.Tensor, group: tf.Tensor) -> tf.Tensor:
    """Return the text of each code point in lower case; a sigma at the end of a word of its group has another form."""
    kept = tf.where(tf.not_equal(look_up(*sigma_classes(), points), IGNORABLE))  # (M, 1)
    near = tf.gather(points, kept[:, 0])
    cased = tf.equal(look_up(*sigma_classes(), near), CASED)
    same = tf.equal(*(tf.gather(group, kept[some, 0]) for some in (slice(1, None), slice(-1))))
    before = tf.concat([[False], cased[:-1] & same], 0)[: tf.size(near)]
    after = tf.concat([cased[1:] & same, [False]], 0)[: tf.size(near)]
    is_final = tf.equal(near, SIGMA) & before & ~after
    return tf.where(tf.scatter_nd(kept, is_final, tf.shape(points, tf.int64)), FINAL_SIGMA, changed(points, "lower"))


def change_case(rows: tf.Tensor, name: str) -> tf.Tensor:
    """Return strings in another case.

    Args:
        rows: Strings (B,).
        name: A filter of Jinja: upper, lower, capitalize or title.
    """
    scalar = rows.shape.rank == 0
    ragged = tf.strings.unicode_decode(tf.reshape(rows, [-1]), "UTF-8")
    points, row = ragged.values, tf.cast(ragged.value_rowids(), tf.int32)
    if name == "upper":
        texts = changed(points, "upper")
    else:
        first = tf.concat([[True], row[1:] != row[:-1]], 0)[: tf.size(row)]
        group = row
        if name == "title":  # each word is changed by itself, its first letter apart
            is_delimiter = _is_delimiter(points)
            first |= tf.concat([[False], is_delimiter[:-1]], 0)[: tf.size(row)] & ~is_delimiter
            apart = first | is_delimiter
            group = tf.cumsum(tf.cast(apart | tf.concat([[False], apart[:-1]], 0)[: tf.size(row)], tf.int32))
        texts = lowered(points, group)
        if name != "lower":
            texts = tf.where(first, changed(points, "upper" if name == "title" else "title"), texts)
    joined = tf.strings.unsorted_segment_join(texts, row, tf.cast(ragged.nrows(), tf.int32))
    return joined[0] if scalar else joined


def _is_delimiter(points: tf.Tensor) -> tf.Tensor:
    spaces = [point for point in range(sys.maxunicode + 1) if chr(point).isspace()]
    return tf.reduce_any(points[:, None] == tf.constant([*map(ord, DELIMITERS), *spaces]), 1)
