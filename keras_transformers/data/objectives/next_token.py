"""The next-token objective, alone or beside another."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_transformers.data.batches.protocols import Objective
from keras_transformers.data.sources.rows import Ragged, Rows


class NextToken:
    """The objective that converts rows whose labels are the next tokens to the model's inputs and (B, T) labels.

    The rows must have labels (see `next_tokens`, `completions`, `packing` and `token_stream`), as the token after the
    last one of a row is not in the row.

    Args:
        vocabulary_size: int V.
        pad_id: int, the id of padding.

    Returns:
         `token_ids` and `padding_mask` (B, T), and labels (B, T), -1 for no target.

    Raises:
        ValueError: From `check`: rows without labels for each token, or an id that is not in the vocabulary.

    Example:

    >>> from keras_transformers.data.sources.next_token_rows import next_tokens
    >>> rows = next_tokens(Ragged.of([[5, 6, 7], [8, 9]]))
    >>> inputs, labels = NextToken(vocabulary_size=10)(rows, width=3)
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[5, 6, 0], [8, 0, 0]], [[6, 7, -1], [9, -1, -1]])
    """

    is_row_wise = True

    def __init__(self, vocabulary_size: int, pad_id: int = 0):
        self.vocabulary_size, self.pad_id = vocabulary_size, pad_id

    def check(self, rows: Rows):
        if not isinstance(rows.labels, Ragged):
            raise ValueError("Received rows without a label for each token: make them by `next_tokens`.")
        for ids, least in ((rows.token_ids.flat, 0), (rows.labels.flat, -1)):
            if ids.max(initial=0) >= self.vocabulary_size or ids.min(initial=0) < least:
                raise ValueError(
                    f"Received token ids from {ids.min()} to {ids.max()}: expected 0 to {self.vocabulary_size - 1}, "
                    "the tokenizer's vocabulary."
                )

    def __call__(self, rows: Rows, width: int, rng: Any = None) -> tuple[dict, np.ndarray]:
        return rows.padded(width, self.pad_id), rows.labels.padded(width, -1)


class WithNextToken:
    """An objective that adds the labels of a language model to another objective's.

    For a language model as the auxiliary objective of a classifier: Radford et al. 2018, "Improving Language
    Understanding by Generative Pre-Training".

    Args:
        objective: An objective with one array of labels, such as `Classification`.
        head: str, the model's output for these labels.
        name: str, the model's output of next-token logits.

    Returns:
        The inputs of the objective, and a dict of its labels and (B, T) next tokens, -1 for none.

    Example:

    >>> from keras_transformers.data.objectives.class_targets import Classification
    >>> objective = WithNextToken(Classification(num_classes=2), "logits", "next")
    >>> inputs, labels = objective(Rows.of([[5, 6, 7], [8, 9]], None, labels=[1, 0]), width=3)
    >>> labels["logits"].tolist(), labels["next"].tolist()
    ([1, 0], [[6, 7, -1], [9, -1, -1]])
    """

    def __init__(self, objective: Objective, head: str, name: str):
        self.objective, self.head, self.name = objective, head, name
        self.check = objective.check

    def __call__(self, rows: Rows, width: int, rng: Any = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        next_ids = np.where(inputs["padding_mask"], inputs["token_ids"], np.int32(-1))[:, 1:]  # (B, T - 1)
        next_ids = np.pad(next_ids, ((0, 0), (0, 1)), constant_values=-1)  # (B, T)
        return inputs, {self.head: labels[0], self.name: next_ids}
