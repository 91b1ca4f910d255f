"""Initialisation of a token embedding from word2vec or GloVe vectors."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.utils.untrusted import shown

CHUNK = 1 << 20
MOST_WIDTH, MOST_LINE = 1 << 16, 1 << 21  # numbers of a vector, bytes of a line


class Coverage(NamedTuple):
    """Numbers of tokens: with a vector of the same spelling, with one only in lower case, and of all."""

    exact: int
    lower_case: int
    total: int


def fill_embedding(embeddings: Any, tokens: Sequence[str], path: str | os.PathLike) -> Coverage:
    """Write word vectors into the rows of an embedding matrix; the other rows keep their values.

    A token takes the vector of the word with the same spelling. If there is none, it takes the vector of the first word
    in the file (the most frequent one, as these files are sorted) that equals it in lower case. A damaged file changes
    nothing.

    Args:
        embeddings: A Keras variable (V, D), such as `layer.embeddings` of `TokenEmbedding`.
        tokens: The V tokens, in the order of their ids.
        path: A file for `read_word_vectors`; only the vectors of these tokens are held in memory.

    Returns:
        A `Coverage`.

    Raises:
        ValueError: The vectors are not D wide, or there are not V tokens, or the file is damaged.
    """
    rows, width = embeddings.shape
    if len(tokens) != rows:
        raise ValueError(f"the embedding has {rows} rows: expected the same number of tokens, received {len(tokens)}.")

    spellings, lower_case = set(tokens), {token.lower() for token in tokens}
    exact_vectors: dict[str, np.ndarray] = {}
    lower_vectors: dict[str, np.ndarray] = {}
    for word, vector in read_word_vectors(path, wanted=lambda word: word.lower() in lower_case):
        if len(vector) != width:
            raise ValueError(f"{path} holds vectors of width {len(vector)}, but the embedding is {width} wide.")
        if word in spellings:
            exact_vectors.setdefault(word, vector)
        lower_vectors.setdefault(word.lower(), vector)

    table = np.array(embeddings)  # (V, D)
    for row, token in enumerate(tokens):
        table[row] = exact_vectors.get(token, lower_vectors.get(token.lower(), table[row]))
    embeddings.assign(table)

    exact = sum(token in exact_vectors for token in tokens)
    return Coverage(exact, sum(token.lower() in lower_vectors for token in tokens) - exact, rows)


def read_word_vectors(
    path: str | os.PathLike, wanted: Callable[[str], bool] = lambda word: True
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words of a file with their vectors, one at a time, in the file's order.

    Mikolov et al. 2013, https://arxiv.org/abs/1310.4546; Pennington et al. 2014, https://aclanthology.org/D14-1162.

    Args:
        path: A word2vec text or binary file, or a GloVe text file; `.gz` is decompressed. The format is detected
            from the first two lines.
        wanted: Whether to yield a word; the vectors of other words are not parsed.

    Returns:
        An iterator of words and float32 vectors, all of one width.

    Raises:
        ValueError: A line is not a word and a vector, or the file ends early.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "glove.txt")
    >>> _ = path.write_text("the 0.5 1\\ncat 2 -1\\n")
    >>> {word: vector.tolist() for word, vector in read_word_vectors(path)}
    {'the': [0.5, 1.0], 'cat': [2.0, -1.0]}
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}: expected vectors of word2vec or GloVe. Give another path.")
    try:
        yield from _records(path, wanted)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read ({error}): fetch it again.") from error


def _records(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, np.ndarray]]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        count, width, binary = _format(file)
        if width > MOST_WIDTH:
            raise ValueError(f"{path} says that its vectors are {width} wide: expected at most {MOST_WIDTH}.")
        count_read = 0
        records: Iterator[tuple[bytes, bytes | list[bytes]]]
        records = _binary_records(file, count or 0, width) if binary else _text_records(file, width)
        for spelling, numbers in records:
            count_read += 1
            word = spelling.decode("utf-8", errors="replace")
            if wanted(word):
                vector = (
                    np.frombuffer(numbers, "<f4") if isinstance(numbers, bytes) else _parse(numbers, width, path, word)
                )
                if not np.isfinite(vector).all():
                    raise ValueError(f"{path}: the vector of {shown(word)} is not finite. Fetch the file again.")
                yield word, vector
    if count is not None and count_read != count:
        raise ValueError(f"{path} announces {count} vectors, but holds {count_read}: it is cut or damaged.")


def _format(file: BufferedIOBase) -> tuple[int | None, int, bool]:
    """Return the number of vectors (None for GloVe, which has no header), their width, and whether they are binary."""
    header = file.readline(MOST_LINE).split()
    if not (len(header) == 2 and all(number.isdigit() and len(number) < 16 for number in header)):
        file.seek(0)
        return None, len(header) - 1, False
    start, first = file.tell(), file.readline(MOST_LINE)
    file.seek(start)
    return int(header[0]), int(header[1]), not _is_text(first, int(header[1]))


def _is_text(line: bytes, width: int) -> bool:
    try:
        return len([float(number) for number in line.rsplit(maxsplit=width)[1:]]) == width
    except ValueError:
        return False


def _text_records(file: BufferedIOBase, width: int) -> Iterator[tuple[bytes, list[bytes]]]:
    for line in filter(bytes.strip, iter(lambda: file.readline(MOST_LINE), b"")):
        word, *numbers = line.rsplit(maxsplit=width)  # from the right: GloVe has words with spaces
        yield word, numbers


def _parse(numbers: list[bytes], width: int, path: Path, word: str) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # an overflow is reported by the caller
            vector = np.array(numbers, np.float32)
    except ValueError:
        vector = np.empty(0, np.float32)
    if len(vector) != width or not width:
        raise ValueError(f"{path}: expected a word and {width or 'some'} numbers on the line of {shown(word)}.")
    return vector


def _binary_records(file: BufferedIOBase, count: int, width: int) -> Iterator[tuple[bytes, bytes]]:
    buffer, start, size = b"", 0, 4 * width
    for _ in range(count):
        end = buffer.find(b" ", start) + 1
        if not end or len(buffer) < end + size:
            buffer, start = buffer[start:] + file.read(CHUNK + size), 0
            end = buffer.find(b" ") + 1
        if not end or len(buffer) < end + size:
            return
        yield buffer[start : end - 1].strip(), buffer[end : end + size]
        start = end + size
