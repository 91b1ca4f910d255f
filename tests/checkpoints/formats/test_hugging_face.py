"""Folders of `transformers`: which weights are read where several are there, and which are refused by name."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest
import safetensors.numpy
from processes import run_on_jax
from tf_folders import bert_variables, google_bert
from tf_layout import WRITERS, rewrite
from tiny import classifier

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

SAFE, H5 = "model.safetensors", "tf_model.h5"
TORCH, TENSORFLOW = "transformers (PyTorch)", "transformers 4 (TensorFlow)"
BIAS = "classifier.bias"


@pytest.fixture(scope="module")
def saved(tmp_path_factory, ours):
    """A folder with the weights of PyTorch, and a tokenizer."""
    folder = tmp_path_factory.mktemp("saved")
    task = classifier()
    ours.randomise(task.model)
    task.save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "folder")


def with_zeros(folder, layout):
    """A copy of a folder whose weights are in a layout of TensorFlow, the bias of the classifier zero."""
    copy = shutil.copytree(folder, folder.parent / layout)
    tensors = safetensors.numpy.load_file(copy / SAFE)
    tensors[BIAS] *= 0
    safetensors.numpy.save_file(tensors, copy / SAFE, {"format": "pt"})
    return rewrite(copy, layout)


def bias(folder, pickled=False):
    (tensor,) = [
        tensor for tensor in find_stored(folder, UserOptions(pickled=pickled)).tensors() if tensor.name == BIAS
    ]
    return tensor.read()


def shard(folder):
    """Two files of the weights of PyTorch, and their index."""
    tensors, places = safetensors.numpy.load_file(folder / SAFE), {}
    (folder / SAFE).unlink()
    for number, names in enumerate((sorted(tensors)[::2], sorted(tensors)[1::2]), 1):
        file = f"model-{number:05}-of-00002.safetensors"
        safetensors.numpy.save_file({name: tensors[name] for name in names}, folder / file, {"format": "pt"})
        places |= dict.fromkeys(names, file)
    (folder / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": places}))


@pytest.mark.parametrize("layout", ["h5", "h5_sharded"])
@pytest.mark.parametrize("is_sharded", [False, True], ids=["whole", "sharded"])
def test_safetensors_of_pytorch_win(folder, layout, is_sharded):
    for path in with_zeros(folder, layout).glob("tf_model*"):
        shutil.copy(path, folder)
    expected = safetensors.numpy.load_file(folder / SAFE)[BIAS]
    if is_sharded:
        shard(folder)
    assert find_stored(folder).writer == TORCH
    assert (bias(folder) == expected).all() and expected.any()


@pytest.mark.parametrize("layout", ["h5", "h5_sharded"])
def test_hdf5_wins_over_a_pickle_unless_that_is_asked_for(folder, layout):
    copy = with_zeros(folder, layout)
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps({}, 2))
    assert find_stored(copy).writer == TENSORFLOW
    assert not bias(copy).any()
    assert find_stored(copy, UserOptions(pickled=True)).writer == TORCH
    with pytest.raises(ValueError, match=r"pytorch_model\.bin"):
        bias(copy, pickled=True)


@pytest.mark.parametrize("layout", WRITERS)
def test_pickled_takes_what_there_is(folder, layout):
    assert not bias(with_zeros(folder, layout), pickled=True).any()


def with_metadata(folder, metadata):
    tensors = safetensors.numpy.load_file(folder / SAFE)
    safetensors.numpy.save_file(tensors, folder / SAFE, metadata)


@pytest.mark.parametrize("metadata", [None, {}, {"other": "x"}, {"format": "pt"}, {"format": "np"}], ids=str)
def test_a_file_that_names_no_framework_is_of_pytorch(folder, metadata):
    with_metadata(folder, metadata)
    assert find_stored(folder).writer == TORCH
    assert bias(folder).any()


@pytest.mark.parametrize("is_sharded", [False, True], ids=["whole", "sharded"])
@pytest.mark.parametrize("framework", ["flax", "mlx", "", "x" * 500])
def test_weights_of_other_frameworks_are_refused_by_name(folder, framework, is_sharded):
    with_metadata(folder, {"format": framework})
    if is_sharded:
        (folder / SAFE).rename(folder / "a.safetensors")
        names = safetensors.numpy.load_file(folder / "a.safetensors")
        (folder / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": dict.fromkeys(names, "a.safetensors")}))
    with pytest.raises(
        ValueError, match=rf"{folder.name}.*have the format '{framework[:30]}.*expected 'pt' or 'tf'.*Fetch"
    ):
        zoo.load(folder)


def test_safetensors_of_another_framework_beside_hdf5(folder):
    """They are what `transformers` would read first."""
    copy = with_zeros(folder, "h5")
    shutil.copy(folder / SAFE, copy)
    with_metadata(copy, {"format": "flax"})
    with pytest.raises(ValueError, match="have the format 'flax'"):
        bias(copy)


@pytest.mark.parametrize("layout", WRITERS)
def test_a_whole_task_comes_from_each_layout(folder, layout):
    task, again = zoo.load(folder), zoo.load(rewrite(shutil.copytree(folder, folder.parent / "copy"), layout))
    assert again.labels == task.labels == ("bad", "good")
    assert all(np.array_equal(a, b) for a, b in zip(task.model.weights, again.model.weights, strict=True))


@pytest.mark.parametrize("said", [{"lowercase": True}, {"lowercase": False}, {"num_heads": 2}], ids=str)
def test_what_its_files_say_is_not_asked(folder, said):
    ((name, value),) = said.items()
    message = (
        rf"received {name}={value} for the checkpoint in .*, of transformers .PyTorch., whose files specify it\. Leave"
    )
    with pytest.raises(ValueError, match=message):
        zoo.load(folder, **said)


ON_JAX = """
import numpy as np
import zoo
tasks, answers = {}, {}
for name in sys.argv[3].split():
    try:
        tasks[name] = zoo.load(f"{sys.argv[2]}/{name}")
        answers[name] = [float(np.abs(np.array(weight)).sum()) for weight in tasks[name].model.weights]
    except ValueError as error:
        answers[name] = str(error)
print(json.dumps([answers, tasks["h5"].predict(["a fine film", "a dull day"])]))
"""


@pytest.mark.parity
def test_without_tensorflow(folder, tmp_path):
    """HDF5 and safetensors are read, and answer; a checkpoint of TensorFlow says what it needs."""
    task = zoo.load(folder)
    layouts = ("h5", "safetensors_sharded")
    for layout in layouts:
        rewrite(shutil.copytree(folder, tmp_path / layout), layout)
    google_bert(tmp_path / "google", bert_variables(layers=1))
    printed = run_on_jax(ON_JAX, str(tmp_path), " ".join([*layouts, "google"]))
    answers, predicted = json.loads(printed.splitlines()[-1])
    said = answers.pop("google")
    assert "google" in said and "TensorFlow" in said and "pip install" in said
    sums = [np.abs(np.array(weight)).sum() for weight in task.model.weights]
    for layout in layouts:
        assert np.allclose(answers[layout], sums, rtol=1e-5), layout
    for row, expected in zip(predicted, task.predict(["a fine film", "a dull day"]), strict=True):
        assert row.pop("label") == expected.pop("label")
        assert np.allclose([*row["probabilities"].values()], [*expected["probabilities"].values()], atol=1e-5)
