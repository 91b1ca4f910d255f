"""docs/serving/README.md: what it says of exports holds for the bundled models, and its requests are answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bare
import numpy as np
import pytest
import tensorflow as tf
from exports import BUNDLED
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef, TensorInfo

import zoo

README = (Path(__file__).resolve().parents[2] / "docs" / "serving" / "README.md").read_text(encoding="utf-8")
# That BigQuery ML and the REST API of TF Serving both know.
TYPES = {tf.string, tf.bool, tf.float32, tf.int32, tf.int64}

pytestmark = pytest.mark.slow


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def table(first: str) -> list[list[str]]:
    """The rows of the table whose header begins with a word, without marks."""
    lines = README[README.index(f"| {first} |") :].split("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in line.replace("`", "").strip("|").split("|")] for line in lines]


# Without rows of a kind of model, as "`causal_lm` with a chat template", and tasks that no bundled model has.
TASKS = sorted({task for tasks, *_ in table("task") for task in tasks.split(", ")} & {*BUNDLED})


def meta_graph(folder: Path) -> MetaGraphDef:
    (graph,) = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs
    return graph


def signatures(folder: Path) -> dict[str, Any]:
    """What clients see, by name; TensorFlow itself runs the one that prepares the tables."""
    return {name: value for name, value in meta_graph(folder).signature_def.items() if not name.startswith("__")}


def tensors(folder: Path) -> Iterator[tuple[str, TensorInfo]]:
    """Inputs and outputs of all signatures."""
    for name, signature in signatures(folder).items():
        if name == "labels":  # which belong to all rows
            continue
        yield from [*signature.inputs.items(), *signature.outputs.items()]


@pytest.fixture(params=TASKS)
def folder(request, exported) -> Path:
    return exported(request.param).folder


def test_signatures(exported):
    told = {
        (task, signature): (inputs, outputs.split(", "))
        for tasks, signature, inputs, outputs in table("task")
        for task in tasks.split(", ")
        if task in TASKS
    }
    found = {(task, name): value for task in TASKS for name, value in signatures(exported(task).folder).items()}
    assert set(told) == set(found)
    for place, (inputs, outputs) in told.items():
        assert sorted(outputs) == sorted(found[place].outputs)
        if inputs == "text and options":
            assert "text" in found[place].inputs and len(found[place].inputs) > 5
        else:
            assert sorted(inputs.replace("none", "").split(", ")) == (sorted(found[place].inputs) or [""])


def test_tensors(folder):
    """Batch first, dense, of types that all servers know; none is base64 to the REST API."""
    for name, info in tensors(folder):
        assert info.WhichOneof("encoding") == "name"
        assert not info.tensor_shape.unknown_rank and info.tensor_shape.dim[0].size == -1
        assert tf.as_dtype(info.dtype) in TYPES
        assert not name.endswith("_bytes")


@pytest.mark.parametrize("name", [name for name in TASKS if name != "pretraining"])  # whose answers are masked_lm's
def test_core_operations_only(name, exported):
    bare.ask(exported(name).folder, {})


def test_sizes(exported):
    (most,) = re.findall(r"less than (\d+) MB for each bundled model", README)
    assert all(4 * zoo.describe(name).parameters < int(most) * 1e6 for name in zoo.names(bundled=True))
    for task in TASKS:
        files = [path for path in exported(task).folder.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < int(most) * 1e6
    (large,) = re.findall(r"`gpt2` has (\d+) MB of weights: too large", README)
    assert int(large) == round(4 * zoo.describe("gpt2").parameters / 1e6) > 450


def test_warm_up_requests(folder):
    file = folder / "assets.extra" / "tf_serving_warmup_requests"
    asked = signatures(folder).keys() - {"labels"}  # which computes nothing
    assert len(list(tf.data.TFRecordDataset(str(file)))) == len(asked) <= 1000


@pytest.mark.parametrize("name", ["causal_lm", "classification"])
def test_strings_are_utf8(name, exported):
    served = tf.saved_model.load(str(exported(name).folder)).signatures["serving_default"]
    answer = served(text=tf.constant([b"\xff\xfe \xc3", "schön".encode()[:4]]))
    strings = [string for value in answer.values() if value.dtype == tf.string for string in value.numpy()]
    assert strings and all(string.decode() is not None for string in strings)


def requests() -> dict[str, dict[str, Any]]:
    """The bodies of the REST requests, by model and signature."""
    found = re.findall(r"curl http://localhost:8501/v1/models/(\w+):predict [^']*'([^']*)'", "\n".join(blocks("sh")))
    bodies = [(model, json.loads(body)) for model, body in found]
    return {f"{model} {body.pop('signature_name', 'serving_default')}": body for model, body in bodies}


def answer(folder: Path, signature: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The `predictions` of a request, read as https://www.tensorflow.org/tfx/serving/api_rest says."""
    served = tf.saved_model.load(str(folder)).signatures[signature]
    specs = served.structured_input_signature[1]
    inputs = body.get("inputs")
    if inputs is None:
        rows = [row if isinstance(row, dict) else dict.fromkeys(specs, row) for row in body["instances"]]
        inputs = {name: [row[name] for row in rows] for name in specs}
    assert set(inputs) == set(specs)
    outputs = served(**{name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()})
    columns = {name: value.numpy().tolist() for name, value in outputs.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_rest_requests(exported):
    bodies, (response,) = requests(), blocks("json")
    assert set(bodies) == {"sentiment serving_default", "sentiment pair", "novel generate"}
    classifier, decoder = exported("classification"), exported("causal_lm")
    (told,) = json.loads(response)["predictions"]

    rows = answer(classifier.folder, "serving_default", bodies["sentiment serving_default"])
    expected = classifier.task.predict(bodies["sentiment serving_default"]["instances"])
    assert [row["label"].decode() for row in rows] == [row["label"] for row in expected]
    assert set(rows[0]) == set(told)
    assert len(answer(classifier.folder, "pair", bodies["sentiment pair"])) == 1

    body = bodies["novel generate"]
    (row,) = answer(decoder.folder, "generate", body)
    options = {name: value[0] for name, value in body["inputs"].items() if name != "text"}
    assert row["error"] == b"" and [row["generated_text"].decode()] == decoder.task.generate(["Call me"], **options)


@pytest.fixture
def server(exported) -> Iterator[str]:
    """The address of a server that answers as TF Serving would, from its protocol buffers."""
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    served = tf.saved_model.load(str(exported("classification").folder)).signatures

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            assert request.model_spec.name == "sentiment"
            inputs = {name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()}
            response = predict_pb2.PredictResponse()
            for name, value in served[request.model_spec.signature_name](**inputs).items():
                response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
            return response

    server = grpc.server(ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    yield f"localhost:{port}"
    server.stop(None)


@pytest.mark.parity
def test_grpc_client(server, exported):
    (block,) = [block for block in blocks("python") if "localhost:8500" in block]
    names: dict[str, Any] = {}
    exec(block.replace("localhost:8500", server), names)
    expected = exported("classification").task.predict(["a fine film", "a dull film"])
    assert [label.decode() for label in names["outputs"]["label"]] == [row["label"] for row in expected]
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(names["outputs"]["probabilities"], probabilities, atol=1e-5)
