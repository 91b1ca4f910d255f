"""Rows of arrays on the devices of a `keras.distribution`; tests/training/test_sharded.py divides them on 8 devices."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.utils.device_rows import batch_parts, with_divided_rows


@pytest.fixture
def eight(monkeypatch):
    for name, value in {"num_processes": 1, "process_id": 0}.items():  # on TensorFlow, Keras 3.12 has none
        monkeypatch.setattr(f"keras.src.backend.distribution_lib.{name}", lambda value=value: value, raising=False)
    with keras.distribution.DataParallel(devices=[f"cpu:{index}" for index in range(8)]).scope():
        yield


def test_without_a_distribution_nothing_is_divided():
    arrays = {"token_ids": np.zeros((8, 2))}
    assert batch_parts() == 1
    assert with_divided_rows(arrays) is arrays


def test_a_batch_has_a_part_for_each_device(eight):
    assert batch_parts() == 8


def test_rows_that_do_not_divide_stay_whole(eight):
    arrays = {"token_ids": np.zeros((3, 2)), "number": np.zeros(())}
    found = with_divided_rows(arrays)
    assert all(found[name] is array for name, array in arrays.items())
