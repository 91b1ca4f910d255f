"""The error for what cannot be compiled names it, and what can be."""

from __future__ import annotations

from keras_transformers.text.graph.refuse import refuse


def test_the_error_names_part_component_and_what_is_known():
    error = refuse("decoder", "CTC", {"ByteLevel": 1, "WordPiece": 2})
    assert isinstance(error, ValueError)
    assert str(error).startswith("The decoder 'CTC' of this tokenizer.json cannot be compiled into TensorFlow ops.")
    assert "Expected one of ['ByteLevel', 'WordPiece']" in str(error)
