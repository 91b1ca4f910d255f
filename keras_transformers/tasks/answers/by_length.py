"""Predictions in the order of the rows, computed in batches of similar length: the loop of every task's `predict`."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from keras_transformers.data.batches.pipeline import longest_first
from keras_transformers.tasks.answers.progress import Progress
from keras_transformers.text.tokenizer import Tokenizer

Row = tuple[Any, ...]
Item = TypeVar("Item")
CHUNK = 4096  # rows that are sorted together, so that memory is bounded; more if batches are very large
FIRST = 2  # batches in the first chunk of a stream, so that the first predictions come soon
COUNTED = 16  # characters for each token that a model reads: only so many of a text are tokenized to sort it
IN_FLIGHT = 8  # batches that are started before the first one is waited for: few, as each holds memory
CHARACTERS = 4  # in a token, roughly


class Limits(NamedTuple):
    """The most that a batch holds."""

    rows: int
    padding: float = math.inf  # tokens; more would take longer than one more call of the model
    length: float = math.inf  # of a row, in tokens that the model reads


def chunk_sizes(batch_size: int, growing: bool, most: int = CHUNK) -> Iterator[int]:
    """Yield the sizes of successive chunks, without end.

    Args:
        batch_size: Rows of a batch.
        growing: Whether the first chunk is small, and each next one twice as large.
        most: The largest size, but at least 16 batches.

    Example:

    >>> list(islice(chunk_sizes(32, growing=True, most=1000), 6))
    [64, 128, 256, 512, 1000, 1000]
    """
    most = max(most, 16 * batch_size)
    size = FIRST * batch_size if growing else most
    while True:
        yield size
        size = min(2 * size, most)


def read_chunks(columns: Sequence[Any], readers: Sequence[Callable[[Any], list]], sizes: Iterator[int]) -> Iterator:
    """Return an iterator of lists of rows, each row a tuple of its columns.

    Iterators are read a chunk at a time. Anything else is checked at once, before the first prediction.

    Args:
        columns: Texts, and perhaps pairs, as given by the user.
        readers: Functions, one for each column, from the user's values to a checked list.
        sizes: Sizes of the chunks.

    Raises:
        ValueError: A reader refuses its column, or columns are not equally long.

    Example:

    >>> list(read_chunks([iter("abc"), [1, 2, 3]], [list, list], iter([2, 2, 2])))
    [[('a', 1), ('b', 2)], [('c', 3)]]
    """
    if not any(isinstance(column, Iterator) for column in columns):
        columns = [read(column) for read, column in zip(readers, columns, strict=False)]
        _check_equal(columns)
        readers = [list] * len(columns)
    columns = [
        column if isinstance(column, Iterator) else read(column)
        for read, column in zip(readers, columns, strict=False)
    ]  # fmt: skip
    return _chunks([iter(column) for column in columns], readers, sizes)


def _chunks(columns: list[Iterator], readers: Sequence[Callable], sizes: Iterator[int]) -> Iterator[list[Row]]:
    begin = 0
    for size in sizes:
        parts = [list(islice(column, size)) for column in columns]
        _check_equal(parts, begin)
        if not parts[0]:
            return
        try:
            parts = [read(part) for read, part in zip(readers, parts, strict=False)]
        except ValueError as error:
            raise ValueError(f"counted from row {begin} on: {error}" if begin else str(error)) from None
        yield [*zip(*parts, strict=True)]
        begin += len(parts[0])


def _check_equal(columns: list[list], begin: int = 0) -> None:
    if len({*map(len, columns)}) > 1:
        counts = [begin + len(column) for column in columns]
        raise ValueError(f"received {counts[0]} texts and {counts[1]} pairs: expected one pair for each text.")


def answer_chunks(
    chunks: Iterable[list[Row]],
    answer: Callable[[list[Row]], Iterable[Any]],
    lengths: Callable[[list[Row]], np.ndarray],
    limits: Limits,
    progress: Progress,
) -> Iterator[Any]:
    """Yield a prediction for each row, in the order of the rows, chunk by chunk.

    Rows of similar length need less padding. The longest, which need most memory, come first in their chunk.

    Args:
        chunks: Lists of rows.
        answer: Function from a batch of rows to a prediction for each. It may only start to compute them, and wait when
            the first one is asked for: several batches are started ahead.
        lengths: Function from rows to their lengths, by which they are sorted.
        limits: Limits of the batches for `answer`.
        progress: Counts the rows that are done.

    Example:

    >>> chunks = [[("a",), ("bbb",), ("cc",)]]
    >>> sizes = lambda rows: np.array([len(text) for text, in rows])
    >>> list(answer_chunks(chunks, lambda rows: [len(rows)] * len(rows), sizes, Limits(2), Progress(0)))
    [1, 2, 2]
    """
    for rows in chunks:
        is_one = len(rows) <= (limits.rows if limits.padding == math.inf else 1)
        batches = [[*range(len(rows))]] if is_one else batches_of(lengths(rows), _limits_of_rows(limits, rows[0]))
        answers: list[Any] = [None] * len(rows)
        started = ((batch, answer([rows[place] for place in batch])) for batch in batches)
        for batch, found in ahead(started, IN_FLIGHT):
            for place, one in zip(batch, found, strict=True):
                answers[place] = one
            progress.add(len(batch))
        yield from answers
    progress.finish()


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield the items in order, each once `count` further ones have been taken.

    For items whose making only starts something, such as a computation on a GPU or a copy to it.

    Args:
        items: Iterable of any kind.
        count: Items that wait, at most; 0 for none.

    Example:

    >>> taken = []
    >>> items = ahead((taken.append(number) or number for number in range(5)), 2)
    >>> next(items), taken
    (0, [0, 1, 2])
    """
    waiting: deque[Item] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def _limits_of_rows(limits: Limits, row: Row) -> Limits:
    """Return the limits of a batch of rows like this one: of labels or choices, each is padded with the text."""
    pairs = max((len(value) for value in row if isinstance(value, list)), default=1)
    return limits._replace(padding=limits.padding / max(pairs, 1))


def batches_of(lengths: np.ndarray, limits: Limits) -> Iterator[list[int]]:
    """Yield the numbers of the rows of each batch, the longest rows first.

    Args:
        lengths: Lengths of the rows in tokens, of shape (rows,).
        limits: Limits of a batch.

    Example:

    >>> lengths = np.array([9, 2, 8, 3])
    >>> [*batches_of(lengths, Limits(3))], [*batches_of(lengths, Limits(3, padding=4))]
    ([[0, 2, 3], [1]], [[0, 2], [3, 1]])
    """
    sizes = np.minimum(lengths, limits.length).tolist()
    batch: list[int] = []
    padding = 0
    for row in longest_first(lengths).tolist():
        padding += sizes[batch[0]] - sizes[row] if batch else 0
        if len(batch) == limits.rows or padding > limits.padding:
            yield batch
            batch, padding = [], 0
        batch.append(row)
    yield batch


def token_counts(tokenizer: Tokenizer, max_length: int) -> Callable[[list[Row]], np.ndarray]:
    """Return a function that counts the tokens of rows of texts, or of lists of texts.

    On sentences of about 15 tokens, batches of 32 that are sorted by characters are 25 % padding, by tokens 2 %; the
    `tokenizers` library takes a hundredth of the time of the smallest models. Of a list of texts, the longest
    one counts. The rest of a text that is too long for the model is estimated: the library may take minutes for a
    megabyte.

    Args:
        tokenizer: Tokenizer of the task.
        max_length: Longest text in tokens.

    Example:

    >>> count = token_counts(Tokenizer.train(["a b"], vocabulary_size=20), max_length=8)
    >>> count([("a",), ("a b", "b"), ("a", ["b", "a b b"])]).tolist()
    [3, 7, 8]
    """
    most = COUNTED * max_length

    def count(rows: list[Row]) -> np.ndarray:
        columns = [[[value] if isinstance(value, str) else value for value in row] for row in rows]
        texts = [text for row in columns for values in row for text in values]
        encoded = tokenizer.encode([text[:most] for text in texts])
        sizes = iter(
            len(row.encoding) + max(len(text) - most, 0) // CHARACTERS
            for row, text in zip(encoded, texts, strict=True)
        )  # fmt: skip
        return np.array([sum(max((next(sizes) for _ in values), default=0) for values in row) for row in columns])

    return count
