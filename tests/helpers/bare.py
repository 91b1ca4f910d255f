"""Asks a SavedModel in a process that has TensorFlow and nothing else of what made it, as a server would."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

# What TF Serving needs none of; then, for each line that comes in, the answers of a SavedModel and what it is made of.
SCRIPT = """
import json, os, sys, traceback
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.modules.update(dict.fromkeys(
    ["keras", "keras_transformers", "zoo", "tensorflow_text", "keras_hub", "keras_nlp", "tokenizers"]
))
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

def plain(value):
    return [plain(item) for item in value] if isinstance(value, list) else getattr(value, "decode", lambda: value)()

def report(folder, requests):
    signatures, answers = tf.saved_model.load(folder).signatures, {}
    for name, inputs in requests.items():
        specs = signatures[name].structured_input_signature[1]
        answer = signatures[name](**{key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()})
        answers[name] = {key: plain(value.numpy().tolist()) for key, value in answer.items()}
    with open(folder + "/saved_model.pb", "rb") as file:
        graph = saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    ops = sorted({node.op for node in nodes} - {function.signature.name for function in graph.library.function})
    return {
        "answers": answers,
        "ops": ops,
        "unknown": [op for op in ops if op_def_registry.get(op) is None],
        "compiled": sum("_XlaMustCompile" in holder.attr for holder in [*nodes, *graph.library.function]),
    }

for line in sys.stdin:
    try:
        reply = report(*json.loads(line))
    except Exception:
        reply = {"error": traceback.format_exc()}
    print(json.dumps(reply), file=replies, flush=True)
"""
DENIED = ("Xla", "TPU", "PyFunc", "EagerPyFunc", "NumpyFunction")


class Bare:
    """A process that answers for one export after the other: to import TensorFlow takes longer than that."""

    def __init__(self, python: str):
        self.messages = tempfile.TemporaryFile("w+")  # noqa: SIM115  it is read when the process has died
        self.process = subprocess.Popen(
            [python, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.messages, text=True,
            cwd=tempfile.gettempdir(), env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"},
        )  # fmt: skip
        atexit.register(self.process.communicate)

    def report(self, folder: Path, requests: dict[str, dict[str, Any]]) -> dict[str, Any]:
        try:
            self.process.stdin.write(json.dumps([str(folder), requests]) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):  # it has died: the next export gets another one
            bare_process.cache_clear()
            self.messages.seek(0)
            return {"error": self.messages.read()}


@cache
def bare_process(python: str) -> Bare:
    return Bare(python)


def ask(
    folder: Path, requests: dict[str, dict[str, Any]], python: str | Path = sys.executable
) -> dict[str, dict[str, list]]:
    """The answers of each signature to its inputs; fails if the SavedModel is not of core TensorFlow ops alone."""
    report = bare_process(str(python)).report(folder, requests)
    assert "error" not in report, report["error"][-3000:]
    assert len(report["ops"]) > 20 and {"MatMul", "GatherV2", "ResourceGather"} & {*report["ops"]}
    assert report["unknown"] == [] and report["compiled"] == 0
    assert [op for op in report["ops"] if op.startswith(DENIED) or "PyFunc" in op] == []
    return report["answers"]
