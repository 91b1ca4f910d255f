from __future__ import annotations

import os

import h5py
import numpy as np
import pytest

from keras_transformers.checkpoints.files.hdf5 import read_hdf5


def test_names_and_values(tmp_path):
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file["a/b"] = np.arange(3.0)
    (tensor,) = read_hdf5(tmp_path / "model.h5")
    assert (tensor.name, tensor.read().tolist()) == ("a/b", [0, 1, 2])


def test_a_name_that_is_no_text(tmp_path):
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.create_dataset(b"layer\xff", data=np.ones(2))
    with pytest.raises(ValueError, match=r"model.h5 is missing or damaged .*not valid UTF-8"):
        read_hdf5(tmp_path / "model.h5")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_is_not_opened(tmp_path, make):
    make(tmp_path / "model.h5")
    with pytest.raises(ValueError, match=r"model.h5 is a folder, a pipe or a device"):
        read_hdf5(tmp_path / "model.h5")
