import collections
import copy
import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from keras_transformers.checkpoints.files.pickled import read_pickled


def write_zip(path, pickled, storages=(), **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
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


NESTED = b")" + b"2\x86" * 40  # a tuple of 2**40 empty ones, which takes hours to hash or to print


@pytest.mark.parametrize(
    "pickled",
    [
        b"}" + NESTED + b"Ns",
        b"}(" + NESTED + b"Nu",
        b"(" + NESTED + b"Nd",
        b"ccollections\nOrderedDict\n](" + NESTED + b"N\x86e\x85R",
        b"\x8f(" + NESTED + b"\x90",
        b"(" + NESTED + b"\x91",
        b"(X\x07\x00\x00\x00storage" + NESTED + b"X\x01\x00\x00\x000NK\x01tQ",
    ],
    ids=["setitem", "setitems", "dict", "OrderedDict", "additems", "frozenset", "storage"],
)
def test_nested_tuples_are_neither_hashed_nor_printed(tmp_path, pickled):
    write_zip(tmp_path / "a.bin", b"\x80\x04" + pickled + b".")
    with pytest.raises(ValueError, match=r"a\.bin") as caught:
        read_pickled(tmp_path / "a.bin")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a pickle", pickle.dumps([1, 2]), b"\x80\x02K\x01."])
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.bin"):
        read_pickled(tmp_path / "a.bin")


def test_compressed_members_are_refused(tmp_path):
    """A storage of zeros is a thousandth of its size when deflated."""
    write_zip(tmp_path / "a.bin", tensor_pickle((6,), (1,)), [("0", bytes(24))], compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"a\.bin.*compressed, as torch\.save never does.*pickled with torch"):
        read_pickled(tmp_path / "a.bin")


def test_the_file_is_not_read_into_memory(tmp_path):
    size = 1 << 24
    pickled = tensor_pickle((6,), (1,)).replace(b"K\x06", b"J" + size.to_bytes(4, "little"))
    write_zip(tmp_path / "a.bin", pickled, [("0", bytes(4 * size))])
    tracemalloc.start()
    array = read_pickled(tmp_path / "a.bin")["w"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size and array.tolist() == [0] * 6 and not array.flags.writeable


def test_a_number_in_a_pickle_takes_no_memory(tmp_path):
    """`LONG_BINPUT` of 2^25: the C unpickler makes a table of as many places, and more."""
    write_zip(tmp_path / "a.bin", b"\x80\x02}r\xff\xff\xff\x01.")
    (tmp_path / "legacy.bin").write_bytes(b"\x80\x02}r\xff\xff\xff\x01.")
    tracemalloc.start()
    assert read_pickled(tmp_path / "a.bin") == {}
    with pytest.raises(ValueError, match=r"no file of torch\.save"):
        read_pickled(tmp_path / "legacy.bin")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_bytearray_takes_no_memory(tmp_path):
    """`BYTEARRAY8` of 2^27 bytes, of which the file has one."""
    write_zip(tmp_path / "a.bin", b"\x80\x05}\x96" + (1 << 27).to_bytes(8, "little") + b"a.")
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"a\.bin is damaged"):
        read_pickled(tmp_path / "a.bin")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("shape", [(1 << 20, 1 << 10), (1 << 30,)])
def test_a_tensor_larger_than_the_file_is_refused(tmp_path, shape):
    """By strides of 0, one number can stand for any size."""
    write_zip(tmp_path / "a.bin", tensor_pickle(shape, (0,) * len(shape)), [("0", bytes(24))])
    with pytest.raises(ValueError, match=r"a\.bin.*more than the whole file"):
        read_pickled(tmp_path / "a.bin")


@pytest.mark.parametrize("offset", [30, 60])
def test_a_flipped_bit_is_damage(tmp_path, offset):
    write_zip(tmp_path / "a.bin", tensor_pickle((6,), (1,)), [("0", bytes(24))])
    content = bytearray((tmp_path / "a.bin").read_bytes())
    content[content.index(b"archive/data/0") + len("archive/data/0") + offset % 24] ^= 1
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.bin.*data/0 is damaged"):
        read_pickled(tmp_path / "a.bin")


def test_overlapping_members_are_refused(tmp_path):
    """Many names for one place: a file that is many times its size."""
    tensors = b"".join(tensor_pickle((6,), (1,))[3:-2].replace(b"\x01\x00\x00\x00w", b"\x01\x00\x00\x00" + n).replace(
        b"X\x01\x00\x00\x000", b"X\x01\x00\x00\x00" + n) + b"s" for n in (b"0", b"1", b"2"))  # fmt: skip
    with zipfile.ZipFile(tmp_path / "a.bin", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}" + tensors + b".")
        archive.writestr("archive/data/0", bytes(24) * 40)
        first = archive.infolist()[-1]
        for key in "12":
            info = copy.copy(first)
            info.filename = info.orig_filename = f"archive/data/{key}"
            archive.filelist.append(info)
    with pytest.raises(ValueError, match=r"a\.bin.*overlap"):
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


def test_a_tensor_of_a_file_before_torch_1_6(tmp_path):
    magic, numbers = 0x1950A86A20F9469CFC6C, np.arange(6, dtype="float32").tobytes()
    parts = [*(pickle.dumps(part, 2) for part in (magic, 1001, {"little_endian": True})), tensor_pickle((3, 2), (1, 3))]
    parts += [pickle.dumps(["0"], 2), (6).to_bytes(8, "little"), numbers]
    (tmp_path / "a.bin").write_bytes(b"".join(parts))
    assert read_pickled(tmp_path / "a.bin")["w"].tolist() == [[0, 3], [1, 4], [2, 5]]
