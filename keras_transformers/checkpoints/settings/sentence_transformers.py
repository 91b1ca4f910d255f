"""Files of a sentence-transformers folder besides the model: how its vectors are pooled, and the longest text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import check_types, read_json, read_object
from keras_transformers.utils.untrusted import shown

TASK = "sentence_embedding"
MODULES, LENGTH = "modules.json", "sentence_bert_config.json"
POOLING, NORMALIZE = "1_Pooling", "2_Normalize"
POOLINGS = {"mean": "pooling_mode_mean_tokens", "first": "pooling_mode_cls_token"}


def is_sentence_transformer(folder: str | Path) -> bool:
    """Return whether a checkpoint folder is one of sentence-transformers."""
    return Path(folder, MODULES).is_file()


def read_sentence_transformer(folder: str | Path) -> dict[str, Any]:
    """Read how a folder of sentence-transformers makes vectors.

    Args:
        folder: With `modules.json`.

    Returns:
        `pooling`, `"mean"` or `"first"`; `normalize`, bool; `max_length`, tokens of the longest text, or None.

    Raises:
        ValueError: A file is missing or damaged, a module or a way of pooling is not supported, or texts are to be
            lower-cased and the tokenizer does not do so.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_sentence_transformer(folder, 384, 256, pooling="mean", normalize=True)
    >>> read_sentence_transformer(folder)
    {'pooling': 'mean', 'normalize': True, 'max_length': 256}
    """
    path = Path(folder, MODULES)
    modules = read_json(path, "a list of modules")
    try:
        kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
        paths = [module["path"] for module in modules]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no list of modules ({error!r}). Fetch or write it again.") from error
    is_known = kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
    if not is_known or paths[0] or not all(map(_is_inside, paths)):
        raise ValueError(
            f"{path} has the modules {shown(kinds)} in {shown(paths)}: only Transformer, in the folder itself, Pooling "
            "and Normalize are supported."
        )
    length = Path(folder, LENGTH)
    limits = read_object(length) if length.is_file() else {}
    check_types(limits, {"max_seq_length": int, "do_lower_case": bool}, length)
    if (most := limits.get("max_seq_length")) is not None and most < 1:
        raise ValueError(f"{length}: max_seq_length must be a number of tokens above 0: received {shown(most)}.")
    if limits.get("do_lower_case") and not _is_lowercasing(folder):
        raise ValueError(
            f"{length} says do_lower_case, and the tokenizer beside it keeps capital letters: make it "
            "lower-case texts, in tokenizer.json or tokenizer_config.json, or set do_lower_case to false."
        )
    pooling = _read_pooling(Path(folder, paths[1], "config.json"))
    return {"pooling": pooling, "normalize": len(kinds) == 3, "max_length": limits.get("max_seq_length")}


def _is_inside(place: Any) -> bool:
    """Return whether a value is the name of a folder in this one, or of this one."""
    return isinstance(place, str) and place != ".." and "\0" not in place and place == os.path.basename(place)


def _is_lowercasing(folder: str | Path) -> bool:
    """Return whether the tokenizer of a folder lower-cases texts."""
    letters = " ".join(ascii_lowercase)
    small, capital = Tokenizer.from_folder(folder).encode([letters, letters.upper()])
    return small.ids == capital.ids


def _read_pooling(path: Path) -> str:
    values = read_object(path)
    # Version 5 writes one name; older ones write a flag for each way.
    chosen = values.get("pooling_mode") or [key for key, value in values.items() if "_mode_" in key and value is True]
    chosen = chosen if isinstance(chosen, list) else [chosen]
    ours = {theirs: name for name, theirs in POOLINGS.items()} | {"mean": "mean", "cls": "first"}
    if chosen not in [[name] for name in ours]:
        raise ValueError(f"{path} says pooling by {shown(chosen)}: expected one of {sorted(ours)}.")
    return ours[chosen[0]]


def write_sentence_transformer(
    folder: str | Path, hidden_dim: int, max_length: int, *, pooling: str, normalize: bool
) -> None:
    """Write the files that `read_sentence_transformer` reads.

    Args:
        folder: Of the model.
        hidden_dim: Size of a vector.
        max_length: Tokens of the longest text.
        pooling: `"mean"` or `"first"`.
        normalize: Whether vectors are scaled to length one.
    """
    paths = {"Transformer": "", "Pooling": POOLING} | ({"Normalize": NORMALIZE} if normalize else {})
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(paths.items())
    ]
    flags = {theirs: ours == pooling for ours, theirs in POOLINGS.items()}
    more = dict.fromkeys(("pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens"), False)
    files: Mapping[str, Any] = {
        MODULES: modules,
        LENGTH: {"max_seq_length": max_length, "do_lower_case": False},
        f"{POOLING}/config.json": {"word_embedding_dimension": hidden_dim, **flags, **more},
    }
    for name, values in files.items():
        path = Path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    if normalize:
        Path(folder, NORMALIZE).mkdir()  # empty, as sentence-transformers writes it
