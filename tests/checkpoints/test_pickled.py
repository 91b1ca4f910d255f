import collections
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from keras_transformers.checkpoints.pickled import read_pickled


def write_zip(path, pickled, storages=()):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for key, content in storages:
            archive.writestr(f"archive/data/{key}", content)


def tensor_pickle(shape, strides, offset=0, size=6, storage="FloatStorage"):
    """The pickle of a state dict with one tensor, as torch writes it, made without torch."""
    reference = b"(X\x07\x00\x00\x00storagectorch\n" + storage.encode() + b"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    reference += b"K" + bytes([size]) + b"tQ"
    numbers = b"".join(
        b"(" + b"".join(b"J" + n.to_bytes(4, "little", signed=True) for n in row) + b"t" for row in (shape, strides)
    )
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + reference + b"J" + offset.to_bytes(4, "little", signed=True)
    call += numbers + b"\x89ccollections\nOrderedDict\n)RtR"
    return b"\x80\x02}X\x01\x00\x00\x00w" + call + b"s."


def test_a_tensor_without_torch(tmp_path):
    write_zip(tmp_path / "a.bin", tensor_pickle((3, 2), (1, 3)), [("0", np.arange(6, dtype="float32").tobytes())])
    assert read_pickled(tmp_path / "a.bin")["w"].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    "tensor",
    [
        {"shape": (4, 2), "strides": (2, 1)},
        {"shape": (2,), "strides": (1,), "offset": 5},
        {"shape": (2,), "strides": (-1,), "offset": 1},
        {"shape": (2,), "strides": (1,), "offset": -1},
        {"shape": (2, 2), "strides": (1,)},
        {"shape": (2,), "strides": (1,), "size": 7},
        {"shape": (2,), "strides": (1,), "storage": "QuantizedStorage"},
    ],
)
def test_a_tensor_that_reaches_outside_of_its_storage_is_refused(tmp_path, tensor):
    write_zip(tmp_path / "a.bin", tensor_pickle(**tensor), [("0", bytes(24))])
    with pytest.raises(ValueError, match=r"a\.bin"):
        read_pickled(tmp_path / "a.bin")


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    ("evil", "name"),
    [
        (Evil(os.system, "echo ran > ran"), r"(posix|nt)\.system"),
        (Evil(eval, "open('ran', 'w')"), r"(builtins|__builtin__)\.eval"),
        (Evil(getattr, collections.OrderedDict, "fromkeys"), r"(builtins|__builtin__)\.getattr"),
    ],
)
def test_a_malicious_pickle_is_named_and_not_run(tmp_path, monkeypatch, evil, name, protocol):
    monkeypatch.chdir(tmp_path)
    write_zip(tmp_path / "a.bin", pickle.dumps({"w": evil}, protocol))
    (tmp_path / "legacy.bin").write_bytes(pickle.dumps({"w": evil}, protocol))
    for path in ("a.bin", "legacy.bin"):
        with pytest.raises(ValueError, match=name):
            read_pickled(path)
    assert not (tmp_path / "ran").exists()


def test_a_dotted_name_does_not_reach_through_what_is_allowed(tmp_path):
    write_zip(tmp_path / "a.bin", b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93.")
    with pytest.raises(ValueError, match=r"OrderedDict\.fromkeys"):
        read_pickled(tmp_path / "a.bin")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a pickle", pickle.dumps([1, 2]), b"\x80\x02K\x01."])
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.bin"):
        read_pickled(tmp_path / "a.bin")


def state_dict():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    shared = torch.randn(5, 4)
    state = collections.OrderedDict(
        kernel=shared,
        tied=shared,
        parameter=torch.nn.Parameter(torch.randn(3, 2)),
        transposed=torch.randn(3, 7).T,
        part=shared[1:3, ::2],
        expanded=torch.randn(3, 1).expand(3, 4),
        half=torch.randn(4).half(),
        brain=torch.randn(4).bfloat16(),
        ids=torch.arange(6).reshape(1, 6),
        flag=torch.tensor([True, False]),
        scalar=torch.tensor(3.0),
        empty=torch.zeros(0, 3),
    )
    state._metadata = collections.OrderedDict(version=1)
    return torch, state


@pytest.mark.parity
@pytest.mark.parametrize("zipped", [True, False])
def test_equals_torch(tmp_path, zipped):
    torch, state = state_dict()
    torch.save(state, tmp_path / "a.bin", _use_new_zipfile_serialization=zipped)
    arrays = read_pickled(tmp_path / "a.bin")
    assert list(arrays) == list(state)
    for name, tensor in state.items():
        assert str(tensor.dtype).removeprefix("torch.") == arrays[name].dtype.name
        np.testing.assert_array_equal(arrays[name].astype("float64"), tensor.detach().double().numpy())


@pytest.mark.parity
@pytest.mark.parametrize("zipped", [True, False])
def test_a_cut_file_is_an_error(tmp_path, zipped):
    torch, state = state_dict()
    whole = io.BytesIO()
    torch.save(state, whole, _use_new_zipfile_serialization=zipped)
    for length in range(0, len(whole.getvalue()) - 1, 97):
        (tmp_path / "a.bin").write_bytes(whole.getvalue()[:length])
        with pytest.raises(ValueError, match=r"a\.bin"):
            read_pickled(tmp_path / "a.bin")


@pytest.mark.parity
def test_whole_modules_and_other_objects_are_refused(tmp_path):
    torch, _ = state_dict()
    torch.save(torch.nn.Linear(2, 2), tmp_path / "a.bin")
    with pytest.raises(ValueError, match=r"torch\.nn\.modules\.linear\.Linear"):
        read_pickled(tmp_path / "a.bin")
