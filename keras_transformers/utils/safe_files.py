"""Files that a killed process, a full disk or a second process cannot leave half-written."""

from __future__ import annotations

import contextlib
import errno
import os
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
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)  # of a write that failed: on a full disk, it takes the place of the next one


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder; the lock ends with the process, even if it is killed.

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
        handle = os.open(folder, os.O_RDONLY)
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
    """Lock an open folder and return True; None where the system has no such locks.

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
        folder: Where something is written.
        kept: A sentence that tells what is kept, and how to go on.
    """
    try:
        yield
    except OSError as error:
        reason = "there is no space left for it" if error.errno in NO_ROOM else str(error)
        raise ValueError(f"{folder} cannot be written: {reason}. {kept}") from error
