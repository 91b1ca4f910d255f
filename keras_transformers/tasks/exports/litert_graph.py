"""LiteRT files of models, for phones and small devices: token ids in, numbers out, builtin operations only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.training.workers.distribute import on_tensorflow

FILE = "model.tflite"
SIGNATURE = "serving_default"
QUANTIZE = ("int8", "float16")
TOLERANCE = 1e-3  # of a file in float32


def converted(from_ids: FromIds, length: int | None = None, quantize: str | None = None) -> bytes:
    """Return a model as the content of a LiteRT file, whose outputs were compared with the model's.

    Args:
        from_ids: The model and its outputs.
        length: Tokens of the only row that the file takes; None for any number of rows and tokens.
        quantize: `"int8"` for matrices of 8 bits, whose products with activations, rounded row by row, are those of
            integers; `"float16"` for weights of 16 bits, which are computed with in float32; None for float32.

    Raises:
        ValueError: An operation of the model is none of LiteRT's.
        RuntimeError: LiteRT computes other numbers.
    """
    import tensorflow as tf

    shape = [None] * from_ids.rank if length is None else [1] * (from_ids.rank - 1) + [length]
    specs = [tf.TensorSpec(shape, "int32", name=name) for name in from_ids.names]
    module = tf.Module()
    module.weights = [variable.value for variable in from_ids.model.variables]
    function = tf.function(from_ids.run, input_signature=specs, autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], module)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantize is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    try:
        content = converter.convert()
    except Exception as error:  # the converter's own class, which is private
        raise ValueError(
            f'the model has an operation that format="litert" cannot hold: {error}. Export it as a SavedModel: leave '
            "format out."
        ) from error
    if quantize is None:
        _compare(content, from_ids, length)
    return content


def run(content: bytes, columns: Mapping[str, np.ndarray], threads: int = 1) -> dict[str, np.ndarray]:
    """Return the outputs of a LiteRT file by name.

    Args:
        content: The content of the file.
        columns: Inputs by name, int32.
        threads: Threads that compute.
    """
    return Interpreter(content, threads)(columns)


class Interpreter:
    """The interpreter of a LiteRT file, for inputs of any shape that the file takes.

    Args:
        content: The content of the file.
        threads: Threads that compute.
    """

    def __init__(self, content: bytes, threads: int = 1):
        self.interpreter = _interpreter_class()(model_content=content, num_threads=threads)
        self.runner = self.interpreter.get_signature_runner(SIGNATURE)
        self.inputs = sorted(self.runner.get_input_details())

    def __call__(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self.runner(**{name: np.asarray(columns[name], "int32") for name in self.inputs})


def _interpreter_class() -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter as LiteRT
    except ImportError:  # TensorFlow's, which is the same, warns that it will leave
        import tensorflow as tf

        return tf.lite.Interpreter
    return LiteRT
