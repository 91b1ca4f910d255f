"""Readers: functions from texts to the inputs of a model, as TensorFlow ops or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import keras
import numpy as np

from keras_transformers.data.batches.batching import bucket, power_of_two
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.exports.compiled_lengths import padded_length
from keras_transformers.tasks.inputs.context_windows import Windows, columns_of, encode_windows, first_windows
from keras_transformers.tasks.inputs.sources import rows_of
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.graph.streams.words_of_text import place_words
from keras_transformers.utils.tensor_types import Tensor

if TYPE_CHECKING:
    from keras_transformers.text.graph.compile import TextGraph

Tensors = dict[str, Tensor]


class Reader(Protocol):
    """A function from texts, or pairs of texts as one row each, to inputs of a model."""

    def __call__(
        self, texts: Any, pairs: Any = None, *, with_words: bool = False, truncation: str = "longest_first"
    ) -> Tensors:
        """Encode texts.

        Args:
            texts: (B,) strings; in Python a list of str.
            pairs: (B,) strings, the second of each pair.
            with_words: Whether to return the places of tokens in their text, and their words; not for pairs.
            truncation: The text of a pair that is cut: "longest_first", or "only_first".

        Returns:
            int32 (B, T) `token_ids`, `segment_ids` and `padding_mask`, and bool (B,) `truncated`. With words, also
            int32 `offsets` (B, T, 2), the code points [start, end) of each token without white space at its ends,
            (0, 0) for special tokens and padding; `word_ids` (B, T), the word of each token by `words_of_text`, -1 for
            these and for white space; and `sequence_ids` (B, T), 0 for tokens of the text, else -1.
        """
        ...

    def windows(self, questions: Any, contexts: Any, windows: Windows, most: int) -> Tensors:
        """Encode pairs of question and context, a long context as several windows.

        Args:
            questions, contexts: (B,) strings each; in Python lists of str.
            windows: Settings for the division of contexts into windows.
            most: The most windows of one context that are returned.

        Returns:
            int32 (W, T) `token_ids`, `segment_ids`, `padding_mask`, `word_ids` and `sequence_ids` (1 for the context),
            and `offsets` (W, T, 2), for the windows of all texts, in their order; int32 (W,) `row`, the number of a
            window's text, B for windows after the last text's; int32 (M,) `column`, from 0 to M - 1 for the M
            windows that a text has at most; and bool (B,) `truncated`, whether the question was cut, or windows
            were left out.
        """
        ...


class GraphReader:
    """The reader of a task, or of a user's own model, in TensorFlow ops.

    Args:
        graph: The tokenizer.
        max_length: Longest text in tokens.
        length: Tokens of each row, if the model takes no other length; None to pad to the longest row.
        padded: Whether a single row is padded to a length of `compiled_lengths`.
    """

    def __init__(self, graph: TextGraph, max_length: int, length: int | None = None, padded: bool = False):
        self.graph, self.max_length, self.length, self.padded = graph, max_length, length, padded

    def __call__(
        self, texts: Any, pairs: Any = None, *, with_words: bool = False, truncation: str = "longest_first"
    ) -> Tensors:
        if not with_words:
            return self._tensors(self.graph.encode(texts, pairs, max_length=self.max_length, truncation=truncation))
        from keras_transformers.text.graph.outputs.place_words import PlaceWords

        encoded = self.graph.encode(texts, max_length=self.max_length, with_offsets=True)
        return self._tensors(encoded | PlaceWords()(texts, encoded["offsets"], encoded["word_ids"]))

    def windows(self, questions: Any, contexts: Any, windows: Windows, most: int) -> Tensors:
        options = {"max_length": windows.max_length, "stride": windows.stride, "most_question": windows.question_length}
        encoded = first_windows(self.graph.encode_windows(questions, contexts, **options), most)
        return self._tensors(encoded) | {"column": columns_of(encoded["row"], keras.ops.shape(encoded["truncated"])[0])}

    def _tensors(self, encoded: Tensors) -> Tensors:
        from keras_transformers.text.graph.outputs.row_layout import model_inputs

        length = self.length
        if self.padded:
            rows, longest = keras.ops.shape(encoded["token_ids"])
            length = keras.ops.where(rows == 1, padded_length(longest, self.max_length), longest)
        return model_inputs(encoded, self.graph.pad_id, length)


class PythonReader:
    """The reader of a task in Python, by the `tokenizers` library.

    Args:
        setup: Setup of the task.
        bucketed: Whether lengths and numbers of windows are rounded up, for programs that are compiled once for each.
    """

    def __init__(self, setup: Setup, bucketed: bool = False):
        self.setup, self.bucketed = setup, bucketed

    def __call__(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        with_words: bool = False,
        truncation: str = "longest_first",
    ) -> Tensors:
        encoded = self.setup.tokenizer.encode(texts, pairs, self.setup.max_length, truncation)
        truncated = np.array([row.truncated for row in encoded])
        tensors = self._tensors(encoded, with_words) | {"truncated": truncated}
        if with_words:
            tensors |= place_words(texts, tensors["offsets"], tensors["word_ids"])
        return tensors

    def windows(self, questions: Sequence[str], contexts: Sequence[str], windows: Windows, most: int) -> Tensors:
        encoded, cut = encode_windows(self.setup.tokenizer, questions, contexts, windows)
        row = np.array([window.row for window in encoded], np.int32)  # (W,)
        counts = np.bincount(row)  # (B,)
        (kept,) = np.nonzero(np.arange(len(row)) - np.searchsorted(row, row) < most)
        encoded, row = [encoded[number] for number in kept], row[kept]

        size, column = len(row), min(counts.max(), most)
        if self.bucketed:
            size, column = power_of_two(size), power_of_two(column)
        encoded += [encoded[-1]] * (size - len(row))
        row = np.pad(row, (0, size - len(row)), constant_values=len(questions))
        return self._tensors(encoded, with_offsets=True) | {
            "row": row,
            "column": np.arange(column, dtype=np.int32),
            "truncated": np.array(cut) | (counts > most),
        }

    def _tensors(self, encoded: Sequence[Encoded], with_offsets: bool) -> Tensors:
        rows = rows_of(encoded, self.setup.config)
        longest = int(rows.lengths.max())
        width = bucket(longest, max(self.setup.max_length, longest)) if self.bucketed else longest
        arrays = rows.padded(width, self.setup.config.fill_id)
        return arrays | places_of(encoded, width) if with_offsets else arrays


def places_of(encoded: Sequence[Encoded], width: int) -> dict[str, np.ndarray]:
    """Return the offsets, word numbers and text numbers of the tokens of B encoded texts.

    Args:
        encoded: Encoded rows of at most `width` tokens.
        width: T.

    Returns:
        int32 `offsets` (B, T, 2), `word_ids` and `sequence_ids` (B, T), as of a `Reader`.
    """
    offsets = np.zeros((len(encoded), width, 2), np.int32)
    word_ids, sequence_ids = np.full((2, len(encoded), width), -1, np.int32)
    for number, row in enumerate(encoded):
        offsets[number, : len(row.ids)] = row.offsets
        for numbers, found in ((word_ids, row.word_ids), (sequence_ids, row.sequence_ids)):
            numbers[number, : len(row.ids)] = [-1 if value is None else value for value in found]
    return {"offsets": offsets, "word_ids": word_ids, "sequence_ids": sequence_ids}
