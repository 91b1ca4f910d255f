"""Sources of rows without padding: several texts packed into a row, or blocks of one long text."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from keras_transformers.data.batches.batching import DRAW, Batching
from keras_transformers.data.sources.next_token_rows import completions, next_tokens, with_end
from keras_transformers.data.sources.rows import Ragged, Rows

PACKINGS = (None, "documents", "blocks")


def next_token_source(
    texts: Ragged,
    max_length: int,
    *,
    packing: str | None = None,
    end_id: int | None = None,
    targets: Ragged | None = None,
) -> Rows | Packed | Blocks:
    """Make a source for `batches` of a language model.

    Args:
        texts: `Ragged` token ids, without special tokens; empty ones are left out.
        max_length: int, tokens of a row; the same as in `batches`.
        packing: `None` for one text per row, cut to `max_length`; `"documents"` for several (see `Packed`);
            `"blocks"` for blocks of all texts joined (see `Blocks`). With the latter two, rows are padded to
            `max_length`: leave `buckets` of `batches` at its default, or give `()`.
        end_id: int, the token to append to each text; `None` for none.
        targets: `Ragged` token ids that follow each text; only they are labels then (see `completions`).

    Returns:
        A source for `batches`, with `NextToken` as its objective.

    Raises:
        ValueError: An unknown packing, targets with blocks, or an empty or too long target.

    Example:

    >>> from keras_transformers.data.objectives.next_token import NextToken
    >>> from keras_transformers.data.batches.pipeline import batches
    >>> texts = Ragged.of([[5, 6, 7], [8, 9], [4, 3]])
    >>> source = next_token_source(texts, max_length=4, packing="blocks", end_id=1)
    >>> dataset = batches(source, NextToken(vocabulary_size=10), 2, max_length=4, buckets=(), shuffle=False)
    >>> np.asarray(next(iter(dataset))[1]).tolist()
    [[6, 7, 1, 8], [9, 1, 4, 3]]
    """
    check_packing(packing, targets is not None)
    if targets is None:
        texts = whole_texts(texts, end_id)
        if packing == "blocks":
            return Blocks(texts.tokens(), max_length)
        return Packed(next_tokens(texts), max_length) if packing else next_tokens(texts, max_length)
    rows, cut = completions(texts, targets, max_length, end_id)
    if cut.any():
        warnings.warn(
            f"{cut.sum()} of {len(cut)} inputs were cut on the left, to fit in max_length={max_length} with their "
            "targets.",
            stacklevel=2,
        )
    return Packed(rows, max_length) if packing else rows


def whole_texts(texts: Ragged, end_id: int | None) -> Ragged:
    """Return the texts that are not empty, each with the end token unless `end_id` is `None`."""
    return with_end(texts[np.flatnonzero(texts.lengths)], end_id)


def check_packing(packing: str | None, completing: bool):
    """Raise a `ValueError` for an unknown packing, and for blocks with targets."""
    if packing not in PACKINGS:
        raise ValueError(f"Received packing={packing!r}: expected one of {PACKINGS}.")
    if completing and packing == "blocks":
        raise ValueError('Received targets with packing="blocks", which joins all texts: use "documents" or None.')


class Packed:
    """A source of texts packed into rows of `max_length` tokens. The texts of a row do not attend to each other.

    For training without padding. Texts are packed by best fit, the longest first. A text that is longer than a row is
    split, and its pieces do not attend to each other. With shuffling, texts of equal lengths swap their places every
    epoch.

    Args:
        rows: `Rows` of one text each, as from `next_tokens`.
        max_length: int, tokens of a row; the same as in `batches`, which pads every batch to it.

    Example:

    >>> packed = Packed(next_tokens(Ragged.of([[5, 6, 7], [8, 9], [4, 3, 2, 1, 0, 1]])), max_length=4)
    >>> packed.sample().padded(4, pad_id=0)["padding_mask"].tolist()
    [[1, 1, 1, 1], [1, 1, 2, 3]]
    """

    buckets = ()  # rows fill max_length

    def __init__(self, rows: Rows, max_length: int):
        self.pieces = Rows(rows.token_ids.split(max_length), labels=rows.labels.split(max_length))
        self.row_of = best_fit(np.sort(self.pieces.lengths)[::-1], max_length)
        self.num_rows = int(self.row_of.max(initial=-1)) + 1

    def sample(self) -> Rows:
        return self.draw(np.arange(self.pieces.num_rows))

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Rows]]:
        count = self.pieces.num_rows
        yield 0, self.draw(batching.rng(epoch, DRAW).permutation(count) if batching.shuffle else np.arange(count))

    def draw(self, order: np.ndarray) -> Rows:
        """Pack the texts, placing texts of equal lengths in this order."""
        longest_first = order[np.argsort(-self.pieces.lengths[order], kind="stable")]
        pieces = self.pieces[longest_first[np.argsort(self.row_of, kind="stable")]]
        counts = np.bincount(self.row_of)  # (rows,), texts of each row
        numbers = np.arange(1, pieces.num_rows + 1) - np.repeat(np.cumsum(counts) - counts, counts)  # (texts,)
        lengths = np.add.reduceat(pieces.lengths, np.cumsum(counts) - counts)  # (rows,)
        return Rows(
            Ragged.joined(pieces.token_ids.tokens(), lengths),
            labels=Ragged.joined(pieces.labels.tokens(), lengths),
            documents=Ragged.joined(np.repeat(numbers, pieces.lengths).astype(np.int32), lengths),
        )


def best_fit(lengths: Sequence[int] | np.ndarray, size: int) -> np.ndarray:
    """Return the row of each text: the fullest row with room for it, or a new one.

    >>> best_fit([3, 2, 2, 1], size=4).tolist()
    [0, 1, 1, 0]
    """
    rows_by_room: list[list[int]] = [[] for _ in range(size + 1)]
    rooms = 0  # bit r is set if a row has room for r tokens; bit operations find the smallest r that fits
    chosen, count = [], 0
    for length in map(int, lengths):
        if fitting := rooms >> length:
            room = length + (fitting & -fitting).bit_length() - 1
            row = rows_by_room[room].pop()
            rooms ^= 0 if rows_by_room[room] else 1 << room
        else:
            room, row, count = size, count, count + 1
        rows_by_room[room - length].append(row)
        rooms |= 1 << (room - length)
        chosen.append(row)
    return np.array(chosen, np.int64)


class Blocks:
    """A source of one long text in blocks of `max_length` tokens, as in GPT-2 and nanoGPT. Labels are the next tokens.

    Join texts with end tokens by `with_end(texts, end_id).tokens()`; texts of one block attend to each other. With
    shuffling, each epoch starts at a random token, and continues at the start of the text after its end. Without
    shuffling, for evaluation, each token except the first is a target exactly once.

    Args:
        token_ids: (tokens,) integers.
        max_length: int, tokens of a block; the same as in `batches`.

    Raises:
        ValueError: There are fewer than two tokens.

    Example:

    >>> Blocks(np.arange(8), max_length=4).sample().labels.padded(4, fill=-1).tolist()
    [[1, 2, 3, 4], [5, 6, 7, -1]]
    """

    buckets = ()  # rows fill max_length

    def __init__(self, token_ids: np.ndarray, max_length: int):
        token_ids = np.asarray(token_ids, np.int32)
        if token_ids.ndim != 1 or token_ids.size < 2:
            raise ValueError(f"Received token ids of shape {token_ids.shape}: expected one row of at least 2.")
        # The text is circular: its start follows its end.
        self.flat = np.concatenate([token_ids, token_ids[: max_length + 1]])
        self.num_tokens, self.max_length = token_ids.size, max_length
        self.num_rows = -(-(self.num_tokens - 1) // max_length)

    def sample(self) -> Rows:
        return self.draw(0)

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Rows]]:
        yield 0, self.draw(int(batching.rng(epoch, DRAW).integers(self.num_tokens)) if batching.shuffle else 0)

    def draw(self, offset: int) -> Rows:
        """Return the blocks of the circular text, from token `offset` on."""
        begins = np.arange(self.num_rows) * self.max_length  # (rows,)
        starts = (begins + offset) % self.num_tokens
        lengths = np.minimum(self.max_length, self.num_tokens - 1 - begins)
        return Rows(Ragged(self.flat, starts, lengths), labels=Ragged(self.flat, starts + 1, lengths))
