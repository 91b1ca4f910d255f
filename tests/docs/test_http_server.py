"""docs/serving/http_server.py: it answers as `predict` does, without Keras and this package, and refuses what does not
fit.
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

SERVING = Path(__file__).resolve().parents[2] / "docs" / "serving"
PAGE = (SERVING / "http.md").read_text(encoding="utf-8")
BLOCKED = """
import runpy, sys
sys.modules.update(dict.fromkeys(["keras", "keras_transformers", "zoo", "tokenizers"]))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TEXTS = ["a fine film", "a dull film", "", "schön 😀"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port(exported) -> Iterator[int]:
    folder = str(exported("classification").folder)
    command = [sys.executable, "-c", BLOCKED, str(SERVING / "http_server.py"), folder, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield int(server.stdout.readline().rpartition(":")[2])
        finally:
            server.terminate()


def post(port: int, body: str, path: str = "/", length: str | None = None, method: str = "POST") -> tuple[int, dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body.encode(), {"Content-Length": length} if length else {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_answers_are_those_of_predict(port, exported):
    expected = exported("classification").task.predict(TEXTS)
    status, found = post(port, json.dumps({"text": TEXTS}))
    assert status == 200 and found["label"] == [row["label"] for row in expected]
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(found["probabilities"], probabilities, atol=1e-5)


def test_another_signature(port):
    status, found = post(port, json.dumps({"text": ["a"], "text_pair": ["b"]}), "/?signature=pair")
    assert status == 200 and len(found["label"]) == 1


def test_the_page_shows_requests_that_it_answers(port):
    bodies = re.findall(r"curl '?http://127.0.0.1:8000(\S*?)'? -d '([^']*)'", PAGE)
    assert len(bodies) == 2
    assert [post(port, body, path or "/")[0] for path, body in bodies] == [200, 200]
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(shown).keys() == post(port, bodies[0][1])[1].keys()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("{", "/"),
        ("[]", "/"),
        ('{"txt": ["a"]}', "/"),
        ('{"text": [1]}', "/"),
        ('{"text": "a"}', "/"),
        ('{"text": [["a"]]}', "/"),
        ('{"text": ["a"], "text_pair": ["b", "c"]}', "/?signature=pair"),
        ("{}", "/?signature=no"),
        ("[" * 100_000, "/"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_server_goes_on(port, body, path):
    status, found = post(port, body, path)
    assert status == 400
    assert "Error" not in found["error"] and "node" not in found["error"] and len(found["error"]) < 300
    if body.startswith('{"'):
        assert "'text': string (None,)" in found["error"]
    assert post(port, '{"text": ["a"]}')[0] == 200


def test_a_number_that_is_too_large_is_refused():
    as_tensor = runpy.run_path(str(SERVING / "http_server.py"))["as_tensor"]
    spec = tf.TensorSpec((None,), "int32")
    assert as_tensor("top_k", [1, 2], spec, "").numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="the values of 'top_k' are no list of int32"):
        as_tensor("top_k", [2**40], spec, "")


@pytest.mark.parametrize("length", ["1000001", "-1"])
def test_a_length_that_is_out_of_bounds_is_refused(port, length):
    assert post(port, "{}", length=length)[0] == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/v1/models", 404), ("GET", "/", 405), ("DELETE", "/", 405), ("BREW", "/", 501)],
)
def test_errors_of_paths_and_methods_are_json(port, method, path, status):
    found, content = post(port, '{"text": ["a"]}', path, method=method)
    assert found == status and content["error"]
