"""LiteRT files of models, for phones and small devices: token ids in, numbers out, builtin operations only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.atomic_folder import LITERT
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.exports import mediapipe_metadata
from keras_transformers.tasks.exports.graph_checks import cannot_hold, check_outputs

FILE = LITERT
LENGTH = 128  # tokens of a text that MediaPipe reads, by default
SIGNATURE = "serving_default"
QUANTIZE = ("int8", "float16")


def check_options(task: Any, options: Any) -> None:
    """Raise an error for what a LiteRT file, or MediaPipe, cannot hold, and tell what MediaPipe reads otherwise.

    Args:
        task: A `Task`.
        options: `graph_exports.GraphOptions`.

    Raises:
        ImportError: A package is missing.
        ValueError: MediaPipe has no such task or tokenizer.
    """
    _interpreter_class()
    if options.mediapipe:
        mediapipe_metadata.check_task(task)


def write_files(target: Path, task: Any, options: Any) -> Callable[[], tuple[Interpreter, Interpreter]]:
    """Write the file of a task into a folder.

    Args:
        target: The folder.
        task: A `Task`.
        options: `graph_exports.GraphOptions`.

    Returns:
        A function that returns interpreters of the model in float32, and rounded, for any shape.
    """
    from_ids = task.parts.answers.from_ids
    if options.mediapipe:
        length = options.length or min(task.max_length, LENGTH)
        served = from_ids._replace(outputs=mediapipe_metadata.outputs_of(from_ids))
        content = converted(served, length, options.quantize)
        names = Interpreter(content).order
        content = mediapipe_metadata.with_metadata(content, names, task.tokenizer, task.parts.answers.labels)
    else:
        content = converted(from_ids, options.length, options.quantize)
    (target / FILE).write_bytes(content)
    takes_any = not options.mediapipe and options.length is None

    def programs() -> tuple[Interpreter, Interpreter]:
        rounded = content if takes_any else converted(from_ids, None, options.quantize)
        return Interpreter(converted(from_ids)), Interpreter(rounded)

    return programs


def converted(from_ids: FromIds, length: int | None = None, quantize: str | None = None) -> bytes:
    """Return a model as the content of a LiteRT file, whose outputs were compared with the model's.

    Args:
        from_ids: The model and its outputs.
        length: Tokens of the only row that the file takes; None for any number of rows and tokens.
        quantize: `"int8"` for matrices of 8 bits, which are multiplied as integers with activations that are rounded
            row by row; `"float16"` for weights of 16 bits, which are computed with in float32; None for float32.

    Raises:
        ValueError: An operation of the model is none of LiteRT's, or the temporary folder has no room for the model.
        RuntimeError: LiteRT computes other numbers.
    """
    import tensorflow as tf

    shape: list[Any] = [None] * from_ids.rank if length is None else [1] * (from_ids.rank - 1) + [length]
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
        raise cannot_hold("litert", error) from error
    if SIGNATURE not in _interpreter_class()(model_content=content).get_signature_list():
        # The converter goes on without names of inputs if it cannot write its temporary SavedModel.
        size = from_ids.model.count_params() * 4 / 1e6  # float32
        raise ValueError(
            f"the converter cannot write the model ({size:.2f} MB) into the temporary folder {tempfile.gettempdir()}. "
            "Make room there, or name another folder in the environment variable TMPDIR."
        )
    if quantize is None:
        check_outputs(Interpreter(content), from_ids, "LiteRT", None if length is None else shape)
    return content


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

    @property
    def order(self) -> list[str]:
        """Return the names of the inputs in the order of the file."""
        names = [detail["name"] for detail in self.interpreter.get_input_details()]
        return [name.removeprefix(f"{SIGNATURE}_").split(":")[0] for name in names]

    def __call__(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self.runner(**{name: np.asarray(columns[name], "int32") for name in self.inputs})


def _interpreter_class() -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter as LiteRT
    except ImportError as error:
        raise ImportError(
            f'format="litert" needs {error.name}, which is not installed: pip install "keras_transformers[litert]".'
        ) from error
    return LiteRT
