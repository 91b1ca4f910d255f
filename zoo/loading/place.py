"""The place that a name refers to: a model of the zoo, a folder, a repository or a preset. Without Keras."""

from __future__ import annotations

import os
import re
from pathlib import Path

from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.files.atomic_folder import left_behind
from keras_transformers.utils.untrusted import nearest, resolved
from zoo.registry.entry import Entry, describe, is_known, no_such_model

# A folder of a model has one of these files.
MARKS = ("config.json", "adapter_config.json", "bert_config.json", "hparams.json", "saved_model.pb", "params.yaml")


def stands_for(name: str | os.PathLike) -> Entry | Path | str:
    """Return what `zoo.load` would load; nothing is read or downloaded.

    Args:
        name: As for `zoo.load`.

    Returns:
        The entry of a model of the zoo; a folder, a file, or the prefix of a TensorFlow checkpoint; or a str that
        begins with `hf:` or `keras-nlp:`.

    Raises:
        ValueError: There is no such name or folder (the message has the nearest ones), or it is both.

    Example:

    >>> stands_for("gpt_mini_en").bundled
    True
    """
    text = os.fspath(name)
    if text.startswith("hf:"):
        hub.parse(text)  # an error for what can be no repository
    if text.startswith(("hf:", "keras-nlp:")):
        return text
    resolved(text)  # an error for what can be no path
    return describe(text) if is_known(text) and not _is_folder(name) else _existing(text)


def _is_folder(folder: str | os.PathLike) -> bool:
    """Return whether a name of the zoo is meant as a folder: a `Path` is, if the folder exists; a str never is.

    Raises:
        ValueError: A str that is also the name of a folder of a model.
    """
    place = Path(folder)
    if not isinstance(folder, str):
        return place.is_dir()
    if any((place / name).is_file() for name in MARKS):
        entry = describe(folder)
        of_zoo = str(entry.folder) if entry.bundled else entry.source
        remedy = f", or {of_zoo!r} for that of the zoo" if of_zoo else ""
        raise ValueError(
            f"{folder!r} is a model of the zoo and a folder here: write './{folder}' for the folder{remedy}."
        )
    return False


def _existing(folder: str) -> Path:
    if (path := Path(folder)).is_dir() or os.path.isfile(f"{path}.index"):
        return path
    if path.is_file():
        if prefix := _prefix(path):
            raise ValueError(
                f"{folder!r} is a file: expected a folder, or the prefix of a TensorFlow checkpoint.{prefix}"
            )
        return path  # of a checkpoint that is one file, or of one that `find_stored` tells
    if former := left_behind(folder):
        raise ValueError(f"there is no folder {folder!r}: a save was interrupted. Rename {former}, the old one, to it.")
    if os.sep in folder:
        raise ValueError(
            f"there is no folder {folder!r}. Give a folder, a name of zoo.names(), or 'hf:org/repo'.{nearest(folder)}"
        )
    raise no_such_model(folder)


def _prefix(path: Path) -> str:
    """Return a sentence with the prefix of the checkpoint that a file belongs to; empty if it belongs to none."""
    prefix = re.sub(r"\.(index|meta|data-\d+-of-\d+)$", "", str(path))
    return f" Give {prefix!r}." if prefix != str(path) and Path(f"{prefix}.index").is_file() else ""
