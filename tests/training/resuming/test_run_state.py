"""Files of states: two are kept, none is half-written, and a damaged one gives way to the one before."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from keras_transformers.training.resuming.run_state import group, load_latest, save, to_json


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_last_two_states_are_kept(tmp_path):
    for batch in range(4):
        save(tmp_path / "run", f"epoch-00000-batch-{batch:08}.npz", {"batch": batch}, {"x": np.arange(batch)})
    assert names(tmp_path / "run") == ["epoch-00000-batch-00000002.npz", "epoch-00000-batch-00000003.npz"]
    state, arrays = load_latest(tmp_path / "run")
    assert (state["batch"], arrays["x"].tolist()) == (3, [0, 1, 2])


def test_nothing_is_there_before_the_first_save(tmp_path):
    assert load_latest(tmp_path / "none") is None
    (tmp_path / "partial").write_bytes(b"half a state")
    (tmp_path / "notes.md").write_text("mine")
    assert load_latest(tmp_path) is None
    save(tmp_path, "epoch-1.npz", {}, {})
    assert names(tmp_path) == ["epoch-1.npz", "notes.md"]


def test_a_save_that_fails_leaves_the_states_of_before(tmp_path, monkeypatch):
    save(tmp_path, "epoch-1.npz", {"batch": 1}, {"x": np.ones(3)})

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, "epoch-2.npz", {"batch": 2}, {"x": np.ones(3)})
    assert load_latest(tmp_path)[0]["batch"] == 1


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file at all", None])
def test_damaged_files(tmp_path, content):
    save(tmp_path, "epoch-1.npz", {"batch": 1}, {})
    save(tmp_path, "epoch-2.npz", {"batch": 2}, {"x": np.ones(500)})
    whole = (tmp_path / "epoch-2.npz").read_bytes()
    (tmp_path / "epoch-2.npz").write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.warns(UserWarning, match=r"epoch-2\.npz is damaged"):
        assert load_latest(tmp_path)[0]["batch"] == 1
    (tmp_path / "epoch-1.npz").write_bytes(b"")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="damaged files only"):
        load_latest(tmp_path)


def test_dtypes_that_numpy_does_not_have(tmp_path):
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    save(tmp_path, "epoch-1.npz", {}, {"x": array, "y": np.float16([1])})
    arrays = load_latest(tmp_path)[1]
    assert (arrays["x"].dtype, arrays["y"].dtype) == (array.dtype, np.float16)
    assert arrays["x"].tolist() == [1.5, -2.0]


def test_groups_are_in_order_of_their_numbers():
    arrays = {f"weights/{index}": np.array(index) for index in (10, 2, 0, 1, *range(3, 10))} | {"weight": np.array(-1)}
    assert [int(array) for array in group(arrays, "weights")] == list(range(11))
    assert group(arrays, "none") == []


def test_numbers_of_numpy_are_numbers():
    assert (
        to_json({"a": np.float32(0.5), "b": np.arange(2), "c": [np.bool_(True)]})
        == '{"a": 0.5, "b": [0, 1], "c": [true]}'
    )
