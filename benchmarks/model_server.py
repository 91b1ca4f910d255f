"""MLServer on 127.0.0.1, with the runtime of docs/serving/mlserver; everything but TensorFlow is blocked in it."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("mlserver==1.7.1", "tensorflow==2.21.*")
RUNTIME = Path(__file__).resolve().parents[1] / "docs" / "serving" / "mlserver"
START = """
import sys
blocked = ["keras", "keras_transformers", "zoo", "tensorflow_text", "keras_hub", "keras_nlp", "tokenizers"]
sys.modules.update(dict.fromkeys(blocked))
from mlserver.cli import main
sys.argv = ["mlserver", "start", "."]
main()
"""
HEADERS = {"Content-Type": "application/json"}
READY_WITHIN, ANSWER_WITHIN = 300, 120  # seconds


class Server(NamedTuple):
    """A server that runs."""

    process: subprocess.Popen
    port: int

    def connect(self) -> http.client.HTTPConnection:
        """A connection, to be closed by who asked for it."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_WITHIN)

    def resident(self) -> float:
        """Memory of the process that is resident, in MB (of Linux)."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def post(connection: http.client.HTTPConnection, model: str, body: bytes | Mapping[str, Any]) -> tuple[int, Any]:
    """The status and the answer to a request, JSON if it is some."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", f"/v2/models/{model}/infer", content, HEADERS)
    response = connection.getresponse()
    content = response.read()
    is_json = response.headers.get_content_type() == "application/json"
    return response.status, json.loads(content) if is_json else content


def text_request(texts: list[str]) -> dict[str, Any]:
    """A request of the V2 protocol to `serving_default` of a model that takes texts."""
    return {"inputs": [{"name": "text", "shape": [len(texts)], "datatype": "BYTES", "data": texts}]}


@contextmanager
def serve(python: str | Path, folder: Path, models: Mapping[str, Path]) -> Iterator[Server]:
    """Serve SavedModels until the context ends.

    Args:
        python: That has `PACKAGES`.
        folder: Empty, for settings and the log.
        models: SavedModels by name.

    Raises:
        RuntimeError: The server is not ready in time.
    """
    ports = dict(zip(("http_port", "grpc_port", "metrics_port"), _free_ports(3), strict=True))
    settings = json.loads((RUNTIME / "settings.json").read_text(encoding="utf-8"))
    (folder / "settings.json").write_text(json.dumps({**settings, **ports}), encoding="utf-8")
    for name, exported in models.items():
        (folder / name).mkdir()
        shutil.copy(RUNTIME / "model.py", folder / name)
        own = json.loads((RUNTIME / "model-settings.json").read_text(encoding="utf-8"))
        own |= {"name": name, "parameters": {"uri": str(Path(exported).resolve())}}
        (folder / name / "model-settings.json").write_text(json.dumps(own), encoding="utf-8")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([python, "-c", START], cwd=folder, stdout=log, stderr=log)
    try:
        server = Server(process, ports["http_port"])
        _wait(server, folder / "log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:  # it waits for the models that it loads
            process.kill()


def _wait(server: Server, log: Path) -> None:
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end and server.process.poll() is None:
        with closing(server.connect()) as connection:
            try:
                connection.request("GET", "/v2/health/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass  # it does not listen yet
        time.sleep(0.2)
    raise RuntimeError(f"the server was not ready within {READY_WITHIN} s: {log.read_text()[-3000:]}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
