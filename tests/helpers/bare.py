"""Asks a SavedModel in a process that has TensorFlow and nothing else of what made it, as a server would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# What TF Serving needs none of; then the requests, and what the SavedModel is made of.
SCRIPT = """
import json, sys
sys.modules.update(dict.fromkeys(
    ["keras", "keras_transformers", "zoo", "tensorflow_text", "keras_hub", "keras_nlp", "tokenizers"]
))
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

def plain(value):
    return [plain(item) for item in value] if isinstance(value, list) else getattr(value, "decode", lambda: value)()

signatures, answers = tf.saved_model.load(sys.argv[1]).signatures, {}
for name, inputs in json.loads(sys.argv[2]).items():
    specs = signatures[name].structured_input_signature[1]
    answer = signatures[name](**{key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()})
    answers[name] = {key: plain(value.numpy().tolist()) for key, value in answer.items()}
with open(sys.argv[1] + "/saved_model.pb", "rb") as file:
    graph = saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].graph_def
nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
ops = sorted({node.op for node in nodes} - {function.signature.name for function in graph.library.function})
print(json.dumps({
    "answers": answers,
    "ops": ops,
    "unknown": [op for op in ops if op_def_registry.get(op) is None],
    "compiled": sum("_XlaMustCompile" in holder.attr for holder in [*nodes, *graph.library.function]),
}))
"""
DENIED = ("Xla", "TPU", "PyFunc", "EagerPyFunc", "NumpyFunction")


def ask(
    folder: Path, requests: dict[str, dict[str, Any]], python: str | Path = sys.executable
) -> dict[str, dict[str, list]]:
    """The answers of each signature to its inputs; fails if the SavedModel is not of core TensorFlow ops alone."""
    command = [str(python), "-c", SCRIPT, str(folder), json.dumps(requests)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert process.returncode == 0, process.stderr[-3000:]
    report = json.loads(process.stdout.splitlines()[-1])
    assert len(report["ops"]) > 20 and "MatMul" in report["ops"]
    assert report["unknown"] == [] and report["compiled"] == 0
    assert [op for op in report["ops"] if op.startswith(DENIED) or "PyFunc" in op] == []
    return report["answers"]
