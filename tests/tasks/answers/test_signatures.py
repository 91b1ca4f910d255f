"""Signatures: three steps from texts to named tensors."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.tasks.answers.signatures import look_up


def test_names_by_number():
    names = look_up(["no", "ja"], tf.constant([[1, -1], [0, 1]]))
    assert names.numpy().tolist() == [[b"ja", b""], [b"no", b"ja"]]
