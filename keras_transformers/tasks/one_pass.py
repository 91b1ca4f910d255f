"""Answers by one pass of the model: reader (texts to inputs), program (model and answer), and what `predict` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.parts import Setup
from keras_transformers.tasks.serving import check_counts, check_exportable, current_service, merged_service
from keras_transformers.tasks.sources import rows_of
from keras_transformers.tensor import Tensor
from keras_transformers.text.strings import decoded
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.distribute import on_tensorflow

Tensors = dict[str, Tensor]
Answer = Callable[[Tensors, Tensors], Tensors]  # from a model's outputs and inputs
Describe = Callable[[Mapping[str, Any]], dict[str, Any]]  # from a row of that


def no_more_inputs(token_ids: Tensor) -> Tensors:
    """The inputs of a model that follow from its token ids: none."""
    return {}


class OnePass:
    """Texts to answers by one pass of a model.

    Args:
        setup: Of the task.
        model: A functional model with the inputs that the tokenizer and `more_inputs` give.
        answer: From the model's outputs and inputs to a dict of named tensors, batch first: what is exported.
        describe: From one row of that to what `predict` returns for a text.
        more_inputs: From token ids (B, T) to inputs of the model that the tokenizer does not give.
        example: A text to warm an export up with.
    """

    def __init__(
        self,
        setup: Setup,
        model: keras.Model,
        answer: Answer,
        describe: Describe,
        more_inputs: Callable[[Tensor], Tensors] = no_more_inputs,
        example: str = "warm up",
    ):
        self.setup, self.model, self.example = setup, model, example
        self.answer, self.describe, self.more_inputs = answer, describe, more_inputs
        self.made_service = None

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32
    ) -> list[dict[str, Any]]:
        """Answer texts, by the same traced function that `export` saves (on the TensorFlow backend).

        Args:
            texts: Any number of strings.
            pairs: The second text of each pair, where the task takes pairs.
            batch_size: Texts at a time.

        Returns:
            One dict a text, with `truncated` and, of a classifier: single label, `label` and `probabilities` (by
            label); multi-label, `labels` (those with a probability of one half or more) and `probabilities`;
            regression, `scores` by label. Of a masked language model: `fills`, for each `[MASK]` in the text the five
            likeliest tokens as (token, probability).

        Raises:
            ValueError: The texts are one str, there are pairs where the task takes none, or not as many as texts.
        """
        texts, pairs = check_texts("texts", texts), None if pairs is None else check_texts("pairs", pairs)
        if pairs is not None and not self.setup.kind.takes_pairs:
            raise ValueError(f"{self.setup.kind.name} takes no pairs: received {len(pairs)}. Leave them out.")
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"received {len(texts)} texts and {len(pairs)} pairs: expected one pair for each text.")
        (batch_size,) = check_counts(batch_size=batch_size)
        service, answers = self.service, []
        for start in range(0, len(texts), batch_size):
            batch = slice(start, start + batch_size)
            columns = service.run(texts[batch], None if pairs is None else pairs[batch])
            for row in zip(*columns.values(), strict=True):
                answer = dict(zip(columns, row, strict=True))
                answers.append({**self.describe(answer), "truncated": bool(answer["truncated"])})
        return answers

    def program(self, inputs: Tensors) -> Tensors:
        """From the model's inputs to named tensors, batch first; `keras.ops` only."""
        return self.answer(self.model(inputs, training=False), inputs)

    @property
    def service(self) -> TracedService | EagerService:
        """What runs reader and program: what `predict` calls and, on TensorFlow, `export` saves."""
        return current_service(self)

    def make_service(self) -> TracedService | EagerService:
        """A service with the weights as they are."""
        return (TracedService if on_tensorflow() else EagerService)(self.setup, self)

    def export(self, folder: str) -> None:
        """Write a SavedModel from strings to answers, for TF Serving.

        Signatures: `serving_default` takes `text`; `pair`, where the task takes pairs, `text` and `text_pair`: all (B,)
        strings. Both return `truncated` (B,) bool and, of a classifier: single label, `label` (B,) and `probabilities`
        (B, C); multi-label, `labels` (B, C), empty where a label does not apply, and `probabilities`; regression,
        `scores` (B, C). Of a masked language model: `tokens` (B, M, 5) strings, empty where a text has fewer than M
        gaps, and `probabilities` (B, M, 5). Only core TensorFlow ops are used: neither Keras nor tensorflow-text nor
        this package is needed to serve it.

        Args:
            folder: Such as `"serving/sentiment/1"`. Replaced if it is a SavedModel; an interrupted export leaves the
                old one.

        Raises:
            ValueError: The backend is not TensorFlow, or the folder holds something else.
        """
        check_exportable()
        from keras_transformers.export import export

        with merged_service(self) as service:
            export(folder, service.module, service.signatures, {"text": [self.example]})


class TracedService:
    """Reader and program as TensorFlow functions, traced once.

    Args:
        setup: Of the task.
        answers: Whose program is run.

    Attributes:
        module: The weights and tables, to be saved. Not the functions: as signatures they would be saved a second time.
        text: A `tf.function` of `text` (B,) strings.
        pair: A `tf.function` of `text` and `text_pair`, both (B,) strings.
        signatures: What an export answers, by name.
    """

    def __init__(self, setup: Setup, answers: OnePass):
        import tensorflow as tf

        from keras_transformers.text.graph.specs import TEXT, TEXT_PAIR, with_rows

        self.module = tf.Module()
        self.module.graph = graph = setup.text_graph
        # The variables, not the model: an optimizer hangs on a compiled model, and would be saved too.
        self.module.weights = [variable.value for variable in answers.model.variables]

        def serve(text, text_pair=None):
            if text_pair is not None:
                text_pair = with_rows({"text_pair": text_pair}, tf.size(text))["text_pair"]
            encoded = graph.encode(text, text_pair, max_length=setup.max_length)
            encoded |= answers.more_inputs(encoded["token_ids"])
            inputs = {name: tf.cast(encoded[name], tf.int32) for name in answers.model.input}
            return {**answers.program(inputs), "truncated": encoded["truncated"]}

        self.text = tf.function(lambda text: serve(text), input_signature=[TEXT], autograph=False)
        self.pair = tf.function(serve, input_signature=[TEXT, TEXT_PAIR], autograph=False)
        self.signatures = {"serving_default": self.text} | ({"pair": self.pair} if setup.kind.takes_pairs else {})

    def run(self, texts: Sequence[str], pairs: Sequence[str] | None) -> dict[str, np.ndarray]:
        """The named columns of an answer, as arrays; strings in them are `str`."""
        import tensorflow as tf

        texts = tf.constant(texts, tf.string)
        columns = self.text(texts) if pairs is None else self.pair(texts, tf.constant(pairs, tf.string))
        return {name: decoded(column.numpy()) for name, column in columns.items()}


class EagerService:
    """Reader in Python, and the program as it is, where there is no TensorFlow.

    Args:
        setup: Of the task.
        answers: Whose program is run.
    """

    def __init__(self, setup: Setup, answers: OnePass):
        self.setup, self.answers = setup, answers

    def run(self, texts: Sequence[str], pairs: Sequence[str] | None) -> dict[str, np.ndarray]:
        """The named columns of an answer, as arrays."""
        setup = self.setup
        encoded = setup.tokenizer.encode(texts, pairs, max_length=setup.max_length)
        rows = rows_of(encoded, setup.config)
        arrays = rows.padded(int(rows.lengths.max()), setup.config.pad_id)
        inputs = {name: keras.ops.convert_to_tensor(array) for name, array in arrays.items()}
        inputs |= self.answers.more_inputs(inputs["token_ids"])
        columns = {**self.answers.program(inputs), "truncated": [row.truncated for row in encoded]}
        return {name: np.asarray(column) for name, column in columns.items()}


def look_up(names: Sequence[str], numbers: Tensor) -> Tensor:
    """Names by number, and `""` for -1: strings in a TensorFlow tensor, or on other backends in a numpy array.

    Example:

    >>> tuple(look_up(["no", "yes"], np.array([1, -1, 0])).shape)
    (3,)
    """
    names = ["", *names]
    if on_tensorflow():
        import tensorflow as tf

        return tf.gather(tf.constant(names), numbers + 1)
    return np.array(names, object)[keras.ops.convert_to_numpy(numbers) + 1]
