"""Writing of the two files of tokens of a corpus, such that a killed process loses no more than a few seconds."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.data.corpus.token_file import (
    DESCRIPTION,
    TOKENS,
    Description,
    token_dtype,
    tokenizer_digest,
    tokens_digest,
)
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.safe_files import replace_file

SIDES = ("train", "held_out")
UNCOPIED = "uncopied"  # the folder of the held-out text without copies
JOURNAL = "journal.json"


@dataclass
class Progress:
    """Progress of the writing: batches of text, and per side its tokens, characters, and whether a document is open.

    `unknown` counts the unknown tokens; `examples` are a few of these texts.
    """

    batches: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    characters: list[int] = field(default_factory=lambda: [0, 0])
    is_open: list[bool] = field(default_factory=lambda: [False, False])
    unknown: int = 0
    examples: list[str] = field(default_factory=list)


class TokenWriter:
    """Writes tokens to the folders `train` and `held_out`; a context manager.

    A journal beside them has the progress that is on the disk. What a killed process wrote after it is cut off at the
    next start.

    Args:
        folder: Existing folder of the corpus.
        vocabulary_size: int, which determines the type of the tokens.
        key: A hash of what is written: a journal with another key is not continued.
    """

    def __init__(self, folder: Path, vocabulary_size: int, key: str):
        self.folder, self.dtype, self.key = folder, token_dtype(vocabulary_size), key
        self.progress = _read_journal(folder, self.dtype, key)
        self._stack = ExitStack()

    def __enter__(self) -> TokenWriter:
        self._files = [self._stack.enter_context(self._open(number)) for number in range(len(SIDES))]
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def _open(self, number: int) -> Any:
        path = self.folder / SIDES[number] / TOKENS
        path.parent.mkdir(exist_ok=True)
        size = self.progress.tokens[number] * self.dtype.itemsize
        if not size:
            path.unlink(missing_ok=True)  # not overwritten: another process may have it mapped
        file = open(path, "r+b" if size else "w+b", buffering=0)  # noqa: SIM115
        file.truncate(size)
        file.seek(size)
        return file

    def append(self, side: int, ids: np.ndarray) -> None:
        """Append ids (n,) to the ids of a side."""
        content = memoryview(ids.astype(self.dtype).tobytes())
        while content:  # a disk that gets full takes a part
            content = content[self._files[side].write(content) :]
        self.progress.tokens[side] += len(ids)

    def commit(self) -> None:
        """Make what was written last: after this, no kill and no power cut takes it away."""
        for file in self._files:
            os.fsync(file.fileno())
        replace_file(self.folder / JOURNAL, json.dumps({"key": self.key, **asdict(self.progress)}))

    def describe(self, vocabulary_size: int, tokenizer: str) -> None:
        """Write the descriptions of both files, with which they are whole."""
        for number, side in enumerate(SIDES):
            counts = self.progress.tokens[number], self.progress.characters[number]
            digest = tokens_digest(self.folder / side / TOKENS, self.dtype)
            Description(*counts, vocabulary_size, digest, tokenizer).write(self.folder / side)


def write_token_file(folder: Path, ids: np.ndarray, characters: int, tokenizer: Tokenizer) -> None:
    """Write ids (n,) that are in memory as a file of tokens of so many characters, in place of another one."""
    folder.mkdir(exist_ok=True)
    (folder / DESCRIPTION).unlink(missing_ok=True)
    dtype = token_dtype(tokenizer.vocabulary_size)
    (folder / TOKENS).unlink(missing_ok=True)  # not overwritten: another process may have it mapped
    (folder / TOKENS).write_bytes(ids.astype(dtype).tobytes())
    digest = tokens_digest(folder / TOKENS, dtype)
    Description(ids.size, characters, tokenizer.vocabulary_size, digest, tokenizer_digest(tokenizer)).write(folder)


def _read_journal(folder: Path, dtype: np.dtype, key: str) -> Progress:
    """Return the progress of an unfinished corpus with this key, whose files have the tokens that it tells of."""
    try:
        values = read_object(folder / JOURNAL)
        is_same = values.pop("key", None) == key
        progress = Progress(**values)
        sizes = [(folder / side / TOKENS).stat().st_size for side in SIDES]
        is_whole = all(size >= count * dtype.itemsize for size, count in zip(sizes, progress.tokens, strict=True))
    except (ValueError, TypeError, OSError):
        return Progress()
    return progress if is_same and is_whole else Progress()


def forget_tokens(folder: Path) -> None:
    """Remove the descriptions of both files, with which they are no longer whole, and the journal."""
    for path in (*(folder / side / DESCRIPTION for side in SIDES), folder / JOURNAL):
        path.unlink(missing_ok=True)
