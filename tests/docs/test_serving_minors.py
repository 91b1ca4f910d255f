"""Exports answer alike in the TensorFlow minors before ours. ZOO_TF_MINORS=1 asks for these tests: 2 GB each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bare
import environments
import pytest
import tensorflow as tf
from exports import BUNDLED
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_transformers.tasks.exports.saved_model import _messages

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
    return tf.nest.map_structure(lambda item: item.decode() if isinstance(item, bytes) else item, value)


@pytest.mark.parametrize("name", BUNDLED)
def test_an_older_tensorflow_answers_alike(name, python, exported):
    folder = exported(name).folder
    requests = plain(examples(folder))
    here, there = bare.ask(folder, requests), bare.ask(folder, requests, python)
    tf.nest.assert_same_structure(here, there)
    for expected, value in zip(tf.nest.flatten(here), tf.nest.flatten(there), strict=True):
        assert value == (pytest.approx(expected, abs=1e-5) if isinstance(expected, float) else expected)
