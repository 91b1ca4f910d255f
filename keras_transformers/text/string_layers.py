"""Layers of strings: text to token ids, and token ids to text, inside a model or a `tf.data` pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import keras
from keras import tree

from keras_transformers.text.pipelines.library import NO_LIMIT
from keras_transformers.text.string_checks import (
    check_length,
    check_tokenizer,
    own_padding,
    padding_of,
    strings,
)
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.tensor_types import may_be_equal
from keras_transformers.utils.untrusted import shown

OUTPUTS = ("token_ids", "segment_ids", "padding_mask", "truncated")
TOKENIZERS: WeakValueDictionary[str, Tokenizer] = (
    WeakValueDictionary()
)  # by tokenizer.json, so that copies of layers share them


class TextLayer(keras.layers.Layer):
    """A layer of one tokenizer, which is saved with it. TensorFlow only.

    Args:
        tokenizer: A `Tokenizer`.
        pad_id: The id that rows are padded with.
        **kwargs: Arguments of a layer; `dtype` is the inputs', which a `keras.Sequential` asks its first layer for.
    """

    def __init__(self, tokenizer: Tokenizer, pad_id: int, **kwargs: Any):
        super().__init__(**kwargs)
        from keras_transformers.text.shared_graph import graph_of

        self.supports_jit = False  # XLA has no strings
        self.tokenizer = tokenizer
        self.graph = graph_of(tokenizer, pad_id)
        self.built = True

    def get_config(self):
        tokenizer_json = self.tokenizer.to_json(pretty=False)
        TOKENIZERS.setdefault(tokenizer_json, self.tokenizer)
        return {**super().get_config(), "tokenizer": tokenizer_json}

    @classmethod
    def from_config(cls, config):
        tokenizer_json = config["tokenizer"]
        tokenizer = TOKENIZERS.get(tokenizer_json) or Tokenizer.from_json(tokenizer_json)
        TOKENIZERS[tokenizer_json] = tokenizer
        return super().from_config({**config, "tokenizer": tokenizer})


@keras.saving.register_keras_serializable("keras_transformers")
class Tokenize(TextLayer):
    """A layer from strings to the inputs of a model, as core TensorFlow ops; the ids equal `Tokenizer.encode`'s.

    Use it as the first layer of a model that takes text, or in `tf.data`, where a GPU or TPU need not wait for it:
    `dataset.map(lambda text, label: (tokenize(text), label))`. It is saved, cloned and exported with its tokenizer.
    TensorFlow only: on other backends, encode texts outside of the model with `Tokenizer.encode`.

    Args:
        tokenizer: A `Tokenizer`.
        max_length: Maximum tokens of a row, special tokens included: longer texts are cut, the longer one of a pair
            first, on the tokenizer's `truncation_side`. None for no limit.
        pairs: Whether rows are made of two texts.
        pad_to_max_length: Whether all rows have `max_length` tokens, a static shape as XLA and TPUs need after
            `tf.data`. If not, as many as the longest of the batch.
        outputs: Names of the columns to return, out of `token_ids`, `segment_ids`, `padding_mask` and `truncated`. One
            name, a str, returns that tensor instead of a dict: in a `keras.Sequential`, `"token_ids"` before a
            `TokenEmbedding(mask_zero=True)`, which hides padding of id 0.
        pad_id: The id that `token_ids` are padded with; None for the tokenizer's.

    Call arguments:
        inputs: (B,) or (B, 1) strings: a tensor, an array or a list of str. A single string () gives a single row. With
            `pairs`, a tuple or list of two such inputs.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask` (1 for tokens, 0 for padding), int32 (B, T); and if
        asked for, `truncated`, bool (B,): whether the text was cut.

    Raises:
        ValueError: An argument is invalid, `max_length` leaves no room beside special tokens, a component
            of the tokenizer cannot be compiled (the message names it), the backend is not TensorFlow, or the inputs are
            no strings.

    Example:

    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> tokenize = Tokenize(tokenizer, max_length=16)
    >>> tokenize(["the cat", "sat"])["padding_mask"].numpy().tolist()
    [[1, 1, 1, 1], [1, 1, 1, 0]]
    >>> text = keras.Input((), dtype="string")
    >>> model = keras.Model(text, keras.layers.Embedding(40, 8)(tokenize(text)["token_ids"]))
    >>> model.output.shape
    (None, None, 8)
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        pairs: bool = False,
        pad_to_max_length: bool = False,
        outputs: str | Sequence[str] = OUTPUTS[:3],
        pad_id: int | None = None,
        **kwargs: Any,
    ):
        check_tokenizer("Tokenize", tokenizer)
        _check_outputs(outputs)
        super().__init__(tokenizer, padding_of(tokenizer, pad_id), **{"dtype": "string", **kwargs})
        check_length(self.graph, max_length, pairs)
        if pad_to_max_length and max_length is None:
            raise ValueError("pad_to_max_length=True needs a max_length: received None. Pass both, or neither.")
        self.max_length = None if max_length is None else int(max_length)
        self.pairs = bool(pairs)
        self.pad_to_max_length = bool(pad_to_max_length)
        self.outputs = outputs if isinstance(outputs, str) else tuple(outputs)
        self.pad_id = self.graph.pad_id

    def get_config(self):
        names = "max_length", "pairs", "pad_to_max_length", "outputs", "pad_id"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def __call__(self, inputs, **kwargs):
        return super().__call__(self._tensors(inputs), **kwargs)  # lists, too: Keras takes only lists of numbers

    def call(self, inputs):
        import tensorflow as tf

        from keras_transformers.text.graph.outputs.row_layout import model_inputs
        from keras_transformers.text.strings import with_rows

        texts, *pairs = (tf.reshape(column, [-1]) for column in tree.flatten(inputs))  # (B,) each
        if pairs:
            pairs = list(with_rows({"the second of the pairs": pairs[0]}, tf.size(texts), "first").values())
        encoded = self.graph.encode(texts, *pairs, max_length=self.max_length or NO_LIMIT)
        rows = model_inputs(encoded, self.pad_id, self.max_length if self.pad_to_max_length else None)
        for column in rows.values():  # of a `tf.data` batch with `drop_remainder`, for instance
            column.set_shape([texts.shape[0], *column.shape[1:]])
        is_single = tree.flatten(inputs)[0].shape.rank == 0
        return self._chosen({name: column[0] if is_single else column for name, column in rows.items()})

    def compute_output_spec(self, inputs):
        batch = tree.flatten(inputs)[0].shape[:1]
        length = self.max_length if self.pad_to_max_length else None
        rows = {name: keras.KerasTensor((*batch, length), "int32") for name in OUTPUTS[:3]}
        return self._chosen({**rows, "truncated": keras.KerasTensor(batch, "bool")})

    def _chosen(self, rows: dict[str, Any]) -> Any:
        return rows[self.outputs] if isinstance(self.outputs, str) else {name: rows[name] for name in self.outputs}

    def _tensors(self, inputs: Any) -> Any:
        """Check inputs, and make tensors of them."""
        if not self.pairs:
            return strings(inputs)
        is_rows = isinstance(inputs, list) and any(isinstance(row, tuple) for row in inputs)  # not columns
        if not isinstance(inputs, (tuple, list)) or len(inputs) != 2 or is_rows:
            raise ValueError(
                "Tokenize(pairs=True) takes a tuple of two, the first and the second texts of the pairs: received "
                f"{shown(inputs)}. Pass tokenize((texts, pairs))."
            )
        texts, pairs = map(strings, inputs)
        if not may_be_equal(texts.shape, pairs.shape):
            raise ValueError(f"expected one second text for each first: received shapes {texts.shape}, {pairs.shape}.")
        return texts, pairs


@keras.saving.register_keras_serializable("keras_transformers")
class Detokenize(TextLayer):
    """A layer from token ids to strings, as core TensorFlow ops; the texts equal `Tokenizer.decode`'s.

    Use it as the last layer of a model that gives text. TensorFlow only.

    Args:
        tokenizer: A `Tokenizer`.

    Call arguments:
        token_ids: Integers (B, T). Special tokens, and ids that are not in the vocabulary, such as -1, are left out.

    Returns:
        (B,) strings.

    Raises:
        ValueError: `tokenizer` is no `Tokenizer`, a component of it cannot be compiled (the message names it), the
            backend is not TensorFlow, or the ids are no integers (B, T).

    Example:

    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> ids = Tokenize(tokenizer)(["The cat", "sat"])["token_ids"]
    >>> Detokenize(tokenizer)(ids).numpy().tolist()
    [b'the cat', b'sat']
    """

    def __init__(self, tokenizer: Tokenizer, **kwargs: Any):
        check_tokenizer("Detokenize", tokenizer)
        super().__init__(tokenizer, own_padding(tokenizer) or 0, **{"dtype": "int32", **kwargs})

    def __call__(self, token_ids, **kwargs):
        if not isinstance(token_ids, keras.KerasTensor):
            try:
                token_ids = keras.ops.convert_to_tensor(token_ids)
            except (TypeError, ValueError) as error:
                raise ValueError(f"Detokenize takes integers (batch, length): received {shown(token_ids)}.") from error
        dtype = keras.backend.standardize_dtype(token_ids.dtype)
        if len(token_ids.shape) != 2 or not dtype.startswith(("int", "uint")):
            raise ValueError(f"Detokenize takes integers (batch, length): received {dtype} {tuple(token_ids.shape)}.")
        return super().__call__(token_ids, **kwargs)

    def call(self, token_ids):
        import tensorflow as tf

        held = tf.cast(token_ids, tf.int32)
        is_same = tf.equal(tf.cast(held, token_ids.dtype), token_ids)  # false for ids that do not fit
        return self.graph.decode(tf.where(is_same, held, -1))  # (B,)

    def compute_output_spec(self, token_ids):
        return keras.KerasTensor(token_ids.shape[:1], "string")


def _check_outputs(outputs: Any) -> None:
    names = [outputs] if isinstance(outputs, str) else outputs
    if not isinstance(names, (list, tuple)) or not names or not set(names) <= set(OUTPUTS):
        raise ValueError(f"outputs must be one of {OUTPUTS}, or a list of them: received {shown(outputs)}.")
