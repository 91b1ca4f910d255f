"""Signatures of models that answer by one pass: from texts to named tensors, in three steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor

if TYPE_CHECKING:
    from keras_transformers.tasks.answers.named_model import NamedModel

Answer = Callable[[Tensors, Tensors], Tensors]  # from a model's outputs and inputs to numbers, batch first


def as_computed(found: Tensors, *columns: Any) -> Tensors:
    """Return the computed numbers: for signatures that write no strings."""
    return found


class Signature(NamedTuple):
    """A function of an export, from strings to named tensors, batch first, with `truncated` among them.

    TensorFlow traces the three steps as one graph. Elsewhere strings are no tensors: `read` and `write` run in Python,
    and `compute` is compiled.
    """

    inputs: tuple[str, ...]  # names of its inputs, strings, batch first
    read: Callable[..., Any]  # from a `Reader` and the inputs to tensors, perhaps in nested dicts
    compute: Callable[[Any], Tensors]  # from these to numbers; no shape depends on values
    write: Callable[..., Tensors] = as_computed  # from the numbers and the inputs to the named tensors
    ranks: tuple[int, ...] = (1, 1)  # of the inputs: 1 for one string a row, 2 for several, padded with empty ones
    windows: bool = False  # whether a text is read in several rows, of a number that XLA cannot know
    shared: int = 0  # how many of the last inputs are no rows: all rows are read with all their strings

    def run(self, reader: Reader, *columns: Any) -> Tensors:
        """Return the named tensors for columns of strings."""
        return self.write(self.compute(self.read(reader, *columns)), *columns)


def no_more_inputs(token_ids: Tensor) -> Tensors:
    """Return no inputs: for models that take only what the tokenizer gives."""
    return {}


def text_signatures(
    takes_pairs: bool,
    model: keras.Model | NamedModel,
    answer: Answer,
    write: Callable[..., Tensors] = as_computed,
    more_inputs: Callable[[Tensor], Tensors] = no_more_inputs,
) -> dict[str, Signature]:
    """Return the signatures of a model that reads a text, or a pair of texts as one row: `serving_default` and `pair`.

    Args:
        takes_pairs: Whether there is a signature `pair`.
        model: Model that takes a dict of the inputs that the tokenizer and `more_inputs` give.
        answer: Function from the model's outputs and inputs to a dict of named tensors, batch first.
        write: Function from these tensors and `truncated` to the tensors of the signature: see `Signature`.
        more_inputs: Function from token ids (B, T) to inputs of the model that the tokenizer does not give.
    """

    def read(reader: Reader, texts: Any, pairs: Any = None) -> Tensors:
        encoded = reader(texts, pairs)
        return encoded | more_inputs(encoded["token_ids"])

    def compute(encoded: Tensors) -> Tensors:
        inputs = {name: encoded[name] for name in model.input}
        return {**answer(model(inputs, training=False), inputs), "truncated": encoded["truncated"]}

    signatures = {"serving_default": Signature(("text",), read, compute, write)}
    if takes_pairs:
        signatures["pair"] = Signature(("text", "text_pair"), read, compute, write)
    return signatures


def look_up(names: Sequence[str], numbers: Tensor) -> Tensor:
    """Return names by number, and `""` for -1: strings in a TensorFlow tensor, or on other backends in a numpy array.

    Example:

    >>> tuple(look_up(["no", "yes"], np.array([1, -1, 0])).shape)
    (3,)
    """
    names = ["", *names]
    if on_tensorflow():
        import tensorflow as tf

        return tf.gather(tf.constant(names), numbers + 1)
    return np.array(names, object)[keras.ops.convert_to_numpy(numbers) + 1]
