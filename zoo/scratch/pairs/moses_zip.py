"""A .zip of two files with as many lines, as OPUS gives pairs in the format of Moses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from keras_transformers.utils.untrusted import shown
from zoo.scratch.pairs.pair_columns import is_language

REMEDY = "Give --source-column and --target-column, such as de and en, or unpack it, and give --source and --target."


def moses_files(path: Path, parts: Sequence[Path], source: object, target: object) -> tuple[Path, Path]:
    """Return the files of the sources and of the targets: two whose names differ in the last suffix, a language, alone.

    Args:
        path: The archive.
        parts: Files of the archive.
        source, target: The suffixes, such as `"de"`; when None, the first and the second one in their order.

    Raises:
        ValueError: There are no such two, or more than two; the message has the files.

    Example:

    >>> parts = [Path("a.zip", name) for name in ("Books.de-en.de", "Books.de-en.en", "Books.de-en.ids")]
    >>> [file.name for file in moses_files(Path("a.zip"), parts, "en", None)]
    ['Books.de-en.en', 'Books.de-en.de']
    """
    given = [None if one is None else str(one).lower() for one in (source, target)]
    groups: dict[Path, dict[str, Path]] = defaultdict(dict)
    for part in parts:
        if (language := part.suffix[1:].lower()) in given or is_language(language):
            groups[part.with_suffix("")][language] = part
    found = [group for group in groups.values() if len(group) > 1 and {*filter(None, given)} <= group.keys()]
    sides = list(found[0]) if len(found) == 1 else []
    free = [name for name in sides if name not in given]
    if not sides or len(free) > (given.count(None) or len(free)):
        names = ", ".join(shown(str(part.relative_to(path))) for part in parts[:10])
        raise ValueError(
            f"{path} has {len(parts):,} files ({names}{', ...' if parts[10:] else ''}): expected two that differ in "
            f"the last suffix alone, a language, as OPUS has them. {REMEDY}"
        )
    chosen = [name or free.pop(0) for name in given]
    return found[0][chosen[0]], found[0][chosen[1]]
