"""docs/serving/mlserver in MLServer, over HTTP on this machine: answers, hostile requests, many clients."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import environments
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "docs" / "serving" / "README.md").read_text(encoding="utf-8")
TEXTS = ["a fine film", "", "schön 😀 中文", "a dull film, and long. " * 20]

pytestmark = pytest.mark.slow


def imported(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


model_server, serving_load = imported("model_server"), imported("serving_load")


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory) -> Iterator[Any]:
    python = environments.make(tmp_path_factory.mktemp("venv"), *model_server.PACKAGES)
    models = {"sentiment": exported("classification").folder, "novel": exported("causal_lm").folder}
    with model_server.serve(python, tmp_path_factory.mktemp("server"), models) as server:
        yield server


def post(server: Any, model: str, body: Any) -> tuple[int, Any]:
    with closing(server.connect()) as connection:
        return model_server.post(connection, model, body)


def columns(answer: dict[str, Any]) -> dict[str, np.ndarray]:
    return {part["name"]: np.array(part["data"], object).reshape(part["shape"]) for part in answer["outputs"]}


def test_answers_are_those_of_predict(server, exported):
    status, answer = post(server, "sentiment", model_server.text_request(TEXTS))
    found, expected = columns(answer), exported("classification").task.predict(TEXTS)
    assert status == 200 and found["label"].tolist() == [row["label"] for row in expected]
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(found["probabilities"].astype("float32"), probabilities, atol=1e-5)


def test_the_request_of_the_readme(server, exported):
    ((model, body),) = re.findall(r"curl http://localhost:8080/v2/models/(\w+)/infer [^']*'[^']*' -d '([^']*)'", README)
    body = json.loads(body)
    assert model == "novel" and body["parameters"] == {"signature_name": "generate"}
    status, answer = post(server, model, body)
    assert status == 200, answer
    inputs = {part["name"]: part["data"][0] for part in body["inputs"]}
    text, stop = inputs.pop("text"), inputs.pop("stop")
    expected = exported("causal_lm").task.generate([text], stop=[stop], **inputs)
    assert columns(answer)["generated_text"].tolist() == expected


HOSTILE = {
    "no JSON": (b"nonsense", 422),
    "nothing": (b"", 422),
    "deep": (b"[" * 100_000, 422),
    "invalid UTF-8": (b'{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["\xff"]}]}', 422),
    "half a pair": ({"data": ["\ud800"]}, 422),
    "a type that is none": ({"datatype": "TEXT"}, 422),
    "another type": ({"datatype": "INT32", "data": [1]}, 400),
    "numbers": ({"data": [1]}, 400),
    "types mixed": ({"data": ["a", 1], "shape": [2]}, 400),
    "an object": ({"data": {"a": 1}}, 400),
    "another rank": ({"shape": [1, 1]}, 400),
    "too few": ({"shape": [2]}, 400),
    "negative": ({"shape": [-1]}, 400),
    "another name": ({"name": "texts"}, 400),
    "no texts": ({"data": [], "shape": [0]}, 200),
    "empty": ({"data": [""]}, 200),
    "a megabyte": ({"data": ["x" * 10**6]}, 200),
}


def test_hostile_requests_are_refused_while_others_are_served(server):
    def body(case: Any) -> Any:
        fine = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}
        return case if isinstance(case, bytes) else {"inputs": [fine | case]}

    expected = columns(post(server, "sentiment", model_server.text_request(TEXTS))[1])
    with ThreadPoolExecutor(4) as pool:
        hostile = [
            pool.submit(post, server, model, body(case))
            for model in ("sentiment", "novel")
            for case, _ in HOSTILE.values()
        ]
        fine = [pool.submit(post, server, "sentiment", model_server.text_request(TEXTS)) for _ in range(20)]
    wanted = [status for _, status in HOSTILE.values()] * 2
    assert [answer.result()[0] for answer in hostile] == wanted
    for answer in fine:
        assert columns(answer.result()[1])["label"].tolist() == expected["label"].tolist()
    assert all("error" in found.result()[1] for found, status in zip(hostile, wanted, strict=True) if status == 400)


@pytest.mark.parametrize("name", ["other", ["a"], 3, None])
def test_a_signature_that_is_none(name, server):
    request = model_server.text_request(["a"]) | {"parameters": {"signature_name": name}}
    status, answer = post(server, "sentiment", request)
    assert status == 400 and "expected one of ['serving_default', 'pair']" in answer["error"]


def test_load(server):
    cell = serving_load.load(server, "sentiment", 16, 8, serving_load.for_requests(40))
    assert (len(cell.waits), cell.errors) == (40, 0) and cell.seconds > 0
    assert len(cell.line().split()) == 4
    assert server.resident() > 100
