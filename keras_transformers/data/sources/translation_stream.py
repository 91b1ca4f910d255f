"""A source of pairs of texts larger than memory: read from tf.data and encoded in the graph, a bounded number at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from keras_transformers.data.batches.batching import Batching
from keras_transformers.data.batches.window import whole_windows
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.translations import Translations, warn_of_changes
from keras_transformers.text.strings import BLANK

# Number of pairs that are tokenised at once: enough for full speed.
CHUNK = 256


class TranslationStream:
    """A source of (source, target) strings from a `tf.data.Dataset`; needs the TensorFlow backend.

    Like `encode_translations`, in bounded memory: rows are shuffled, and grouped by length, inside a buffer. Pairs with
    a blank side are left out and longer texts are cut, with a warning. A resumed pass encodes the skipped pairs again,
    as their number of batches is not known in advance. Every epoch reads texts in the order of `texts` (see `Stream`).

    Args:
        texts: `tf.data.Dataset` of (string, string), not batched; such as two `TextLineDataset` zipped.
        encode_source, encode_target: Functions from a string tensor (B,) to a dict of `token_ids` and
            `padding_mask` (B, T), padded on the right, and `truncated` (B,): `functools.partial(graph.encode,
            max_length=max_length)` for a `TextGraph` of each side.
        max_length: int, tokens to which these functions cut, special tokens included; the same as in `batches`.
        buffer_size: int, pairs in memory at a time.

    Raises:
        ValueError: Elements of another structure, or (from `batches`) no pair.

    Example:

    >>> import functools
    >>> import tensorflow as tf
    >>> from keras_transformers.data.batches.pipeline import batches
    >>> from keras_transformers.data.objectives.translation import Translation
    >>> from keras_transformers.text.graph.compile import compile_text
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "die Katze tanzte"], vocabulary_size=60)
    >>> lines = [tf.data.Dataset.from_tensor_slices(side) for side in (["the cat"], ["die Katze"])]
    >>> encode = functools.partial(compile_text(tokenizer.to_json()).encode, max_length=32)
    >>> stream = TranslationStream(tf.data.Dataset.zip(tuple(lines)), encode, encode, max_length=32)
    >>> inputs, labels = next(iter(batches(stream, Translation(60, start_id=2), batch_tokens=4096, max_length=32)))
    >>> inputs["token_ids"].shape == labels.shape
    True
    """

    num_rows = lengths = None

    def __init__(
        self, texts, encode_source: Callable, encode_target: Callable, max_length: int, buffer_size: int = 16384
    ):
        spec = texts.element_spec
        parts = spec if isinstance(spec, tuple) else (spec,)
        if len(parts) != 2 or not all(getattr(p, "dtype", None) == "string" and p.shape.rank == 0 for p in parts):
            raise ValueError(
                f"Received a data set of {spec}: expected (source, target), two scalar strings; `unbatch()` one that "
                "is batched."
            )
        self.texts, self.encoders = texts, (encode_source, encode_target)
        self.max_length, self.buffer_size = max_length, buffer_size

    def sample(self) -> Translations:
        for rows in self._rows(1):
            return rows
        raise ValueError("Received an empty data set: expected at least one pair of texts that are not blank.")

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Translations]]:
        yield from whole_windows(self._rows(self.buffer_size), batching)

    def _rows(self, size: int) -> Iterator[Translations]:
        """Yield all pairs, in parts of at least `size`."""
        parts, count = [], 0
        for blank, *sides in self._chunks.as_numpy_iterator():
            warn_of_changes(blank, [side["truncated"][~blank] for side in sides], self.max_length)
            masks = (np.asarray(side["padding_mask"], bool) & ~blank[:, None] for side in sides)
            pairs = [Ragged.unpadded(side["token_ids"], mask) for side, mask in zip(sides, masks, strict=True)]
            parts.append(Translations(*(side[np.flatnonzero(~blank)] for side in pairs)))
            count += parts[-1].num_rows
            if count >= size:
                yield Translations.concatenated(parts)
                parts, count = [], 0
        if count:
            yield Translations.concatenated(parts)

    @cached_property
    def _chunks(self):
        """Return the data set of encoded texts, made once, as tracing the text graphs takes seconds."""
        import tensorflow as tf

        def encoded(*texts):
            blank = [tf.strings.regex_full_match(side, BLANK) for side in texts]
            sides = [encode(side) for encode, side in zip(self.encoders, texts, strict=True)]
            names = ("token_ids", "padding_mask", "truncated")
            return blank[0] | blank[1], *({name: side[name] for name in names} for side in sides)

        options = tf.data.Options()
        options.autotune.enabled = False
        return self.texts.batch(CHUNK).map(encoded).prefetch(1).with_options(options)
