"""Write a folder whole or not at all, and never over what is somebody else's."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# What a save writes, by the file that every such folder has. Another file in there belongs to somebody else.
WRITTEN = {
    # Here, and by `save_pretrained` of models and tokenizers in `transformers`.
    "config.json": (
        "config.json", "generation_config.json",
        "model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json",
        "pytorch_model.bin", "pytorch_model-*-of-*.bin", "pytorch_model.bin.index.json",
        "tokenizer.json", "target_tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "added_tokens.json", "chat_template.jinja", "vocab.txt", "vocab.json", "target_vocab.json", "merges.txt",
        "source.spm", "target.spm", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model",
    ),
    "saved_model.pb": (
        "saved_model.pb", "fingerprint.pb", "keras_metadata.pb",
        "variables/variables.index", "variables/variables.data-*-of-*",
        "assets/", "assets.extra/tf_serving_warmup_requests",
    ),
}  # fmt: skip
OLD = ".old"  # the end of the hidden name of a whole folder that is to be replaced
AT_WORKING_DIRECTORY, EXCHANGE = -100, 2  # of renameat2 in <fcntl.h> and <linux/fs.h>


@contextlib.contextmanager
def atomic_folder(folder: str | os.PathLike, marker: str = "config.json") -> Iterator[Path]:
    """Gives a temporary folder beside `folder` and, if nothing fails, puts it in its place.

    If writing is interrupted, the old folder is as it was. What a killed process left is removed by the next one that
    writes there. Where the system cannot exchange two folders in one step, as Linux does, a process that is killed
    between two renames leaves no folder: the next write brings the old one back, and `left_behind` tells where it is.

    Args:
        folder: Where the files shall be.
        marker: A key of `WRITTEN`: the file by which an existing folder is known to be of the kind that may be
            replaced.

    Yields:
        The temporary folder.

    Raises:
        ValueError: As for `check_target`, before and after the writing.

    Example:

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "model")
    >>> with atomic_folder(target) as temporary:
    ...     _ = (temporary / "config.json").write_text("{}")
    >>> [path.name for path in target.iterdir()]
    ['config.json']
    """
    check_target(folder, marker)
    target = Path(folder).resolve()
    _clear(target)
    with contextlib.ExitStack() as stack:
        temporary = _begin(target, stack)
        yield temporary
        check_target(target, marker)  # again: writing may have taken minutes
        _replace(target, temporary)


def check_target(folder: str | os.PathLike, marker: str = "config.json") -> None:
    """Raises the `ValueError` of `atomic_folder`, if it would: before the work whose result shall be written.

    Args:
        folder: Where the files shall be.
        marker: As for `atomic_folder`.

    Raises:
        ValueError: `folder` holds a file that no save would have written, or another program's config.json; it is the
            working directory, the home folder or a mount point; it is a file, or lies in one; or nothing can be
            written beside it.
    """
    target = Path(folder)
    parent = next((path for path in target.resolve().parents if path.exists()), target)
    if not parent.is_dir():
        raise ValueError(f"{parent} is a file, so there can be no folder {folder}. Give another folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ValueError(f"{parent} does not allow to write in it, so there can be no new {folder}.")
    if not target.exists():
        return
    if not target.is_dir():
        raise ValueError(f"{folder} is a file and holds no {marker}, so it is not replaced. Give another folder.")
    _check_place(target)
    if not any(target.iterdir()):
        return
    if not (target / marker).is_file():
        raise ValueError(f"{folder} exists and holds no {marker}, so it is not replaced. Give another folder.")
    if marker == "config.json" and not _is_model(target / marker):
        raise ValueError(f"the config.json in {folder} tells of no model, so it is not replaced. Give another folder.")
    if others := _others(target, WRITTEN[marker]):
        more = f" and {len(others) - 5} more" * (len(others) > 5)
        raise ValueError(
            f"{folder} holds {', '.join(map(repr, others[:5]))}{more} beside its {marker}, which no save has written, "
            "so it is not replaced. Give another folder, or move that elsewhere."
        )


def left_behind(folder: str | os.PathLike) -> Path | None:
    """Where the old folder is, whole, if a process was killed while it replaced it; None if nothing is missing."""
    target = Path(folder).resolve()
    aside = [path for path in _hidden(target) if path.suffix == OLD]
    return aside[0] if aside and not target.exists() else None


def _check_place(target: Path) -> None:
    """A folder that others stand in cannot be exchanged for another one."""
    places = {"the working directory": os.curdir, "the home folder": os.path.expanduser("~")}
    kinds = [name for name, place in places.items() if os.path.exists(place) and os.path.samefile(target, place)]
    if os.path.ismount(target):
        kinds.append("a mount point")
    if kinds:
        raise ValueError(f"{target} is {kinds[0]}, so it is not replaced: give a folder in it.")


def _is_model(config: Path) -> bool:
    try:
        values = json.loads(config.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and not values.keys().isdisjoint(("model_type", "architectures"))


def _others(folder: Path, written: Sequence[str], prefix: str = "") -> list[str]:
    """What is in a folder besides the files that match a pattern. A link is: no save makes one."""
    others = []
    for path in sorted(folder.iterdir()):
        name = prefix + path.name
        is_file = path.is_file() and any(fnmatchcase(name, pattern) for pattern in written)
        is_folder = path.is_dir() and any(pattern.startswith(f"{name}/") for pattern in written)
        if path.is_symlink() or not (is_file or is_folder):
            others.append(name)
        elif is_folder:
            others += _others(path, written, f"{name}/")
    return others


def _hidden(target: Path) -> list[Path]:
    """The temporary folders of all processes that write there, or did."""
    name = re.compile(rf"{re.escape(f'.{target.name}.')}[0-9a-f]{{32}}({re.escape(OLD)})?")
    candidates = target.parent.glob(glob.escape(f".{target.name}.") + "*")
    return [path for path in candidates if name.fullmatch(path.name)]


def _clear(target: Path) -> None:
    """Removes the temporary folders of processes that are no more, and brings the old folder back if it is missing."""
    for path in _hidden(target):
        with _locked(path.with_suffix("") if path.suffix == OLD else path) as is_free:
            if is_free and path.suffix == OLD and not target.exists():
                path.rename(target)
            elif is_free:
                shutil.rmtree(path, ignore_errors=True)


def _begin(target: Path, stack: contextlib.ExitStack) -> Path:
    """Makes a temporary folder, locked; anew where another process cleared it away before the lock was on."""
    while True:
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        is_free = stack.enter_context(_locked(temporary))
        if is_free is not False and temporary.exists():
            return temporary


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Locks a folder; the lock ends with the process, however that ends.

    Yields:
        False if another writer holds it; None where the file system has no locks.
    """
    handle, is_free = None, True
    try:
        handle = os.open(folder, os.O_RDONLY)
        is_free = fcntl and fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB) is None
    except BlockingIOError:
        is_free = False
    except FileNotFoundError:
        pass
    except OSError:
        is_free = None
    try:
        yield is_free
    finally:
        if handle is not None:
            os.close(handle)


def _replace(target: Path, temporary: Path) -> None:
    try:
        temporary.rename(target)  # a folder that is not there yet, or empty
    except OSError:
        if not target.exists():
            raise
        if not _exchanged(temporary, target):
            _rename_both(temporary, target)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step; False if the system cannot. Linux can, on most file systems."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here = AT_WORKING_DIRECTORY
    return rename(here, os.fsencode(one), here, os.fsencode(other), EXCHANGE) == 0


def _rename_both(temporary: Path, target: Path) -> None:
    aside = Path(f"{temporary}{OLD}")
    try:
        target.rename(aside)
        temporary.rename(target)
    finally:
        with contextlib.suppress(FileNotFoundError):  # nothing was renamed, or another process has cleared it away
            aside.rename(temporary if target.exists() else target)
