"""The texts that a vocabulary is learned from: strings in memory, files, or a data set, one text at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.utils.text_checks import check_text
from keras_transformers.utils.untrusted import shown

ONE_A_TEXT = "Expected an iterable of str to train on"
SOURCES = f"{ONE_A_TEXT}, a Path, a list of Paths, or a tf.data.Dataset of strings"
INFINITE = -1  # of `tf.data.Dataset.cardinality`


def training_texts(texts: Any) -> Iterator[str]:
    """Return an iterator over texts; what they are is checked now, each text when it is asked for.

    Args:
        texts: An iterable of str; a Path, or a list of Paths, for `TextFiles`; or a `tf.data.Dataset` of strings,
            scalars or batches (B,).

    Raises:
        ValueError: They are something else, one str among it; files are missing; the data set never ends; and on
            iteration, a text is no str, or is not valid Unicode.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "songs.txt")
    >>> _ = path.write_text("Hey, ho.")
    >>> list(training_texts(path)), list(training_texts(["Hey, ho."]))
    (['Hey, ho.'], ['Hey, ho.'])
    """
    if isinstance(texts, str):
        remedy = "Pass [text] or its lines, or Path(name) for the text in a file"
        raise ValueError(f"{ONE_A_TEXT}, received one str. {remedy}.")
    if hasattr(texts, "element_spec"):
        _check_dataset(texts)
        return _strings(_decoded(texts))
    paths = [texts] if isinstance(texts, os.PathLike) else texts
    if isinstance(paths, (list, tuple)) and any(isinstance(path, os.PathLike) for path in paths):
        _check_paths(paths)
        return _strings(TextFiles(list(map(Path, paths))))
    _check_iterable(texts)
    return _strings(texts)


def _check_dataset(texts: Any) -> None:
    spec = texts.element_spec
    is_string = getattr(getattr(spec, "dtype", None), "name", None) == "string"
    if not is_string or spec.shape.rank not in (None, 0, 1):
        raise ValueError(
            f"{SOURCES}: received a data set of {shown(spec)}. Keep the texts alone: "
            "dataset.map(lambda text, label: text)."
        )
    if int(texts.cardinality()) == INFINITE:
        raise ValueError(f"{SOURCES}: received a data set that never ends. Leave repeat() out, or take(n) of it.")


def _check_paths(paths: Iterable[Any]) -> None:
    if others := [path for path in paths if not isinstance(path, os.PathLike)]:
        raise ValueError(
            f"{SOURCES}: received Paths and {shown(others[0])} in one list. Read the files and give their texts, or "
            "give Path(name) for each file."
        )


def _check_iterable(texts: Any) -> None:
    is_table = any(hasattr(texts, name) for name in ("columns", "column_names", "schema"))
    if isinstance(texts, (bytes, Mapping)) or is_table or not isinstance(texts, Iterable):
        remedy = "Give one of its columns, such as table['text']" if is_table else "Give a list of its texts"
        raise ValueError(f"{SOURCES}: received {type(texts).__name__}. {remedy}.")
    if getattr(texts, "ndim", 1) > 1:
        raise ValueError(f"{SOURCES}: received an array {getattr(texts, 'shape', '')}. Give one column: texts[:, 0].")


def _decoded(texts: Any) -> Iterator[str]:
    rows = (row for element in texts.as_numpy_iterator() for row in np.ravel(element).tolist())
    for row, content in enumerate(rows):
        try:
            yield content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"the text {row} of the data set is not UTF-8 ({error.reason} at its byte {error.start}): "
                f"{content[error.start : error.start + 8]!r}. Convert it: tf.strings.unicode_transcode(text, "
                '"latin-1", "UTF-8").'
            ) from error


def _strings(texts: Iterable[Any]) -> Iterator[str]:
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise ValueError(f"{ONE_A_TEXT}, received one of {kind} at row {row}.{_remedy(text)}")
        yield check_text("texts", text, row)


def _remedy(text: Any) -> str:
    """Return what to do about a text that is no str; empty if that is unknown."""
    if isinstance(text, bytes):
        return ' Decode it: text.decode("utf-8").'
    if isinstance(text, os.PathLike):
        return " Give the Paths as a list."
    if isinstance(text, (list, tuple)) or getattr(text, "ndim", 0) > 0:
        return " It is a batch of texts: give them one by one, as in itertools.chain.from_iterable(batches)."
    return ""
