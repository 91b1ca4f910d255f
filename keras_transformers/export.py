"""SavedModels that take text: model, text graph and answer function in, folder out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from keras_transformers.checkpoints.folder import atomic_folder

TEXT = tf.TensorSpec([None], tf.string, name="text")
TEXT_PAIR = tf.TensorSpec([None], tf.string, name="text_pair")
NO_EXAMPLES: Mapping[str, Any] = MappingProxyType({})
FIELD = descriptor_pb2.FieldDescriptorProto
# Warm-up requests are examples that TF Serving sends itself before it answers others. The part of
# tensorflow_serving/apis/*.proto that a request uses: message -> field -> (number, type).
MESSAGES = {
    "ModelSpec": {"signature_name": (3, FIELD.TYPE_STRING)},
    "Input": {"key": (1, FIELD.TYPE_STRING), "value": (2, FIELD.TYPE_BYTES)},  # a map entry; a TensorProto, serialised
    "PredictRequest": {"model_spec": (1, "ModelSpec"), "inputs": (2, "Input")},
    "PredictLog": {"request": (1, "PredictRequest")},
    "PredictionLog": {"predict_log": (6, "PredictLog")},
}


class TextService:
    """The functions from text to answers, traced once: `predict` calls what `export` saves.

    Args:
        model: A functional model with the inputs that `graph.encode` and `more_inputs` give.
        graph: The tokenizer as TensorFlow ops (`text.graph.compile_text`).
        answer: From the model's outputs and inputs to a dict of named tensors, batch first.
        more_inputs: From token ids (B, T) to inputs of the model that the graph does not give.
        max_length: Longest text in tokens.

    Attributes:
        module: The weights and tables, to be saved. Not the functions: as signatures they would be saved a second time.
        text: A `tf.function` of `text` (B,) strings.
        pair: A `tf.function` of `text` and `text_pair`, both (B,) strings.
    """

    def __init__(self, model: keras.Model, graph: Any, answer: Callable, more_inputs: Callable, max_length: int):
        self.module = tf.Module()
        self.module.graph = graph
        # The variables, not the model: an optimizer hangs on a compiled model, and would be saved too.
        self.module.weights = [variable.value for variable in model.variables]
        names = list(model.input)

        def serve(text, text_pair=None):
            encoded = graph.encode(text, text_pair, max_length=max_length)
            encoded |= more_inputs(encoded["token_ids"])
            inputs = {name: tf.cast(encoded[name], tf.int32) for name in names}
            return {**answer(model(inputs, training=False), inputs), "truncated": encoded["truncated"]}

        self.text = tf.function(lambda text: serve(text), input_signature=[TEXT], autograph=False)
        self.pair = tf.function(serve, input_signature=[TEXT, TEXT_PAIR], autograph=False)

    def run(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Answers to texts, or to pairs, as arrays; strings in them are `str`."""
        texts = tf.constant(texts, tf.string)
        answer = self.text(texts) if pairs is None else self.pair(texts, tf.constant(pairs, tf.string))
        return {name: _decoded(column.numpy()) for name, column in answer.items()}


def _decoded(column: np.ndarray) -> np.ndarray:
    return np.vectorize(bytes.decode, otypes=[object])(column) if column.dtype == object else column


def export(
    folder: str | os.PathLike, module: tf.Module, signatures: dict[str, Any], examples: Mapping[str, Any] = NO_EXAMPLES
) -> None:
    """Write a SavedModel with its warm-up requests, whole or not at all.

    Args:
        folder: Replaced if such an export has written all that it holds.
        module: Holds every variable and table that the signatures use.
        signatures: `tf.function`s of inputs that begin with the batch, by name.
        examples: Values of the inputs, by name, of the warm-up requests that TF Serving sends itself before it answers
            others; `["warm up"]` for those that are not given.

    Raises:
        ValueError: The folder holds something else.
    """
    concrete = {name: function.get_concrete_function() for name, function in signatures.items()}
    with atomic_folder(folder, marker="saved_model.pb") as temporary:
        tf.saved_model.save(module, str(temporary), signatures=concrete)
        _write_warmup(Path(temporary), concrete, examples)


def _write_warmup(folder: Path, signatures: dict[str, Any], examples: Mapping[str, Any]) -> None:
    """Write one request for each signature.

    Args:
        folder: Of a SavedModel.
        signatures: Concrete functions, by name.
        examples: Values of their inputs, by name.
    """
    messages = _messages()
    (folder / "assets.extra").mkdir()
    with tf.io.TFRecordWriter(str(folder / "assets.extra" / "tf_serving_warmup_requests")) as writer:
        for name, function in signatures.items():
            log = messages["PredictionLog"]()
            log.predict_log.request.model_spec.signature_name = name
            for spec in tf.nest.flatten(function.structured_input_signature):
                value = tf.make_tensor_proto(examples.get(spec.name, ["warm up"]), spec.dtype)
                log.predict_log.request.inputs.add(key=spec.name, value=value.SerializeToString())
            writer.write(log.SerializeToString())


def _messages() -> dict[str, Any]:
    """The message classes, declared here: the package of TF Serving would bring all of its server's."""
    file = descriptor_pb2.FileDescriptorProto(name="warmup.proto", package="keras_transformers", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            label = FIELD.LABEL_REPEATED if kind == "Input" else FIELD.LABEL_OPTIONAL
            entry = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                entry.type, entry.type_name = FIELD.TYPE_MESSAGE, f".keras_transformers.{kind}"
            else:
                entry.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"keras_transformers.{name}"))
        for name in MESSAGES
    }
