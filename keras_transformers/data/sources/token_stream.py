"""Sources of texts for a language model, larger than memory: tokenised in the graph, and packed buffer by buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from keras_transformers.data.batches.batching import DRAW, Batching
from keras_transformers.data.batches.window import whole_windows
from keras_transformers.data.sources.packing import Blocks, check_packing, next_token_source, whole_texts
from keras_transformers.data.sources.rows import Ragged, Rows

# Number of texts that are tokenised at once: enough for full speed.
CHUNK = 256


class TokenStream:
    """A source, for `NextToken`, of texts or of inputs and targets from a `tf.data.Dataset`.

    Like `next_token_source`, in bounded memory: rows are packed and shuffled inside a buffer. A resumed pass tokenises
    the skipped texts again, as their number of rows is not known in advance. Every epoch reads texts in the order of
    `texts` (see `Stream`).

    Args:
        texts: `tf.data.Dataset` of a string or of (input, target) strings, not batched; such as a `TextLineDataset`.
            Each single text must fit in memory. (`TextLineDataset` removes line breaks: for blocks that keep them, map
            `lambda line: line + "\\n"` over the lines, and give no `end_id`.)
        tokenize: A function from a string tensor (B,) to ragged ids (B, None): `TextGraph.tokenize`.
        max_length, packing, end_id: As in `next_token_source`. With shuffling, the first block of each epoch has a
            random shorter length.
        begin_ids: Ids before each text or input, not before targets.
        buffer_size: int, rows of `max_length` tokens in memory at a time.

    Raises:
        ValueError: Elements of another structure, an unknown packing, or (from `batches`) no text.

    Example:

    >>> import tensorflow as tf
    >>> from keras_transformers.data.objectives.next_token import NextToken
    >>> from keras_transformers.data.batches.pipeline import batches
    >>> from keras_transformers.text.graph.compile import compile_text
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40, model="words")
    >>> lines = tf.data.Dataset.from_tensor_slices(["the cat sat", "the cat danced"])  # or a tf.data.TextLineDataset
    >>> tokenize = compile_text(tokenizer.to_json(), pad_id=0).tokenize
    >>> stream = TokenStream(lines, tokenize, max_length=4, packing="blocks", end_id=tokenizer.eos_id)
    >>> dataset = batches(stream, NextToken(40), batch_size=2, max_length=4)
    >>> next(iter(dataset))[0]["token_ids"].shape
    TensorShape([2, 4])
    """

    num_rows = lengths = None

    def __init__(
        self,
        texts,
        tokenize: Callable,
        max_length: int,
        *,
        packing: str | None = None,
        end_id: int | None = None,
        begin_ids: Sequence[int] = (),
        buffer_size: int = 1024,
    ):
        spec = texts.element_spec
        parts = spec if isinstance(spec, tuple) else (spec,)
        if len(parts) > 2 or not all(getattr(p, "dtype", None) == "string" and p.shape.rank == 0 for p in parts):
            raise ValueError(
                f"Received a data set of {spec}: expected a scalar string, or (input, target); `unbatch()` one that is "
                "batched."
            )
        check_packing(packing, len(parts) == 2)
        self.texts, self.tokenize, self.max_length = texts, tokenize, max_length
        self.packing, self.end_id, self.buffer_size = packing, end_id, buffer_size
        self.begin_ids = np.array(begin_ids, np.int32)

    @property
    def buckets(self) -> tuple[int, ...] | None:
        """Return the default padded lengths: `()` for packed rows, which fill max_length."""
        return () if self.packing else None

    def sample(self) -> Rows:
        for rows in self._rows(0, 1):
            return rows
        raise ValueError("Received an empty data set: expected at least one text of two tokens.")

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Rows]]:
        offset = int(batching.rng(epoch, DRAW).integers(self.max_length)) if batching.shuffle else 0
        yield from whole_windows(self._rows(offset, self.buffer_size * self.max_length), batching)

    def _rows(self, offset: int, tokens: int) -> Iterator[Rows]:
        """Yield all rows, in parts of at least `tokens` tokens."""
        if self.packing == "blocks":
            yield from self._blocks(offset, tokens)
            return

        for texts, *targets in self._buffers(tokens):
            outputs = targets[0] if targets else None
            rows = next_token_source(texts, self.max_length, packing=self.packing, end_id=self.end_id, targets=outputs)
            if rows.num_rows:
                yield rows.sample()

    def _blocks(self, offset: int, tokens: int) -> Iterator[Rows]:
        rest = np.zeros(0, np.int32)
        for (texts,) in self._buffers(tokens):
            flat = np.concatenate([rest, whole_texts(texts, self.end_id).tokens()])
            if offset and flat.size > 1:
                yield Blocks(flat[: offset + 1], self.max_length).sample()
                flat, offset = flat[offset:], 0

            full = max(flat.size - 1, 0) // self.max_length
            if full:
                yield Blocks(flat, self.max_length).sample()[:full]
            rest = flat[full * self.max_length :]
        if rest.size > 1:
            yield Blocks(rest, self.max_length).sample()

    def _buffers(self, tokens: int) -> Iterator[tuple[Ragged, ...]]:
        """Yield texts, and targets if any, in parts of at least `tokens` tokens."""
        import tensorflow as tf

        def tokenized(texts, *targets):
            ids = self.tokenize(texts)  # (B, None)
            begin = tf.broadcast_to(self.begin_ids, (ids.nrows(), self.begin_ids.size))  # (B, n)
            texts = tf.concat([tf.RaggedTensor.from_tensor(begin), ids], axis=1)  # (B, None)
            return tuple((ids.values, ids.row_lengths()) for ids in (texts, *map(self.tokenize, targets)))

        options = tf.data.Options()
        options.autotune.enabled = False
        chunks = self.texts.batch(CHUNK).map(tokenized).prefetch(1).with_options(options)

        parts, count = [], 0
        for chunk in chunks.as_numpy_iterator():
            parts.append([Ragged.joined(*column) for column in chunk])
            count += sum(values.size for values, _ in chunk)
            if count >= tokens:
                yield tuple(map(Ragged.concatenated, zip(*parts, strict=True)))
                parts, count = [], 0
        if parts:
            yield tuple(map(Ragged.concatenated, zip(*parts, strict=True)))
