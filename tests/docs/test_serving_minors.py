"""Exports answer alike in the TensorFlow minors before ours. ZOO_TF_MINORS=1 asks for these tests: 2 GB each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bare
import environments
import pytest
import tensorflow as tf
from conftest import BUNDLED
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_transformers.export import _messages

MINOR = int(tf.__version__.split(".")[1])
TEXT = b"Ann Lee paid for a fine film in Rome."

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session", params=[MINOR - 1, MINOR - 2], ids="2.{}".format)
def python(request, tmp_path_factory) -> Path:
    return environments.make(tmp_path_factory.mktemp("venv"), f"tensorflow==2.{request.param}.*")


def examples(folder: Path) -> dict[str, dict[str, Any]]:
    """The warm-up request of each signature, with a longer text."""
    records = tf.data.TFRecordDataset(str(folder / "assets.extra" / "tf_serving_warmup_requests"))
    found = {}
    for record in records.as_numpy_iterator():
        request = _messages()["PredictionLog"].FromString(record).predict_log.request
        values = {entry.key: tf.make_ndarray(TensorProto.FromString(entry.value)).tolist() for entry in request.inputs}
        texts = {name: [TEXT.decode()] for name, value in values.items() if value == [b"warm up"]}
        found[request.model_spec.signature_name] = {**values, **texts}
    return found


def plain(value: Any) -> Any:
    """With `str` for bytes, as JSON needs it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", BUNDLED)
def test_an_older_tensorflow_answers_alike(name, python, exported):
    folder = exported(name).folder
    requests = {signature: {key: plain(v) for key, v in values.items()} for signature, values in examples(folder).items()}
    here, there = (bare.ask(folder, requests, where) for where in (bare.sys.executable, python))
    assert list(here) == list(there) == list(requests)
    for signature, expected in here.items():
        assert set(there[signature]) == set(expected)
        for output, values in expected.items():
            assert there[signature][output] == same(values), (signature, output)


def same(values: list) -> Any:
    """Equal, numbers within 1e-5."""
    numbers = tf.nest.flatten(values)
    if not any(isinstance(number, float) for number in numbers):
        return values
    return pytest.approx(values, abs=1e-5) if not isinstance(values[0], list) else Nested(values)


class Nested:
    """A nested list that equals another one whose numbers differ by 1e-5 at most."""

    def __init__(self, values: list):
        self.values = values

    def __eq__(self, other: object) -> bool:
        tf.nest.assert_same_structure(self.values, other)
        return tf.nest.flatten(other) == pytest.approx(tf.nest.flatten(self.values), abs=1e-5)
