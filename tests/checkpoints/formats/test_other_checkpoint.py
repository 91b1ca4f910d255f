from __future__ import annotations

import numpy as np
import pytest
from tf_folders import bert_variables, slots, write_objects, write_variables

from keras_transformers.checkpoints.formats import find_stored

ONE = np.ones((2, 2), "float32")


def test_another_model_is_told_by_its_variables(tmp_path):
    write_variables(tmp_path / "model.ckpt", {"generator/dense/kernel": ONE})
    with pytest.raises(ValueError, match=r"another model.*'generator/dense/kernel'"):
        find_stored(tmp_path)
    write_objects(tmp_path / "objects/ckpt-1", {"conv/kernel": ONE})
    with pytest.raises(ValueError, match="another model"):
        find_stored(tmp_path / "objects")


def test_slots_only(tmp_path):
    write_variables(tmp_path / "model.ckpt", slots({}) | {"optimizer/iter": ONE, "beta1_power": ONE})
    with pytest.raises(ValueError, match=r"no weights of a model.*'beta1_power'"):
        find_stored(tmp_path)


def test_slots_without_their_variables(tmp_path):
    write_variables(tmp_path / "model.ckpt", slots(bert_variables(layers=1)))
    with pytest.raises(ValueError, match="no weights of a model"):
        find_stored(tmp_path)


@pytest.mark.parametrize("name", ["model.ckpt.meta", "frozen_graph.pb"])
def test_a_graph_alone(tmp_path, name):
    (tmp_path / name).write_bytes(b"graph")
    with pytest.raises(ValueError, match=f"graph .*{name}.*no checkpoint"):
        find_stored(tmp_path)


def test_an_empty_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        find_stored(tmp_path)
