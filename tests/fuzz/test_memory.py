"""An absurd file is refused before anything is allocated: in a process that may not have the memory."""

from __future__ import annotations

import json

import pytest
from processes import run
from tf_layout import rewrite
from tiny import classifier

SCRIPT = """
import json, resource, sys, time, warnings
import zoo  # TensorFlow's own memory, and what it maps, comes first
from pathlib import Path
from keras_transformers.checkpoints.word_vectors import read_word_vectors
from keras_transformers.training.resuming.run_state import load_latest
import numpy as np

zoo.load(sys.argv[2])
mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 300_000_000,) * 2)
folder, begin = Path(sys.argv[2]), time.monotonic()
config = json.loads((folder / "config.json").read_bytes())

def refused(act, *arguments):
    try:
        act(*arguments)
    except ValueError as error:
        return str(error)

answers = {}
for name, value in json.loads(sys.argv[3]):
    (folder / "config.json").write_text(json.dumps(config | {name: value}))
    answers[f"{name} {value}"] = refused(zoo.load, folder)
(folder / "config.json").write_text(json.dumps(config))
whole = (folder / "model.safetensors").read_bytes()
(folder / "model.safetensors").write_bytes((10**15).to_bytes(8, "little") + whole[8:])
answers["header"] = refused(zoo.load, folder)
(folder / "vectors").write_bytes(b"1000000000000 1000000000\\na " + bytes(100))
answers["vectors"] = refused(lambda: list(read_word_vectors(folder / "vectors")))
array = np.lib.format.header_data_from_array_1_0(np.zeros(1)) | {"shape": (10**13,)}
with open(folder / "array.npy", "wb") as file:
    np.lib.format.write_array_header_1_0(file, array)
import zipfile
with zipfile.ZipFile(folder / "epoch-1.npz", "w") as archive:
    archive.write(folder / "array.npy", "state.npy")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    answers["state"] = refused(load_latest, folder)
answers["seconds"] = time.monotonic() - begin
print(json.dumps(answers))
"""
OF_HDF5 = """
import json, resource, sys, time
import h5py
import zoo
from pathlib import Path

folder, begin, answers = Path(sys.argv[2]), time.monotonic(), {}
zoo.load(folder)
mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 300_000_000,) * 2)
config, whole = json.loads((folder / "config.json").read_bytes()), (folder / "tf_model.h5").read_bytes()

def refused():
    try:
        zoo.load(folder)
    except ValueError as error:
        return str(error)

for name, value in json.loads(sys.argv[3]):
    (folder / "config.json").write_text(json.dumps(config | {name: value}))
    answers[f"{name} {value}"] = refused()
for options in ({}, {"chunks": (10**5, 16)}, {"chunks": (10**5, 16), "compression": "gzip"}):
    (folder / "tf_model.h5").unlink()
    (folder / "tf_model.h5").write_bytes(whole)
    with h5py.File(folder / "tf_model.h5", "a") as file:
        name = "bert/tf_bert_for_sequence_classification/bert/embeddings/word_embeddings/weight:0"
        del file[name]
        made = file.create_dataset(name, (10**9, 16), "float32", **options)
        if options:
            made[:10] = 1
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 10**9}))
    answers[f"data set {options}"] = refused()
answers["seconds"] = time.monotonic() - begin
print(json.dumps(answers))
"""
ABSURD = [
    ("vocab_size", 10**12), ("vocab_size", 2 * 10**9), ("intermediate_size", 10**9), ("num_hidden_layers", 10**9),
    ("max_position_embeddings", 10**9), ("hidden_size", 2**30), ("type_vocab_size", 10**9),
]  # fmt: skip


@pytest.mark.slow
def test_absurd_files_take_no_memory(tmp_path):
    classifier().save(tmp_path / "saved")
    answers = json.loads(run(SCRIPT, str(tmp_path / "saved"), json.dumps(ABSURD)).splitlines()[-1])
    assert answers.pop("seconds") < 10
    assert len(answers) == len(ABSURD) + 3 and all(answers.values()), answers
    for name, said in answers.items():
        expected = {"header": "damaged", "vectors": "1000000000 wide", "state": "damaged files only"}
        assert expected.get(name, r"") in said and "emory" not in said, (name, said)


@pytest.mark.slow
def test_absurd_hdf5_files_take_no_memory(tmp_path):
    classifier().save(tmp_path / "saved")
    rewrite(tmp_path / "saved", "h5")
    answers = json.loads(run(OF_HDF5, str(tmp_path / "saved"), json.dumps(ABSURD)).splitlines()[-1])
    assert answers.pop("seconds") < 30
    assert len(answers) == len(ABSURD) + 3 and all(answers.values()), answers
    for name, said in answers.items():
        assert ("in one piece" if name.startswith("data set") else "") in said and "emory" not in said, (name, said)
