"""Sources of texts larger than memory: read from tf.data, encoded in the graph, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from keras_transformers.data.batches.batching import Batching
from keras_transformers.data.sources.rows import Ragged, Rows, tell_cut


class Stream:
    """A source of texts from a `tf.data.Dataset`; needs the TensorFlow backend.

    Rows are shuffled, and sorted by length, inside a buffer. A resumed pass skips whole buffers without encoding them.
    Every epoch reads texts in the order of `texts`. To shuffle files or lines, use a fixed seed and
    `reshuffle_each_iteration=False`: otherwise a resumed run gets other rows.

    Args:
        texts: `tf.data.Dataset` of a string, (string, label), (string, string) or (string, string, label), not batched.
        encode: A function `encode(texts, pairs)` of string tensors (B,); `pairs` may be `None`. It returns a dict
            of `token_ids` (B, T), `padding_mask` (B, T) and, for models with segments, `segment_ids` (B, T), all padded
            on the right; such as `functools.partial(graph.encode, max_length=128)` for a `TextGraph`. If the dict has
            `truncated` (B,) too, a warning for each buffer counts the texts that were cut.
        buffer_size: int, rows in memory at a time; rounded to whole batches.
        read_labels: A function from a list of label names to an array of numbers. With it, the last of several strings
            is a label name, not a second text. Labels that are numbers are kept.

    Raises:
        ValueError: Elements of another structure, or (from `batches`) no elements, or an unknown label name.

    Example:

    >>> import functools
    >>> import tensorflow as tf
    >>> from keras_transformers.data.objectives.masking import MaskedLM
    >>> from keras_transformers.data.batches.pipeline import batches
    >>> from keras_transformers.text.graph.compile import compile_text
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> special = ["</s>", "<unk>", "[PAD]", "[MASK]"]
    >>> tokenizer = Tokenizer.train(["the cat danced"], vocabulary_size=40, model="words", special_tokens=special)
    >>> texts = tf.data.Dataset.from_tensor_slices(["the cat", "danced"])  # or a tf.data.TextLineDataset
    >>> encode = functools.partial(compile_text(tokenizer.to_json()).encode, max_length=32)
    >>> dataset = batches(Stream(texts, encode), MaskedLM(tokenizer), batch_size=2, max_length=32)
    >>> inputs, labels = next(iter(dataset))
    >>> inputs["token_ids"].shape
    TensorShape([2, 16])
    """

    num_rows = None

    def __init__(self, texts, encode: Callable, buffer_size: int = 4096, read_labels: Callable | None = None):
        self.texts, self.names = texts, _names(texts.element_spec, read_labels is not None)
        self.encode, self.buffer_size, self.read_labels = encode, buffer_size, read_labels

    def sample(self) -> Rows:
        for rows in self._read(self.texts.take(1), 1):
            return rows
        raise ValueError("Received an empty data set: expected at least one text.")

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Rows]]:
        steps = max(1, self.buffer_size // batching.macro_size)  # optimizer steps in a window
        first = skip // (steps * batching.accumulation_steps)
        rows = steps * batching.macro_size
        for index, window in enumerate(self._read(self.texts.skip(first * rows), rows), first):
            yield index * steps * batching.accumulation_steps, window

    def _encoded(self, *parts) -> tuple:
        row = dict(zip(self.names, parts, strict=True))
        return self.encode(row["texts"], row.get("pairs")), row.get("labels", ())

    def _read(self, texts, rows: int) -> Iterator[Rows]:
        import tensorflow as tf

        encoded = texts.batch(rows).map(self._encoded)
        options = tf.data.Options()
        options.autotune.enabled = False
        for arrays, labels in encoded.prefetch(1).with_options(options).as_numpy_iterator():
            mask = np.asarray(arrays["padding_mask"], bool)
            segments = arrays.get("segment_ids")
            tell_cut(arrays.get("truncated", ()), mask.sum(axis=1).max())
            yield Rows(
                Ragged.unpadded(arrays["token_ids"], mask),
                None if segments is None else Ragged.unpadded(segments, mask),
                None if isinstance(labels, tuple) else self._numbers(labels),
            )

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        if labels.dtype != object or self.read_labels is None:
            return labels
        names = np.vectorize(bytes.decode, otypes=[object])(labels).tolist()
        try:
            return self.read_labels(names)
        except ValueError as error:
            raise ValueError(f"{error} In a data set of (text, string) the string is a label, not a pair.") from None


def _names(spec, has_labels: bool) -> tuple[str, ...]:
    """Return the names of an element's parts. Strings are texts; with `has_labels`, the last of several is a label."""
    parts = spec if isinstance(spec, tuple) else (spec,)
    texts = tuple(getattr(part, "dtype", None) == "string" and part.shape.rank == 0 for part in parts)
    if has_labels and len(parts) > 1:
        texts = (*texts[:-1], False)
    names = {
        (True,): ("texts",),
        (True, False): ("texts", "labels"),
        (True, True): ("texts", "pairs"),
        (True, True, False): ("texts", "pairs", "labels"),
    }
    if texts not in names:
        raise ValueError(
            f"Received a data set of {spec}: expected a scalar string, or (text, label), (text, text) or "
            "(text, text, label); `unbatch()` one that is batched."
        )
    return names[texts]
