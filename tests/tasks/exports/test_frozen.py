"""Exports with weights as constants of the graph, and how many ops an export runs for one text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tiny
from processes import run
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformers.tasks import Task
from keras_transformers.tasks.exports import frozen
from keras_transformers.tasks.exports.frozen import freeze

WIDTHS = {"num_layers": 2, "hidden_dim": 32, "num_heads": 2}
QUESTIONS = ["a warm day", "a grey room and a bright song", "", "unknown words, zzz"]


@pytest.fixture(scope="module")
def task():
    return Task("classification", tiny.config(**WIDTHS), tiny.tokenizer(), labels=tiny.NAMES)


@pytest.fixture(scope="module")
def folders(task, tmp_path_factory) -> dict[bool, Path]:
    folders = {is_frozen: tmp_path_factory.mktemp("serving") / "1" for is_frozen in (False, True)}
    for is_frozen, folder in folders.items():
        task.export(folder, frozen=is_frozen)
    return folders


def probabilities(folder: Path, name: str, **inputs) -> np.ndarray:
    signature = tf.saved_model.load(str(folder)).signatures[name]
    return signature(**{key: tf.constant(texts) for key, texts in inputs.items()})["probabilities"].numpy()


def stored_arrays(folder: Path) -> list[tuple[int, ...]]:
    """Return the shapes of the matrices of floating-point numbers among the constants, and of the variables."""
    graph = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    tensors = [node.attr["value"].tensor for node in nodes if node.op == "Const"]
    shapes = [tuple(axis.size for axis in tensor.tensor_shape.dim) for tensor in tensors if tensor.dtype == 1]
    variables = tf.train.list_variables(str(folder / "variables" / "variables"))
    return [shape for shape in [*shapes, *(tuple(shape) for _, shape in variables)] if len(shape) == 2]


# In a process of its own: the quick tests of this one switch TensorFlow's optimisation off.
COUNT = """
import sys
import tensorflow as tf

v1, (_, folder, text) = tf.compat.v1, sys.argv[1:]
with tf.Graph().as_default(), v1.Session() as session:
    signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
    fetches, metadata = [output.name for output in signature.outputs.values()], v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    session.run(fetches, {signature.inputs["text"].name: [text]}, options=options, run_metadata=metadata)
print(sum(len(device.node_stats) for device in metadata.step_stats.dev_stats))
"""


def executed_ops(folder: Path) -> int:
    """Count the ops that a session runs for one text, after TensorFlow's own optimisation."""
    return int(run(COUNT, str(folder), QUESTIONS[0]).split()[-1])


@pytest.mark.integration
@pytest.mark.parametrize(
    "inputs", [{"text": QUESTIONS}, {"text": QUESTIONS, "text_pair": QUESTIONS[::-1]}], ids=["text", "pair"]
)
def test_frozen_answers_as_variables_do(folders, inputs):
    name = "pair" if len(inputs) == 2 else "serving_default"
    expected = probabilities(folders[False], name, **inputs)
    np.testing.assert_allclose(probabilities(folders[True], name, **inputs), expected, atol=1e-5)


@pytest.mark.integration
def test_weights_are_stored_once(task, folders):
    matrices = sorted(tuple(weight.shape) for weight in task.model.weights if len(weight.shape) == 2)
    for folder in folders.values():
        assert sorted(stored_arrays(folder)) == matrices


@pytest.mark.integration
def test_predictions_follow_new_weights_after_a_frozen_export(task, tmp_path):
    before = task.predict(QUESTIONS[:1])[0]["probabilities"]["good"]
    task.export(tmp_path / "1", frozen=True)
    weights = task.model.get_weights()
    task.model.set_weights([weight[..., ::-1] for weight in weights])
    after = task.predict(QUESTIONS[:1])[0]["probabilities"]["good"]
    task.model.set_weights(weights)
    assert abs(after - before) > 1e-3
    stored = probabilities(tmp_path / "1", "serving_default", text=QUESTIONS[:1])
    np.testing.assert_allclose(stored[0, tiny.NAMES.index("good")], before, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize(("is_frozen", "most"), [(False, 560), (True, 470)])
def test_one_text_runs_few_ops(folders, is_frozen, most):
    assert executed_ops(folders[is_frozen]) <= most


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_frozen_is_true_or_false(task, tmp_path, wrong):
    with pytest.raises(ValueError, match=f"frozen must be True or False: received {wrong!r}"):
        task.export(tmp_path / "1", frozen=wrong)


def test_more_weights_than_a_graph_holds_are_refused(monkeypatch):
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 3))
    monkeypatch.setattr(frozen, "MOST_BYTES", 31)
    with pytest.raises(ValueError, match=r"holds 31 bytes of them: received a model with 32"):
        freeze(layer.weights)
