"""Checks of the inputs of string layers, and of exports that take text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras

from keras_transformers.text.pipelines.library import NO_LIMIT
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.number_checks import is_size, is_token_id
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.text_checks import check_text
from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    from keras_transformers.text.graph.compile import TextGraph


def check_tokenizer(who: str, tokenizer: Any) -> None:
    """Check that there is a `Tokenizer`, and TensorFlow to compile it for.

    Args:
        who: Name of the caller, for the error message.
        tokenizer: A user's argument.

    Raises:
        ValueError: It is no `Tokenizer`, or the backend is not TensorFlow.
    """
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            f"{who} handles text in TensorFlow ops: received the backend {keras.config.backend()!r}. Encode texts "
            "outside of the model, with Tokenizer.encode, or set KERAS_BACKEND=tensorflow."
        )
    if not isinstance(tokenizer, Tokenizer):
        raise ValueError(
            f"{who} takes a keras_transformers.Tokenizer: received a {type(tokenizer).__name__}. Make one with "
            "Tokenizer.from_folder, from_file or train, or Tokenizer(library) of a tokenizers.Tokenizer."
        )


def padding_of(tokenizer: Tokenizer, pad_id: int | None) -> int:
    """Return the id that rows are padded with.

    Args:
        tokenizer: The tokenizer.
        pad_id: A user's argument; None for the tokenizer's.

    Raises:
        ValueError: `pad_id` is no token id, or None and the tokenizer has none.

    Example:

    >>> padding_of(Tokenizer.train(["the cat"], vocabulary_size=40), None)
    0
    """
    if pad_id is None:
        pad_id = own_padding(tokenizer)
    if pad_id is None:
        raise ValueError(
            "the tokenizer has no token for padding: pass pad_id, an id such as 0, that rows are filled with."
        )
    if not is_token_id(pad_id, NO_LIMIT):
        raise ValueError(f"pad_id must be the id of a token, an integer from 0 on: received {shown(pad_id)}.")
    return int(pad_id)


def own_padding(tokenizer: Tokenizer) -> int | None:
    """Return the id of a tokenizer's padding token; None if it has none."""
    try:
        return tokenizer.pad_id
    except ValueError:
        return None


def check_length(graph: TextGraph, max_length: Any, pairs: bool) -> None:
    """Check that a row has room for text.

    Args:
        graph: The `TextGraph` of a tokenizer.
        max_length: Maximum tokens of a row; None for no limit.
        pairs: Whether rows are made of two texts.

    Raises:
        ValueError: `max_length` is no integer, or the special tokens take all of it.
    """
    if max_length is None:
        return
    if not is_size(max_length):
        raise ValueError(f"max_length must be a positive integer, or None for no limit: received {shown(max_length)}.")
    graph.template.room(1 + bool(pairs), int(max_length))


def strings(texts: Any) -> Tensor:
    """Convert a user's strings to a tensor (), (B,) or (B, 1), which may be symbolic.

    Raises:
        ValueError: They are no strings, or have another shape.

    Example:

    >>> strings(["a film", "a day"]).shape
    TensorShape([2])
    """
    import tensorflow as tf

    if not (isinstance(texts, keras.KerasTensor) or tf.is_tensor(texts)):
        _check_python(texts)
        try:
            texts = tf.convert_to_tensor(texts, tf.string)
        except (TypeError, ValueError) as error:
            raise _no_strings(texts) from error
    if texts.dtype not in ("string", tf.string):
        raise ValueError(
            f"expected strings: received a tensor of {getattr(texts.dtype, 'name', texts.dtype)}. In a model they come "
            'from keras.Input((), dtype="string").'
        )
    if tf.is_tensor(texts) and texts.shape.rank is None:
        texts = tf.ensure_shape(texts, [None])
    if len(texts.shape) > 1 and tuple(texts.shape[1:]) != (1,):
        raise ValueError(f"expected one string a row, (batch,) or (batch, 1): received the shape {tuple(texts.shape)}.")
    return texts


def _check_python(texts: Any) -> None:
    """Refuse lists with other members than str, each of which TensorFlow would convert to a row, and text that is not
    UTF-8.
    """
    rows = [texts] if isinstance(texts, str) else texts
    for row, text in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        if not isinstance(text, (str, bytes)):
            raise _no_strings(texts)
        if isinstance(text, str):
            check_text("inputs", text, row)


def _no_strings(texts: Any) -> ValueError:
    return ValueError(
        f"expected strings, as a tensor, an array or a list of str: received {shown(texts)}. Rows of two texts need "
        "Tokenize(pairs=True)."
    )
