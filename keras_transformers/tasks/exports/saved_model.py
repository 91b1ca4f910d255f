"""Write SavedModels that take text, with their warm-up requests."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from keras_transformers.checkpoints.files.atomic_folder import atomic_folder
from keras_transformers.utils.safe_files import NO_ROOM

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


def export(
    folder: str | os.PathLike,
    module: tf.Module,
    signatures: dict[str, Any],
    examples: Mapping[str, Any] = NO_EXAMPLES,
    labels: Sequence[str] = (),
    requests: Mapping[str, Sequence[Mapping[str, Any]]] = NO_EXAMPLES,
) -> None:
    """Write a SavedModel with its warm-up requests, whole or not at all.

    Args:
        folder: Replaced if it holds such an export and nothing else.
        module: The module with every variable and table that the signatures use.
        signatures: `tf.function`s of inputs that begin with the batch, by name.
        examples: Values of the inputs, by name, of the warm-up requests that TF Serving sends itself before it answers
            others; `["warm up"]` for those that are not given.
        labels: Labels in the order of the probabilities: the result of a signature `labels` without arguments, and the
            content of assets.extra/labels.json. None for an export without labels.
        requests: Further warm-up requests by signature: values of some inputs, by name.

    Raises:
        ValueError: The folder holds something else.
    """
    functions = dict(signatures)
    if labels:
        functions["labels"] = _label_signature(labels)
    concrete = {name: _of_these_ranks(function).get_concrete_function() for name, function in functions.items()}
    with atomic_folder(folder, marker="saved_model.pb") as temporary:
        with _without_log(), _full_disk_as_os_error():  # it names the temporary folder
            tf.saved_model.save(module, str(temporary), signatures=concrete)
        _write_warmup(Path(temporary), {name: concrete[name] for name in signatures}, examples, requests)
        if labels:
            text = json.dumps({"labels": [*labels]}, ensure_ascii=False, indent=2)
            (Path(temporary) / "assets.extra" / "labels.json").write_text(text + "\n", encoding="utf-8")
    tf.get_logger().info(f"SavedModel written to: {folder}")


def _label_signature(labels: Sequence[str]) -> Any:
    return tf.function(lambda: {"labels": tf.constant([*labels])}, input_signature=[], autograph=False)


@contextlib.contextmanager
def _full_disk_as_os_error() -> Iterator[None]:
    """Raise TensorFlow's errors of a full disk as Python does."""
    try:
        yield
    except tf.errors.OpError as error:
        if full := next((code for code in NO_ROOM if os.strerror(code) in error.message), None):
            raise OSError(full, os.strerror(full)) from error
        raise


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Drop TensorFlow's log lines below warnings."""

    def is_warning(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING

    tf.get_logger().addFilter(is_warning)
    try:
        yield
    finally:
        tf.get_logger().removeFilter(is_warning)


def _of_these_ranks(function: Any) -> Any:
    """Return the function with a check of the ranks of its inputs, which a loaded signature does not have."""
    traced = function.get_concrete_function()
    specs = tf.nest.flatten(traced.structured_input_signature)

    def run(*inputs):
        return traced(*(tf.ensure_shape(value, spec.shape) for value, spec in zip(inputs, specs, strict=True)))

    return tf.function(run, input_signature=specs, autograph=False)


def _write_warmup(
    folder: Path,
    concrete: dict[str, Any],
    examples: Mapping[str, Any],
    requests: Mapping[str, Sequence[Mapping[str, Any]]],
) -> None:
    """Write one request for each signature, and the further ones.

    Args:
        folder: Folder of a SavedModel.
        concrete: Concrete functions of the signatures, by name.
        examples: Values of their inputs, by name.
        requests: As for `export`.
    """
    messages = _messages()
    (folder / "assets.extra").mkdir()
    with tf.io.TFRecordWriter(str(folder / "assets.extra" / "tf_serving_warmup_requests")) as writer:
        for name, function in concrete.items():
            for own in ({}, *requests.get(name, ())):
                log = messages["PredictionLog"]()
                _fill_request(log.predict_log.request, name, function, {**examples, **own})
                writer.write(log.SerializeToString())


def _fill_request(request: Any, name: str, function: Any, values: Mapping[str, Any]) -> None:
    """Write the name and the inputs of a signature into a message; `["warm up"]` for inputs without a value."""
    request.model_spec.signature_name = name
    for spec in tf.nest.flatten(function.structured_input_signature):
        value = tf.make_tensor_proto(values.get(spec.name, ["warm up"]), spec.dtype)
        request.inputs.add(key=spec.name, value=value.SerializeToString())


def _messages() -> dict[str, Any]:
    """Return the message classes, declared here: the package of TF Serving contains the classes of its whole server."""
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
