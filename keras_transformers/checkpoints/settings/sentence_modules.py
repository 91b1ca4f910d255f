"""The list of modules of a sentence-transformers folder: what they are, and where they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from keras_transformers.utils.json_file import read_json
from keras_transformers.utils.untrusted import shown

MODULES = "modules.json"
MOST_LETTERS = 60  # of the name of a module's folder; no file system takes more than 255 bytes


def is_sentence_transformer(folder: str | Path) -> bool:
    """Return whether a checkpoint folder is one of sentence-transformers."""
    return Path(folder, MODULES).is_file()


def transformer_folder(folder: str | Path) -> Path:
    """Return the folder of the model itself: the given one, or one in it (`0_Transformer`), as old versions wrote it.

    Raises:
        ValueError: It is of sentence-transformers, and its first module is no Transformer, or others are not supported.
    """
    return Path(folder, modules_of(folder)[0][1] if is_sentence_transformer(folder) else "")


def modules_of(folder: str | Path) -> list[tuple[str, str]]:
    """Return the kind and the path of each module of a folder, in order.

    Raises:
        ValueError: The list is damaged, or has modules that are not supported.
    """
    path = Path(folder, MODULES)
    modules = read_json(path, "a list of modules")
    try:
        types = [str(module["type"]) for module in modules]
        paths = [module["path"] for module in modules]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no list of modules ({error!r}). Fetch or write it again.") from error
    if foreign := [name for name in types if not name.startswith("sentence_transformers.")]:
        raise ValueError(
            f"{path} has modules that are code beside the model, which is not run here: {shown(foreign)}. Load the "
            "model alone, from a copy of the folder without modules.json."
        )
    kinds = [name.rpartition(".")[2] for name in types]
    behind = kinds[2:-1] if kinds[2:] and kinds[-1] == "Normalize" else kinds[2:]
    is_known = kinds[:2] == ["Transformer", "Pooling"] and set(behind) <= {"Dense"}
    if not is_known or not all(map(_is_inside, paths)):
        raise ValueError(
            f"{path} has the modules {shown(kinds)} in {shown(paths)}: expected Transformer, Pooling, any number of "
            "Dense, and perhaps Normalize, in this order, in folders of this one. Others are not supported."
        )
    return [*zip(kinds, paths, strict=True)]


def _is_inside(place: Any) -> bool:
    """Return whether a value is the name of a folder in this one, or of this one."""
    is_name = isinstance(place, str) and place != ".." and "\0" not in place and place == os.path.basename(place)
    return is_name and len(place) <= MOST_LETTERS
