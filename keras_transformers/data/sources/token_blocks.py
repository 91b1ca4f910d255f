"""A source of blocks of a file of tokens, of any size: only the rows of a batch are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np

from keras_transformers.data.batches.batching import DRAW, Batching
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.utils.number_checks import is_size

WINDOW = 1 << 20  # tokens that are read before the system takes their memory back
SAMPLED = 64  # rows of a sample
Ids = Sequence[int] | np.ndarray


class TokenBlocks:
    """A source of blocks of `max_length` tokens of a file, special tokens included.

    Without shuffling, blocks are in order, from the first token on. With shuffling, each epoch starts at a random
    token, continues at the start of the text after its end, and takes the blocks of the whole file in random order. The
    last block of an epoch may be shorter. A resumed epoch reads nothing of what it skips.

    Args:
        token_file: `TokenFile`.
        max_length: int, tokens of a row; the same as in `batches`.
        begin_ids, end_ids: Ids to put before and after each block.
        next_tokens: Whether rows have labels, the next token of each, for `NextToken`. Each token of the file is a
            label once, the first one only with `begin_ids`; blocks have no `end_ids` then.
        segment: int, the segment of all tokens; None for a model without segments.

    Raises:
        ValueError: There is no room for the file's tokens in a row, or `end_ids` and `next_tokens` are both given.

    Example:

    >>> import pathlib, tempfile
    >>> from keras_transformers.data.corpus.corpus import make_corpus
    >>> from keras_transformers.text.files.text_files import TextFiles
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fox.txt")
    >>> _ = path.write_text("The quick fox ran.\\n" * 1000)
    >>> tokenizer = Tokenizer.train(["The quick fox ran."], 280, model="byte_pair")
    >>> blocks = TokenBlocks(make_corpus(TextFiles(path), tokenizer, path.parent / "corpus").train, max_length=8)
    >>> blocks.sample().padded(8, pad_id=0)["token_ids"].shape
    (64, 8)
    """

    buckets = ()  # rows fill max_length

    def __init__(
        self,
        token_file: TokenFile,
        max_length: int,
        *,
        begin_ids: Ids = (),
        end_ids: Ids = (),
        next_tokens: bool = False,
        segment: int | None = None,
    ):
        if next_tokens and len(end_ids):
            raise ValueError(
                f"Received next_tokens=True and end_ids={end_ids}: leave them out; the text has end tokens."
            )
        self._file, self.max_length, self.next_tokens, self.segment = token_file, max_length, next_tokens, segment
        self.begin_ids, self.end_ids = (np.array(ids, np.int32) for ids in (begin_ids, end_ids))
        self.digest = token_file.digest  # of the tokens, for the identity of a run
        # Tokens from the begin of one block to that of the next. The last label of a block is the first token of the
        # next one, or, if something stands before its tokens, their last one.
        self.stride = max_length - len(self.begin_ids) - len(self.end_ids) + (next_tokens and len(begin_ids) > 0)
        if self.stride < 1:
            raise ValueError(f"max_length={max_length} leaves no room beside {len(begin_ids) + len(end_ids)} ids.")
        self._blocked = token_file.num_tokens - (next_tokens and not len(begin_ids))
        self.num_rows = -(-self._blocked // self.stride)
        self.numbers = np.arange(self.num_rows, dtype=np.uint32)  # (rows,), of the blocks

    def spread(self, num_rows: int) -> TokenBlocks:
        """Return a source of some of the blocks only, evenly spaced in the file; of all, if there are no more.

        Args:
            num_rows: int, how many.
        """
        if not is_size(num_rows):
            raise ValueError(f"Received num_rows={num_rows!r}: expected a whole number of blocks, at least 1.")
        some = copy(self)
        some.numbers = np.linspace(0, self.num_rows, min(num_rows, self.num_rows), endpoint=False).astype(np.uint32)
        some.num_rows = len(some.numbers)
        return some

    def sample(self) -> Rows:
        return self.draw(self.numbers[:SAMPLED], 0)

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, UnreadBlocks]]:
        steps = max(1, WINDOW // (batching.macro_size * self.max_length))
        rows, batches = steps * batching.macro_size, steps * batching.accumulation_steps
        offset, order = 0, self.numbers
        if batching.shuffle:
            rng = batching.rng(epoch, DRAW)
            offset = int(rng.integers(self._file.num_tokens))
            order = rng.permutation(self.numbers)  # (rows,)
        for number in range(skip // batches, -(-self.num_rows // rows)):
            yield number * batches, UnreadBlocks(self, order[number * rows : (number + 1) * rows], offset)
            self._file.forget()

    def lengths_of(self, blocks: np.ndarray) -> np.ndarray:
        """Return the tokens of blocks by their numbers (B,), special tokens included: (B,)."""
        counts = np.minimum(self.stride, self._blocked - blocks.astype(np.int64) * self.stride)  # (B,)
        return counts + self.max_length - self.stride

    def draw(self, blocks: np.ndarray, offset: int) -> Rows:
        """Return blocks of the circular text that begins at token `offset`.

        Args:
            blocks: (B,) int, their numbers.
            offset: int.
        """
        begins = blocks.astype(np.int64) * self.stride  # (B,)
        counts = np.minimum(self.stride, self._blocked - begins)  # (B,), of tokens, or of labels
        begins = (begins + offset) % self._file.num_tokens
        if not self.next_tokens:
            return self._with_segments(self._rows(begins, counts, self.begin_ids, self.end_ids))
        if not len(self.begin_ids):
            labels = self._rows((begins + 1) % self._file.num_tokens, counts)
            return self._with_segments(self._rows(begins, counts), labels)
        no_labels = np.full(len(self.begin_ids) - 1, -1, np.int32)
        labels = self._rows(begins, counts, no_labels)
        return self._with_segments(self._rows(begins, counts - 1, self.begin_ids), labels)

    def _with_segments(self, ids: Ragged, labels: Ragged | None = None) -> Rows:
        segments = (
            None if self.segment is None else Ragged(np.full_like(ids.flat, self.segment), ids.starts, ids.lengths)
        )
        return Rows(ids, segments, labels)

    def _rows(self, begins: np.ndarray, counts: np.ndarray, before: Ids = (), after: Ids = ()) -> Ragged:
        """Return `counts` (B,) tokens of the circular text from `begins` (B,) on, each row between the same ids."""
        lengths = counts + len(before) + len(after)  # (B,)
        starts = np.cumsum(lengths) - lengths  # (B,)
        flat = np.empty(lengths.sum(), np.int32)
        tokens, total = self._file.tokens, self._file.num_tokens
        for start, begin, count in zip(starts.tolist(), begins.tolist(), counts.tolist(), strict=True):
            flat[start : start + len(before)] = before
            start += len(before)
            end = begin + count
            flat[start : start + count] = (
                tokens[begin:end] if end <= total else np.take(tokens, range(begin, end), mode="wrap")
            )
            flat[start + count : start + count + len(after)] = after
        return Ragged(flat, starts, lengths)


class UnreadBlocks:
    """Blocks of a file of tokens that are read when a batch asks for them: `EncodedRows` of a window.

    Args:
        source: `TokenBlocks`.
        blocks: (rows,) int, their numbers.
        offset: int, the token at which they begin; see `TokenBlocks.draw`.
    """

    is_unread = True

    def __init__(self, source: TokenBlocks, blocks: np.ndarray, offset: int):
        self._source, self._blocks, self._offset = source, blocks, offset
        self.num_rows, self.lengths = len(blocks), source.lengths_of(blocks)

    def __getitem__(self, indices: np.ndarray | slice) -> Rows:
        return self._source.draw(self._blocks[indices], self._offset)
