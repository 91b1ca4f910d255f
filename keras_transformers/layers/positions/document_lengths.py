"""Lengths of the texts in a row."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.layers.interface.layer_options import Positional
from keras_transformers.layers.positions.absolute import DocumentPositions


@keras.saving.register_keras_serializable("keras_transformers")
class DocumentLengths(Positional):
    """A layer that returns the length of each token's text, if a row may hold several texts.

    Used by rotary positions whose scale depends on the length of a text.

    Call arguments:
        documents: Integer (B, T): the text of each token, from 1; 0 for padding. The tokens of a text are successive.

    Returns:
        int32 (B, T); 1 for padding.

    Example:

    >>> DocumentLengths()(np.array([[1, 1, 2, 0]])).numpy().tolist()
    [[2, 2, 1, 1]]
    """

    def call(self, documents):
        count = DocumentPositions()
        return count(documents) + ops.flip(count(ops.flip(documents, axis=1)), axis=1) + 1  # (B, T)

    def compute_output_spec(self, documents):
        return keras.KerasTensor(documents.shape, dtype="int32")
