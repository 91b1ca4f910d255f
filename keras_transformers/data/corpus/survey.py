"""A first look at the whole text of a corpus, which finds what is wrong with it before long work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from keras_transformers.text.files.text_files import Section, TextFiles

READ = 1 << 20  # bytes, or characters, at a time
SAMPLED, LARGEST_SAMPLE, LEAST_SAMPLE = 1 << 26, 1 << 18, 1 << 12  # bytes of all files, and of one
SAMPLES = 64  # parts that they are read in
MOST_LENGTHS = 1 << 16  # of documents
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Survey:
    """The result of reading a corpus: its files as (name, bytes, sha256), the counts of its text, and the characters of
    each document, or nothing where there are more than `MOST_LENGTHS`.
    """

    files: tuple[tuple[str, int, str], ...]
    characters: int
    documents: int
    lines: int
    longest_line: int
    lengths: tuple[int, ...] = ()

    def __add__(self, other: Survey) -> Survey:
        """Return the survey of two corpora together."""
        longest = max(self.longest_line, other.longest_line)
        return Survey(
            self.files + other.files,
            self.characters + other.characters,
            self.documents + other.documents,
            self.lines + other.lines,
            longest,
            self.lengths + other.lengths if self.lengths and other.lengths else (),
        )


def survey_text(files: TextFiles, tell: Tell) -> Survey:
    """Read a whole corpus once, in flat memory.

    Args:
        files: The text.
        tell: Called with what is done, how much of it, and of how much.

    Raises:
        ValueError: From `TextFiles`: a place in a file is no text.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fox.txt")
    >>> _ = path.write_text("The quick fox\\nran.\\n")
    >>> survey = survey_text(TextFiles(path), lambda *done: None)
    >>> survey.characters, survey.documents, survey.lines, survey.longest_line
    (19, 1, 2, 13)
    """
    lines = _LineCount()
    characters = documents = told = 0
    ends = [0]  # of the first documents
    for section in files.sections(READ):
        characters += len(section.text)
        documents += section.ends_document
        if section.ends_document and documents <= MOST_LENGTHS:
            ends.append(characters)
        lines.add(section)
        if characters - told >= READ:
            told = characters
            tell("reading", min(characters, files.size), files.size)
    stored = tuple((str(path), path.stat().st_size, sha256_of(path)) for path in files.files)
    lengths = tuple(end - begin for begin, end in pairwise(ends)) if documents <= MOST_LENGTHS else ()
    return Survey(stored, characters, documents, lines.count, lines.longest, lengths)


class _LineCount:
    """The number of lines, and the longest one in characters; a document's end ends a line."""

    def __init__(self) -> None:
        self.count = self.longest = self._begun = 0

    def add(self, section: Section) -> None:
        first, *others = section.text.split("\n")
        lengths = [self._begun + len(first), *map(len, others)]
        self.longest = max(self.longest, *lengths) if others else max(self.longest, lengths[0])
        self.count, self._begun = self.count + len(others), lengths[-1]
        if section.ends_document:
            self.count, self._begun = self.count + bool(self._begun), 0


def sampled_stamps(paths: Sequence[Path]) -> list[tuple[str, int, int, str]]:
    """Return path, size, time of change and a hash of samples of each file, which a change of the same size and time
    shows in, too. Files of up to 256 kB are hashed whole, where they are not many thousands.

    Example:

    >>> import os, tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("The cat")
    >>> before = sampled_stamps([path])
    >>> _ = path.write_text("The dog"), os.utime(path, ns=(before[0][2],) * 2)
    >>> sampled_stamps([path])[0][:3] == before[0][:3], sampled_stamps([path]) == before
    (True, False)
    """
    most = max(min(SAMPLED // max(len(paths), 1), LARGEST_SAMPLE), LEAST_SAMPLE)
    stats = ((path, path.stat()) for path in paths)
    return [
        (str(path.resolve()), stat.st_size, stat.st_mtime_ns, _sample_digest(path, stat.st_size, most))
        for path, stat in stats
    ]


def _sample_digest(path: Path, size: int, most: int) -> str:
    """Return a hash of at most so many bytes of a file, from its begin, its end and places between."""
    count = 1 if size <= most else SAMPLES
    part = min(size, most) // count
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        for number in range(count):
            file.seek(number * (size - part) // max(count - 1, 1))
            state.update(file.read(part))
    return state.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the checksum of a file, read in parts."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ):
            state.update(block)
    return state.hexdigest()
