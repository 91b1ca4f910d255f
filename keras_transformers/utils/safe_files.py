"""Files that a killed process, a full disk or a second process cannot leave half-written."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def replace_file(path: Path, content: str) -> None:
    """Write a file in UTF-8 as a whole: at any moment the path has the old content or the new one.

    Of a link, the file that it points to is replaced; what is no file, such as `/dev/stdout`, is written to.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "facts.json")
    >>> replace_file(path, "{}")
    >>> path.read_text()
    '{}'
    """
    if path.exists() and not path.is_file():
        path.write_text(content, encoding="utf-8")
        return
    path = path.resolve()
    for leftover in path.parent.glob(glob.escape(f".{path.name}.partial") + "*"):
        with locked(leftover) as is_free:
            if is_free:  # a killed process left it
                leftover.unlink(missing_ok=True)
    with _partial_file(path) as partial:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)


@contextlib.contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    """Yield a new locked file beside `path`, which no other thread or process writes, and remove it at the end."""
    with contextlib.ExitStack() as stack:
        while True:
            partial = path.with_name(f".{path.name}.partial-{uuid.uuid4().hex[:8]}")
            stack.callback(partial.unlink, missing_ok=True)  # on a full disk, it would take the next one's place
            partial.touch()
            is_free = stack.enter_context(locked(partial))
            if is_free is not False and partial.exists():  # otherwise another process took it for a leftover
                break
        yield partial


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool | None]:
    """Lock a file or a folder; the lock ends with the process, even if it is killed.

    Yields:
        False if another writer holds the lock; None if the file system has no locks; True otherwise.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with locked(folder) as is_free, locked(folder) as is_free_twice:
    ...     is_free, is_free_twice
    (True, False)
    """
    handle: int | None = None
    is_free: bool | None = True
    try:
        handle = os.open(path, os.O_RDONLY)
        is_free = _lock(handle)
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


def _lock(handle: int) -> bool | None:
    """Lock an open file or folder and return True; None where the system has no such locks.

    Raises:
        BlockingIOError: Another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


@contextlib.contextmanager
def full_disk_as_error(folder: Path, kept: str) -> Iterator[None]:
    """Raise a `ValueError` for an `OSError` of writing below a folder.

    Args:
        folder: Folder of the file or folder to write.
        kept: Sentence that says what is kept, and how to continue.
    """
    try:
        with no_room_as_error(folder, kept):
            yield
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error}. {kept}") from error


@contextlib.contextmanager
def no_room_as_error(path: Path, kept: str = "Make room, and call again.") -> Iterator[None]:
    """Raise a `ValueError` for an `OSError` of a full disk, which does not name the file.

    Args:
        path: File or folder that is written.
        kept: As for `full_disk_as_error`.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise ValueError(f"{path} cannot be written: there is no space left for it. {kept}") from error
