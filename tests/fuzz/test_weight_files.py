"""Hostile safetensors files, indexes of shards, pickles, word vectors and states of runs."""

from __future__ import annotations

import gzip
import json
import pickle
import warnings

import numpy as np
import pytest
import safetensors.numpy
from fuzzing import fuzz
from hostile import NUMBERS, damaged, json_files, mutated
from hypothesis import strategies as st

from keras_transformers.checkpoints.files.pickled import read_pickled
from keras_transformers.checkpoints.files.tensors import INDEX, read_tensors
from keras_transformers.checkpoints.word_vectors import read_word_vectors
from keras_transformers.training.resuming import run_state

TENSORS = {
    "a.weight": np.arange(12, dtype="float32").reshape(3, 4),
    "a.bias": np.ones(4, "float16"),
    "n": np.arange(3),
}
FILE = safetensors.numpy.save(TENSORS, {"format": "pt"})
SIZE = int.from_bytes(FILE[:8], "little")
HEADER, DATA = json.loads(FILE[8 : 8 + SIZE]), FILE[8 + SIZE :]


@st.composite
def safetensors_files(draw):
    """Faults in the header, in its length, or anywhere."""
    header = draw(json_files(HEADER)) if draw(st.booleans()) else json.dumps(draw(mutated(HEADER))).encode()
    length = draw(st.sampled_from([len(header)] * 6 + [0, max(len(header) - 1, 0), 10**8 + 1, 10**15, 2**64 - 1]))
    content = length.to_bytes(8, "little") + header + DATA
    return draw(damaged(FILE)) if not draw(st.integers(0, 3)) else content


@pytest.mark.integration
def test_safetensors(tmp_path):
    def read_safetensors(content):
        (tmp_path / "model.safetensors").unlink(missing_ok=True)  # which may still be mapped
        (tmp_path / "model.safetensors").write_bytes(content)
        for tensor in read_tensors(tmp_path):
            if tensor.is_weight:
                assert tensor.read().shape == tensor.shape

    fuzz(read_safetensors, safetensors_files(), examples=200)


@pytest.mark.integration
def test_index(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(FILE)
    (tmp_path / "b.safetensors").write_bytes(safetensors.numpy.save({"b": np.ones(2, "float32")}))
    index = {"metadata": {"total_size": 80}, "weight_map": dict.fromkeys(TENSORS, "a.safetensors")}
    index["weight_map"]["b"] = "b.safetensors"

    def read_index(content):
        (tmp_path / INDEX).write_bytes(content)
        assert {tensor.name for tensor in read_tensors(tmp_path)} <= {*TENSORS, "b"}

    fuzz(read_index, json_files(index), examples=200)


@pytest.mark.integration
def test_pickles(tmp_path):
    """Nothing that a pickle calls is called: the file that it would make is not there."""
    evil = tmp_path / "evil"

    class Evil:
        def __reduce__(self):
            return (open, (str(evil), "w"))

    torch_like = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    whole = torch_like + pickle.dumps({}, 2) + pickle.dumps([], 2)
    bad = torch_like + pickle.dumps({"a": Evil()}, 2) + pickle.dumps([], 2)

    def read_a_pickle(content):
        path = tmp_path / "pytorch_model.bin"
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        try:
            read_pickled(path)
        finally:
            assert not evil.exists()

    fuzz(read_a_pickle, st.just(whole) | damaged(whole) | damaged(bad) | st.just(bad), examples=200)


@pytest.mark.integration
def test_word_vectors(tmp_path):
    rows = {"the": [0.5, 1.0], "cat": [2.0, -1.0], "sat": [0.0, 3.0]}
    text = "".join(f"{word} {a} {b}\n" for word, (a, b) in rows.items()).encode()
    binary = b"3 2\n" + b"".join(word.encode() + b" " + np.float32(row).tobytes() for word, row in rows.items())

    @st.composite
    def files(draw):
        whole = draw(st.sampled_from([text, b"3 2\n" + text, binary]))
        count, width = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from([2, *NUMBERS]))
        body = whole.partition(b"\n")[2]
        content = draw(st.sampled_from([whole, f"{count} {width}\n".encode() + body]))
        content = draw(damaged(content)) if draw(st.booleans()) else content
        packed = draw(st.booleans())
        content = gzip.compress(content, mtime=0) if packed else content
        return packed, draw(damaged(content)) if packed and draw(st.booleans()) else content

    def read_vectors(file):
        packed, content = file
        path = tmp_path / ("vectors.gz" if packed else "vectors")
        path.write_bytes(content)
        for _, vector in read_word_vectors(path):
            assert np.isfinite(vector).all()

    fuzz(read_vectors, files(), examples=300)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_states_of_runs(tmp_path):
    state = {"epoch": 1, "batch": 2, "stopped": False, "callbacks": [], "history": {"loss": [1.0]}, "epochs": [0]}
    run_state.save(
        tmp_path, "epoch-00001-batch-00000002.npz", state | {"run": {"layers": "x"}}, TENSORS | {"m/0": np.ones(3)}
    )
    (path,) = tmp_path.glob("*.npz")
    whole = path.read_bytes()

    def read_state(content):
        if isinstance(content, dict):
            with open(path, "wb") as file:
                np.savez(file, state=np.array(json.dumps(content)), **{"m/0": np.ones(3)})
        else:
            path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read, arrays = run_state.load_latest(tmp_path)
        run_state.check_values(tmp_path, read, callbacks=0)
        run_state.group(arrays, "m")

    objects = mutated(state).filter(lambda value: isinstance(value, dict))
    fuzz(read_state, st.just(whole) | damaged(whole) | objects, examples=300)
