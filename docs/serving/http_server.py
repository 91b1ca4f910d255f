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


def answer(signatures: Any, name: str, inputs: Any) -> dict[str, list]:
    """Return the outputs of a signature for the inputs of a JSON body.

    Raises:
        ValueError: The signature does not exist, or the inputs do not fit it: it names what the signature takes.
    """
    if name not in signatures:
        raise ValueError(f"there is no signature {name!r}; expected ?signature= with one of {sorted(signatures)}")
    called = signatures[name]
    specs = called.structured_input_signature[1]
    takes = ", ".join(f"{key!r}: {spec.dtype.name} {tuple(spec.shape)}" for key, spec in sorted(specs.items()))
    takes = f"{name} takes {{{takes}}}, lists of one value a text where the size is None"
    if not isinstance(inputs, dict):
        raise ValueError(f"received a JSON {type(inputs).__name__}, expected an object; {takes}")
    missing, unknown = sorted(specs.keys() - inputs.keys()), sorted(inputs.keys() - specs.keys())
    if missing or unknown:
        raise ValueError(f"missing inputs {missing}, unknown inputs {unknown}; {takes}")

    tensors = {key: as_tensor(key, inputs[key], spec, takes) for key, spec in specs.items()}
    try:
        outputs = {key: tensor.numpy().tolist() for key, tensor in called(**tensors).items()}
    except (tf.errors.InvalidArgumentError, ValueError):  # such as lists of unlike length
        shapes = ", ".join(f"{key!r}: {tuple(tensor.shape)}" for key, tensor in sorted(tensors.items()))
        raise ValueError(f"inputs of the shapes {{{shapes}}} do not fit together; {takes}") from None
    return {key: as_text(values) for key, values in outputs.items()}


def as_tensor(key: str, values: Any, spec: tf.TensorSpec, takes: str) -> tf.Tensor:
    """Return the values of one input as a tensor; raise a `ValueError` that names it where they do not fit."""
    try:
        tensor = tf.constant(values, spec.dtype)
        if spec.dtype.is_integer and tensor.numpy().tolist() != values:  # TensorFlow lets too large numbers wrap
            raise ValueError(values)
    except (TypeError, ValueError):
        raise ValueError(f"the values of {key!r} are no list of {spec.dtype.name} of one shape; {takes}") from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(f"{key!r} has the shape {tuple(tensor.shape)}; {takes}")
    return tensor


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
        body = self.rfile.read(int(size))
        address = urlparse(self.path)
        if address.path not in ("", "/"):
            return self.reply(404, {"error": f"nothing is at {address.path}: POST to /, or /?signature=NAME"})
        name = parse_qs(address.query).get("signature", ["serving_default"])[0]
        try:
            return self.reply(200, answer(self.server.signatures, name, json.loads(body)))
        except (ValueError, RecursionError) as error:  # the request is no JSON, or does not fit the signature
            return self.reply(400, {"error": str(error)})
        except Exception as error:
            return self.reply(500, {"error": f"{type(error).__name__}: {error}"})

    def do_GET(self) -> None:
        self.reply(405, {"error": f"{self.command} is not allowed: POST a JSON object of inputs"}, Allow="POST")

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send as JSON what the standard library would send as HTML, such as 501 for an unknown method."""
        self.close_connection = True
        self.reply(code, {"error": message or self.responses[code][0]})

    def reply(self, status: int, content: dict, **headers: str) -> None:
        """Send JSON."""
        body = json.dumps(content).encode()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
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
