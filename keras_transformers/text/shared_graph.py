"""One text graph for all users of a tokenizer: tasks, layers and exports."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.tokenizer import Tokenizer

# Graphs by padding id, as compiling takes a second.
GRAPHS: WeakKeyDictionary[Tokenizer, dict[int, TextGraph]] = WeakKeyDictionary()


def graph_of(tokenizer: Tokenizer, pad_id: int) -> TextGraph:
    """Return a tokenizer as TensorFlow ops: compiled at the first call, and kept as long as the tokenizer exists.

    Args:
        tokenizer: The tokenizer.
        pad_id: The id that rows are padded with.

    Example:

    >>> tokenizer = Tokenizer.train(["the cat sat"], vocabulary_size=40)
    >>> graph_of(tokenizer, 0) is graph_of(tokenizer, 0)
    True
    """
    graphs = GRAPHS.setdefault(tokenizer, {})
    if pad_id not in graphs:
        graphs[pad_id] = compile_text(tokenizer.to_json(), pad_id)
    return graphs[pad_id]
