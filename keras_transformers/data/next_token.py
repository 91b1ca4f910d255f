"""The next-token objective, and rows for it: a text each, several texts each, or blocks of one long text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_transformers.data.batching import DRAW, Batching
from keras_transformers.data.rows import Ragged, Rows


class NextToken:
    """Rows with a label for each token, the token that follows it -> the model's inputs and (B, T) labels.

    The labels come with the rows (of `next_tokens`, `Packed`, `Blocks` or `TokenStream`), as the token that follows the
    last one of a row is not in it.

    Args:
        vocabulary_size: int V.
        pad_id: int, the id that fills short rows.

    Returns:
        `token_ids` and `padding_mask` (B, T), and labels (B, T), -1 where there is no target.

    Raises:
        ValueError: from `check`: rows without labels for each token, or an id that is not in the vocabulary.

    Example:

    >>> rows = next_tokens(Ragged.of([[5, 6, 7], [8, 9]]))
    >>> inputs, labels = NextToken(vocabulary_size=10)(rows, width=3)
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[5, 6, 0], [8, 0, 0]], [[6, 7, -1], [9, -1, -1]])
    """

    def __init__(self, vocabulary_size: int, pad_id: int = 0):
        self.vocabulary_size, self.pad_id = vocabulary_size, pad_id

    def check(self, rows: Rows):
        if not isinstance(rows.labels, Ragged):
            raise ValueError("Received rows without a label for each token: make them by `next_tokens` or `Packed`.")
        for ids, least in ((rows.token_ids.flat, 0), (rows.labels.flat, -1)):
            if ids.max(initial=0) >= self.vocabulary_size or ids.min(initial=0) < least:
                raise ValueError(
                    f"Received token ids from {ids.min()} to {ids.max()}: expected 0 to {self.vocabulary_size - 1}, "
                    "the tokenizer's vocabulary."
                )

    def __call__(self, rows: Rows, width: int, rng: np.random.Generator | None = None) -> tuple[dict, np.ndarray]:
        return rows.padded(width, self.pad_id), rows.labels.padded(width, -1)


def next_tokens(texts: Ragged, max_length: int | None = None) -> Rows:
    """One row a text: all its tokens but the last, each labelled with the next one.

    Args:
        texts: `Ragged` token ids; a text of less than two tokens has nothing to predict, and is left out.
        max_length: int, tokens to which longer rows are cut; `None` for no limit.

    Returns:
        `Rows` with `Ragged` labels.

    Raises:
        ValueError: no text has two tokens.

    Example:

    >>> rows = next_tokens(with_end(Ragged.of([[5, 6], [7], []]), end_id=1))
    >>> rows.token_ids.padded(2, fill=0).tolist(), rows.labels.padded(2, fill=-1).tolist()
    ([[5, 6], [7, 0]], [[6, 1], [1, -1]])
    """
    texts = texts[np.flatnonzero(texts.lengths > 1)]
    if not len(texts.lengths):
        raise ValueError("Received no text of two tokens or more: expected some, each token is to predict the next.")
    lengths = texts.lengths - 1 if max_length is None else np.minimum(texts.lengths - 1, max_length)
    return Rows(Ragged(texts.flat, texts.starts, lengths), labels=Ragged(texts.flat, texts.starts + 1, lengths))


def with_end(texts: Ragged, end_id: int | None) -> Ragged:
    """Every text with the end token behind it; the texts themselves if `end_id` is `None`."""
    if end_id is None:
        return texts
    flat = np.insert(texts.tokens(), np.cumsum(texts.lengths), end_id)
    return Ragged.joined(flat.astype(np.int32), texts.lengths + 1)


class Packed:
    """Texts packed into rows of `max_length` tokens, several a row, that do not see each other.

    For training without padding. A text that fits in a row stays whole (best fit, the longest first); a longer one is
    split, and its later pieces do not see the earlier ones. Which texts share a row is drawn anew every epoch, among
    texts of equal lengths; without shuffling it stays.

    Args:
        rows: `Rows` of one text each, such as `next_tokens` makes.
        max_length: int, tokens of a row. Give `batches` the same, and `buckets=()` for rows of this length always.

    Example:

    >>> packed = Packed(next_tokens(Ragged.of([[5, 6, 7], [8, 9], [4, 3, 2, 1, 0, 1]])), max_length=4)
    >>> packed.sample().padded(4, pad_id=0)["padding_mask"].tolist()
    [[1, 1, 1, 1], [1, 1, 2, 3]]
    """

    def __init__(self, rows: Rows, max_length: int):
        self.pieces = Rows(rows.token_ids.split(max_length), labels=rows.labels.split(max_length))
        self.row_of = best_fit(np.sort(self.pieces.lengths)[::-1], max_length)
        self.num_rows = int(self.row_of.max()) + 1

    def sample(self) -> Rows:
        return self.draw(np.arange(self.pieces.num_rows))

    def windows(self, batching: Batching, epoch: int, skip: int):
        count = self.pieces.num_rows
        yield 0, self.draw(batching.rng(epoch, DRAW).permutation(count) if batching.shuffle else np.arange(count))

    def draw(self, order: np.ndarray) -> Rows:
        """The rows that result if texts of equal lengths are placed in this order."""
        longest_first = order[np.argsort(-self.pieces.lengths[order], kind="stable")]
        pieces = self.pieces[longest_first[np.argsort(self.row_of, kind="stable")]]
        counts = np.bincount(self.row_of)
        numbers = np.arange(1, pieces.num_rows + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        lengths = np.add.reduceat(pieces.lengths, np.cumsum(counts) - counts)
        return Rows(
            Ragged.joined(pieces.token_ids.tokens(), lengths),
            labels=Ragged.joined(pieces.labels.tokens(), lengths),
            documents=Ragged.joined(np.repeat(numbers, pieces.lengths).astype(np.int32), lengths),
        )


def best_fit(lengths: Sequence[int], size: int) -> np.ndarray:
    """The row of each text: of those with room for it the fullest, or a new one.

    >>> best_fit([3, 2, 2, 1], size=4).tolist()
    [0, 1, 1, 0]
    """
    rows_by_room = [[] for _ in range(size + 1)]
    rooms = 0  # bit r is set if there is a row with room for r tokens: finds the smallest without a search
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
    return np.array(chosen)


class Blocks:
    """One long text in blocks of `max_length` tokens, the next one being the last label, as GPT-2 and nanoGPT train.

    Join texts with an end token between (`with_end(texts, end_id).tokens()`); they see each other inside a block. Every
    epoch cuts at other places, and its last block goes on at the start of the text. Without shuffling, for evaluation,
    each token but the first is a target exactly once.

    Args:
        token_ids: (tokens,) integers.
        max_length: int, tokens of a block. Give `batches` the same.

    Raises:
        ValueError: there are not even two tokens.

    Example:

    >>> Blocks(np.arange(8), max_length=4).sample().labels.padded(4, fill=-1).tolist()
    [[1, 2, 3, 4], [5, 6, 7, -1]]
    """

    def __init__(self, token_ids: np.ndarray, max_length: int):
        token_ids = np.asarray(token_ids, np.int32)
        if token_ids.ndim != 1 or token_ids.size < 2:
            raise ValueError(f"Received token ids of shape {token_ids.shape}: expected one row of at least 2.")
        # A circle: the start again after the end.
        self.flat = np.concatenate([token_ids, token_ids[: max_length + 1]])
        self.num_tokens, self.max_length = token_ids.size, max_length
        self.num_rows = -(-(self.num_tokens - 1) // max_length)

    def sample(self) -> Rows:
        return self.draw(0)

    def windows(self, batching: Batching, epoch: int, skip: int):
        yield 0, self.draw(int(batching.rng(epoch, DRAW).integers(self.num_tokens)) if batching.shuffle else 0)

    def draw(self, offset: int) -> Rows:
        """The blocks of a circle through all tokens from `offset` on."""
        begins = np.arange(self.num_rows) * self.max_length
        starts = (begins + offset) % self.num_tokens
        lengths = np.minimum(self.max_length, self.num_tokens - 1 - begins)
        return Rows(Ragged(self.flat, starts, lengths), labels=Ragged(self.flat, starts + 1, lengths))
