"""Memory that this process can still get, and the refusal of work that needs more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse work that cannot fit into memory, before it begins.

    Args:
        needed: Bytes that it takes at least.
        what: The work, for the error message, such as `"loading gpt2"`.
        remedy: Sentences that say what to do instead.

    Raises:
        ValueError: Fewer bytes are available.

    Example:

    >>> check_memory(1000, "loading a small model", "Take a smaller model.")
    """
    available = available_memory()
    if available is not None and needed > available:
        raise ValueError(
            f"{what} takes at least {gigabytes(needed)} of memory, and {gigabytes(available)} are available on this "
            f"machine, or to this process: nothing was done. {remedy}"
        )


def gigabytes(size: float) -> str:
    """Return a number of bytes as people read it.

    Example:

    >>> gigabytes(4_943_000_000), gigabytes(12_000_000)
    ('4.94 GB', '0.012 GB')
    """
    return f"{size / 1e9:.3g} GB"


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that this process can get without swapping; None where nothing says it (not Linux).

    They are what the kernel calls available, or what the limits of control groups (containers) leave, if that is less.
    File caches in them count as free.

    Args:
        root: Root of the file system, which tests replace.

    Example:

    >>> available_memory(Path("/nowhere")) is None
    True
    """
    lines = _lines(root / "proc/meminfo")
    of_machine = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return min([*of_machine, *_left_to_groups(root)], default=None)


def _left_to_groups(root: Path) -> Iterator[int]:
    """Yield the bytes that the limit of each control group of this process leaves; none for a group without limit."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        first = root / "sys/fs/cgroup" / controllers
        inner = first / path.lstrip("/")  # not there inside a container, which sees its group as the root
        names = ("max", "current") if controllers == "" else ("limit_in_bytes", "usage_in_bytes")
        for folder in (inner, *(parent for parent in inner.parents if parent.is_relative_to(first))):
            limit, used = (_lines(folder / f"memory.{name}")[:1] for name in names)
            if limit and used and limit[0].isdecimal():
                yield int(limit[0]) - int(used[0]) + _file_cache(folder)


def _file_cache(folder: Path) -> int:
    """Return the bytes of file caches that a control group can drop, its inner groups' too."""
    sizes = dict(line.split(" ", 1) for line in _lines(folder / "memory.stat"))
    prefix = "total_" if "total_active_file" in sizes else ""  # of version 1
    return sum(int(sizes.get(f"{prefix}{kind}_file", 0)) for kind in ("active", "inactive"))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
