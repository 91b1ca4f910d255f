"""Atomic writing of folders, which never replaces one that holds other files."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from keras_transformers.checkpoints.files.card import is_unedited
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.safe_files import locked, no_room_as_error
from keras_transformers.utils.untrusted import resolved, shown

CARD = "README.md"
ONNX = "onnx/model.onnx"
LITERT = "model.tflite"
# The files that a save writes, by its marker: the file that every such folder has. Any other file is the user's.
WRITTEN: dict[str, tuple[str, ...]] = {
    # Written here, and by `save_pretrained` of models and tokenizers in `transformers`.
    "config.json": (
        "config.json", "generation_config.json",
        "model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json",
        "pytorch_model.bin", "pytorch_model-*-of-*.bin", "pytorch_model.bin.index.json",
        "tokenizer.json", "target_tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "added_tokens.json", "chat_template.jinja", "additional_chat_templates/*.jinja",
        "vocab.txt", "vocab.json", "target_vocab.json", "merges.txt",
        "source.spm", "target.spm", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model",
        "spm.model",
        # By `save` of sentence-transformers, too.
        "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json",
        "1_LogitScore/config.json", "1_SpladePooling/config.json",
        *(f"[0-9]_{kind}/config.json" for kind in ("Dense", "LayerNorm", "Dropout", "Normalize")),
        *(f"[0-9]_{kind}/model.safetensors" for kind in ("Dense", "LayerNorm")),
        *(f"{number}_{kind}/" for number in range(1, 10) for kind in ("Dense", "LayerNorm", "Dropout", "Normalize")),
        # By `zoo train`; a README.md only if nobody has edited it (`card`).
        CARD, "training/metrics.jsonl", "training/curve.html", "training/samples.txt",
    ),
    "saved_model.pb": (
        "saved_model.pb", "fingerprint.pb", "keras_metadata.pb",
        "variables/variables.index", "variables/variables.data-*-of-*",
        "assets/", "assets.extra/labels.json", "assets.extra/tf_serving_warmup_requests",
    ),
}  # fmt: skip
# A folder of `save` without a graph is not replaced by one of `export`.
WRITTEN[ONNX] = (*WRITTEN["config.json"], ONNX, f"{ONNX}_data", "onnx/model_quantized.onnx")
WRITTEN[LITERT] = (*WRITTEN["config.json"], LITERT)
KEPT = "What was there before is unchanged: make room, and call again."
OLD = ".old"  # suffix of the hidden name that a folder has while it is being replaced
AT_WORKING_DIRECTORY, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE, for renameat2


@contextlib.contextmanager
def atomic_folder(folder: str | os.PathLike, marker: str = "config.json") -> Iterator[Path]:
    """Yield a temporary folder beside `folder`, and rename it to `folder` if nothing fails.

    If writing is interrupted, the old folder is unchanged. The next write removes what a killed process left. Linux
    exchanges the two folders in one step. On other systems, a process that is killed between two renames leaves no
    folder: the next write restores the old one, and `left_behind` finds it.

    Args:
        folder: The folder to write.
        marker: A key of `WRITTEN`: the file that shows that an existing folder may be replaced.

    Yields:
        The temporary folder.

    Raises:
        ValueError: As for `check_target`, before and after the writing; or there is no space left on the disk.

    Example:

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "model")
    >>> with atomic_folder(target) as temporary:
    ...     _ = (temporary / "config.json").write_text("{}")
    >>> [path.name for path in target.iterdir()]
    ['config.json']
    """
    check_target(folder, marker)
    target = resolved(folder)
    _clear_leftovers(target)
    with no_room_as_error(target, KEPT), contextlib.ExitStack() as stack:
        temporary = _make_temporary(target, stack)
        yield temporary
        check_target(target, marker)  # again: writing may have taken minutes
        _replace(target, temporary)


def check_target(folder: str | os.PathLike, marker: str = "config.json") -> None:
    """Raise a `ValueError` if `atomic_folder` cannot write to `folder`; call it before long work.

    Args:
        folder: The folder to write.
        marker: As for `atomic_folder`.

    Raises:
        ValueError: `folder` holds a file that no save would have written, or another program's config.json; it is the
            working directory, the home folder or a mount point; it is a file, or lies in one; its name is too long; or
            nothing can be written beside it.
    """
    target, parents = Path(folder), resolved(folder).parents
    parent = next((path for path in parents if path.exists()), target)
    if not parent.is_dir():
        raise ValueError(f"{parent} is a file, so there can be no folder {folder}. Give another folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ValueError(f"{parent} does not allow to write in it, so there can be no new {folder}.")
    _try_to_write(resolved(folder), parent)
    if not target.exists():
        return
    if not target.is_dir():
        raise ValueError(f"{folder} is a file and holds no {marker}, so it is not replaced. Give another folder.")
    _check_place(target)
    if not any(target.iterdir()):
        return
    if not (target / marker).is_file():
        raise ValueError(f"{folder} exists and holds no {marker}, so it is not replaced. Give another folder.")
    if marker != "saved_model.pb" and not _is_model(target / "config.json"):
        raise ValueError(f"the config.json in {folder} describes no model, so it is not replaced. Give another folder.")
    if others := _other_files(target, WRITTEN[marker]):
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        raise ValueError(
            f"{folder} holds {', '.join(map(repr, others[:5]))}{more} beside its {marker}, which no save has written, "
            "so it is not replaced. Give another folder, or move that elsewhere."
        )


def _try_to_write(target: Path, parent: Path) -> None:
    """Make and remove a temporary folder: some systems report permission, and then refuse to write."""
    attempt = parent / _temporary_name(target)
    try:
        attempt.mkdir()
    except OSError as error:
        raise ValueError(
            f"there can be no folder {shown(str(target))}: {error.strerror}. Give another folder."
        ) from None
    with contextlib.suppress(OSError):  # another process may have cleared it away
        attempt.rmdir()


def left_behind(folder: str | os.PathLike) -> Path | None:
    """Return the old folder, if a process was killed while replacing it; None if nothing is missing."""
    target = resolved(folder)
    old_folders = [path for path in _temporary_folders(target) if path.suffix == OLD]
    return old_folders[0] if old_folders and not target.exists() else None


def _check_place(target: Path) -> None:
    """Refuse folders that cannot be replaced: the working directory, the home folder and mount points."""
    places = {"the working directory": os.curdir, "the home folder": os.path.expanduser("~")}
    kinds = [name for name, place in places.items() if os.path.exists(place) and os.path.samefile(target, place)]
    if os.path.ismount(target):
        kinds.append("a mount point")
    if kinds:
        raise ValueError(f"{target} is {kinds[0]}, so it is not replaced: give a folder in it.")


def _is_model(config: Path) -> bool:
    try:
        values = read_object(config)
    except ValueError:
        return False
    return not values.keys().isdisjoint(("model_type", "architectures"))


def _other_files(folder: Path, written: Sequence[str], prefix: str = "") -> list[str]:
    """Return the files that match no pattern, with their paths in the folder, and all links: no save makes one."""
    others = []
    for path in sorted(folder.iterdir()):
        name = prefix + path.name
        is_file = path.is_file() and any(fnmatchcase(name, pattern) for pattern in written)
        is_file = is_file and (name != CARD or is_unedited(path))
        is_folder = path.is_dir() and any(pattern.startswith(f"{name}/") for pattern in written)
        if path.is_symlink() or not (is_file or is_folder):
            others.append(name)
        elif is_folder:
            others += _other_files(path, written, f"{name}/")
    return others


def _temporary_name(target: Path) -> str:
    return f".{target.name}.{uuid.uuid4().hex}"


def _temporary_folders(target: Path) -> list[Path]:
    """Return the temporary folders of all processes that write to `target`, or did."""
    name = re.compile(rf"{re.escape(f'.{target.name}.')}[0-9a-f]{{32}}({re.escape(OLD)})?")
    candidates = target.parent.glob(glob.escape(f".{target.name}.") + "*")
    return [path for path in candidates if name.fullmatch(path.name)]


def _clear_leftovers(target: Path) -> None:
    """Remove the temporary folders of dead processes, and restore the old folder if `target` is missing."""
    for path in _temporary_folders(target):
        with locked(path.with_suffix("") if path.suffix == OLD else path) as is_free:
            if is_free and path.suffix == OLD and not target.exists():
                path.rename(target)
            elif is_free:
                shutil.rmtree(path, ignore_errors=True)


def _make_temporary(target: Path, stack: contextlib.ExitStack) -> Path:
    """Make and lock a temporary folder; try again if another process removed it before the lock."""
    while True:
        temporary = target.with_name(_temporary_name(target))
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        is_free = stack.enter_context(locked(temporary))
        if is_free is not False and temporary.exists():
            return temporary


def _replace(target: Path, temporary: Path) -> None:
    try:
        temporary.rename(target)  # works if the target is missing or empty
    except OSError:
        if not target.exists():
            raise
        if not _exchanged(temporary, target):
            _rename_both(temporary, target)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False if the system cannot. Linux can, on most file systems."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    base = AT_WORKING_DIRECTORY
    return rename(base, os.fsencode(one), base, os.fsencode(other), EXCHANGE) == 0


def _rename_both(temporary: Path, target: Path) -> None:
    old_folder = Path(f"{temporary}{OLD}")
    try:
        target.rename(old_folder)
        temporary.rename(target)
    finally:
        with contextlib.suppress(FileNotFoundError):  # nothing was renamed, or another process removed it
            old_folder.rename(temporary if target.exists() else target)
