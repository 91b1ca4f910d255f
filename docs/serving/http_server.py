"""Serve an exported folder over HTTP, with TensorFlow and Python's standard library only.

    python http_server.py serving/sentiment/1 --port 8000
    curl http://127.0.0.1:8000 -d '{"text": ["a fine film"]}'

The body of a request has the inputs of a signature, lists of one value a text; `?signature=pair` names another one than
`serving_default`. The answer has its outputs. It is for machines that you trust: no TLS, no authentication.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import tensorflow as tf

MOST_BYTES = 1_000_000  # of a request


def answer(signatures: Any, name: str, inputs: dict[str, list]) -> dict[str, list]:
    """Return the outputs of a signature for inputs of JSON."""
    called = signatures[name]
    specs = called.structured_input_signature[1]
    tensors = {key: tf.constant(values, specs[key].dtype) for key, values in inputs.items()}
    outputs = {key: tensor.numpy().tolist() for key, tensor in called(**tensors).items()}
    return {key: as_text(values) for key, values in outputs.items()}


def as_text(value: Any) -> Any:
    """Return bytes as text, in lists too."""
    if isinstance(value, list):
        return [as_text(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


class Handler(BaseHTTPRequestHandler):
    """Answers POST requests by the signatures of `server.signatures`."""

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MOST_BYTES:
            return self.reply(413, {"error": f"a request may have {MOST_BYTES} bytes, received {size}"})
        name = parse_qs(urlparse(self.path).query).get("signature", ["serving_default"])[0]
        try:
            return self.reply(200, answer(self.server.signatures, name, json.loads(self.rfile.read(int(size)))))
        except Exception as error:  # of a request that does not fit the signature
            return self.reply(400, {"error": f"{type(error).__name__}: {error}"})

    def reply(self, status: int, content: dict) -> None:
        """Send JSON."""
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing of each request."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.model = tf.saved_model.load(arguments.folder)  # keeps what the signatures use
    server.signatures = server.model.signatures
    print(f"serving at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
