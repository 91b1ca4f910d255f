"""ONNX graphs of models: token ids in, numbers out, for ONNX Runtime and what is built on it."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import keras
import numpy as np
from keras import ops

from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.exports.graph_checks import cannot_hold, check_outputs

OPSET = 17  # of ONNX 1.12: ONNX Runtime 1.12 and later, and all versions of its packages for JavaScript
FILE = "model.onnx"  # the names that Optimum gives it, and the weights of a larger model beside it
WEIGHTS = "model.onnx_data"
ROUNDED = "model_quantized.onnx"
MOST_BYTES = 2_000_000_000  # of weights in the file of a graph: it is one protobuf message, of 2 GiB at most
AXES = {2: ("batch_size", "sequence_length"), 3: ("batch_size", "num_choices", "sequence_length")}  # as in Optimum


def check_onnx() -> None:
    """Raise an `ImportError` if a package is missing that converts a graph or checks it."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import tf2onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'format="onnx" needs {error.name}, which is not installed: pip install "keras_transformers[onnx]".'
        ) from error


def check_options(task: Any, options: Any) -> None:
    """Raise an `ImportError` if a package is missing: the options of an export to ONNX have no further limits."""
    check_onnx()


def write_files(target: Path, task: Any, options: Any) -> Callable[[], tuple[Session, Session]]:
    """Write the graph of a task into a folder in Hugging Face layout, and a rounded one with `quantize`.

    Args:
        target: The folder.
        task: A `Task`.
        options: `graph_exports.GraphOptions`.

    Returns:
        A function that returns sessions of the two.
    """
    folder = target / "onnx"
    write_onnx(folder, task.parts.answers.from_ids)
    if options.quantize is not None:
        write_rounded(folder)
    return lambda: (Session(folder / FILE), Session(folder / ROUNDED))


class Session:
    """A graph in ONNX Runtime, on the CPU.

    Args:
        path: The file.
    """

    def __init__(self, path: Path):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.inputs = [one.name for one in self.session.get_inputs()]
        self.outputs = [one.name for one in self.session.get_outputs()]

    def __call__(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = self.session.run(None, {name: np.asarray(columns[name], "int64") for name in self.inputs})
        return dict(zip(self.outputs, found, strict=True))


def write_rounded(folder: Path) -> None:
    """Write a graph whose matrices have 8 bits a number, per channel; activations are rounded at each product."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _quiet():  # it recommends a step for graphs of images
        # In 7 bits of 8: sums of two products of full range do not fit the 16 bits that CPUs without VNNI add them in.
        options: dict[str, Any] = {"per_channel": True, "weight_type": QuantType.QInt8, "reduce_range": True}
        quantize_dynamic(str(folder / FILE), str(folder / ROUNDED), **options)


def write_onnx(folder: Path, from_ids: FromIds) -> None:
    """Write a model as an ONNX graph, and compare its outputs with the model's.

    The weights are inputs of the graph while it is converted, and constants of the file: no copy of them is made on the
    way, and none is limited to the 2 GB of a TensorFlow graph.

    Args:
        folder: Folder for the files, which is made.
        from_ids: The model and its outputs.

    Raises:
        ValueError: An operation of the model has no counterpart in ONNX.
        RuntimeError: ONNX Runtime computes other numbers.
    """
    weights = {f"weight_{number}": weight for number, weight in enumerate(from_ids.model.weights)}
    graph, outputs = _converted(from_ids, weights)
    _name_axes(graph.graph, from_ids, outputs)
    folder.mkdir(parents=True, exist_ok=True)
    _store(graph.graph, weights, folder)
    (folder / FILE).write_bytes(graph.SerializeToString())
    del graph  # ONNX Runtime needs memory for the weights, too
    _check(folder / FILE, from_ids)


def _converted(from_ids: FromIds, weights: Mapping[str, keras.Variable]) -> tuple[Any, list[str]]:
    """Return the model as an ONNX message, whose weights are inputs, and the names of its outputs in their order."""
    import tensorflow as tf
    import tf2onnx

    count, outputs = len(from_ids.names), dict[str, Any]()

    def run(*tensors: Any) -> dict[str, Any]:
        with keras.StatelessScope([*zip(weights.values(), tensors[count:], strict=True)]):
            outputs.update(from_ids.run(*tensors[:count]))
            return {**outputs}

    specs = [tf.TensorSpec([None] * from_ids.rank, "int64", name=name) for name in from_ids.names]
    specs += [tf.TensorSpec(weight.shape, weight.dtype, name=name) for name, weight in weights.items()]
    function = tf.function(run, input_signature=specs, autograph=False)
    with _quiet():
        graph, _ = tf2onnx.convert.from_function(function, input_signature=specs, opset=OPSET)
    return graph, [*outputs]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drop the log lines of converters, and of TensorFlow in them, below errors."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("tf2onnx")]
    loggers = [logging.getLogger(name) for name in (None, "tensorflow", *names)]  # it warns of tables of other graphs
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _name_axes(graph: Any, from_ids: FromIds, outputs: Sequence[str]) -> None:
    """Sort the outputs, which the converter sorts by name, and name the axes that any size fits."""
    ordered = sorted(graph.output, key=lambda value: outputs.index(value.name))
    del graph.output[:]
    graph.output.extend(ordered)
    names = AXES[from_ids.rank]
    for value in [*graph.input[: len(from_ids.names)], *graph.output]:
        for axis, name in zip(value.type.tensor_type.shape.dim, names, strict=False):
            if not axis.dim_value:
                axis.dim_param = name


def _store(graph: Any, weights: Mapping[str, keras.Variable], folder: Path) -> None:
    """Turn the inputs that are weights into constants, named by the paths of the weights; leave out unused ones.

    Args:
        graph: The graph, which is changed.
        weights: The weights by the names of the inputs.
        folder: Folder in which a file is written, tensor by tensor, if the graph cannot hold the weights.
    """
    names = {name: f"{weight.path}:{name}" for name, weight in weights.items()}
    used = _rename_inputs(graph, names)
    kept = [value for value in graph.input if value.name not in names]
    del graph.input[:]
    graph.input.extend(kept)
    stored = {names[name]: weight for name, weight in weights.items() if name in used}
    size = sum(math.prod(weight.shape) * np.dtype(weight.dtype).itemsize for weight in stored.values())
    with open(folder / WEIGHTS, "wb") if size > MOST_BYTES else contextlib.nullcontext() as file:
        for name, weight in stored.items():
            array = np.ascontiguousarray(ops.convert_to_numpy(weight))
            graph.initializer.append(_constant(name, array) if file is None else _outside(name, array, file))


def _constant(name: str, array: np.ndarray) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(array, name)


def _outside(name: str, array: np.ndarray, file: BinaryIO) -> Any:
    """Write an array to the end of a file, and return the constant that refers to it."""
    from onnx import TensorProto, helper

    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = TensorProto(name=name, dims=array.shape, data_type=kind, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": WEIGHTS, "offset": file.tell(), "length": array.nbytes}.items():
        tensor.external_data.add(key=key, value=str(value))
    file.write(array.data)
    return tensor


def _rename_inputs(graph: Any, names: Mapping[str, str]) -> set[str]:
    """Rename the inputs of all nodes, in inner graphs too, and return the old names that were found."""
    found: set[str] = set()
    for node in graph.node:
        found |= {*node.input} & names.keys()
        node.input[:] = [names.get(name, name) for name in node.input]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                found |= _rename_inputs(inner, names)
    return found


def _check(path: Path, from_ids: FromIds) -> None:
    """Raise an error if ONNX Runtime does not read the file, or computes other numbers than the model."""
    import onnxruntime

    try:
        session = Session(path)
    except Exception as error:  # the converter leaves operations that it does not know as they are
        raise cannot_hold("onnx", error) from error
    check_outputs(session, from_ids, f"ONNX Runtime {onnxruntime.__version__}")
