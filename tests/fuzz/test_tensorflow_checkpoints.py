"""Hostile checkpoints of TensorFlow, and the files beside them. An abort of TensorFlow would end this process."""

from __future__ import annotations

import json

import pytest
from fuzzing import fuzz
from hostile import damaged, json_files, mutated
from hypothesis import strategies as st
from tensorflow.core.protobuf import trackable_object_graph_pb2
from tf_folders import bert_config, bert_variables, garden_variables, google_bert, tf_hub, write_objects
from tf_tables import entry, write_index

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.formats.model_garden import read_params
from keras_transformers.checkpoints.formats.tf_checkpoint import GRAPH, load_checkpoint, read_variables
from keras_transformers.checkpoints.formats.tf_models import read_objects

BERT = bert_variables(layers=1)
SIZES = st.sampled_from([0, 1, 2, 4, 16, 2**20, 2**31, 2**40, 2**62, -1, -(2**40)])


def read_all(folder):
    stored = find_stored(folder)
    for tensor in stored.tensors():
        assert not tensor.is_weight or tensor.read().shape == tensor.shape
    stored.tokenizers()


def fuzz_file(path, folder, examples):
    """Read a folder with damages of one of its files."""
    content = path.read_bytes()

    def read_damaged_checkpoint(content):
        path.write_bytes(content)
        read_all(folder)

    fuzz(read_damaged_checkpoint, damaged(content) | st.just(content), examples=examples)


@pytest.mark.integration
def test_configuration_and_vocabulary(tmp_path):
    google_bert(tmp_path, BERT)
    vocabulary = (tmp_path / "vocab.txt").read_bytes()

    def read_google_folder(contents):
        for name, content in zip(("bert_config.json", "vocab.txt"), contents, strict=True):
            (tmp_path / name).write_bytes(content)
        read_all(tmp_path)

    configs = json_files(bert_config(BERT)) | st.just(json.dumps(bert_config(BERT)).encode())
    fuzz(read_google_folder, st.tuples(configs, st.just(vocabulary) | damaged(vocabulary)), examples=150)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["index", "data-00000-of-00001"])
def test_files_of_a_checkpoint(tmp_path, name):
    fuzz_file(google_bert(tmp_path, BERT) / f"bert_model.ckpt.{name}", tmp_path, examples=150)


@pytest.mark.integration
def test_entries_of_an_index(tmp_path):
    (tmp_path / "model.ckpt.data-00000-of-00001").write_bytes(bytes(64))

    def read_index_of_entries(entries):
        write_index(tmp_path / "model.ckpt.index", {str(number): made for number, made in enumerate(entries)})
        read_variables(tmp_path / "model.ckpt", load_checkpoint(tmp_path / "model.ckpt"))

    dtypes = st.sampled_from([1, 1, 1, 2, 3, 7, 10, 14, 20, 21, 23, 99, 101])
    made = st.builds(
        lambda sizes, dtype, size, offset, shard: entry(*sizes, dtype=dtype, size=size, offset=offset, shard_id=shard),
        st.lists(SIZES, max_size=3), dtypes, st.sampled_from([16, 16, 4, 0, 8, -1, 2**40]),
        st.sampled_from([0, 0, 16, 60, -4, 2**50]), st.sampled_from([0, 0, 0, 1, -1]),
    )  # fmt: skip
    plain = st.just(entry(2, 2))
    fuzz(read_index_of_entries, st.lists(plain | made | st.binary(max_size=20), min_size=1, max_size=2), examples=300)


@pytest.mark.integration
def test_the_record_of_objects(tmp_path):
    prefix = tmp_path / "ckpt-1"
    write_objects(prefix, garden_variables(BERT), {"classifier": ["kernel"]})
    reader = load_checkpoint(prefix)
    record = reader.get_tensor(GRAPH)
    path = tmp_path / "ckpt-1.data-00000-of-00001"
    content = path.read_bytes()
    assert record in content

    def read_record(damage):
        path.write_bytes(content.replace(record, damage[: len(record)].ljust(len(record), b"\0")))
        read_objects(prefix, reader)

    trackable_object_graph_pb2.TrackableObjectGraph.FromString(record)
    fuzz(read_record, damaged(record) | st.just(record), examples=150)


@pytest.mark.integration
def test_a_saved_model(tmp_path):
    folder = tf_hub(tmp_path, garden_variables(BERT))
    fuzz_file(folder / "variables/variables.index", folder, examples=100)


@pytest.mark.integration
def test_params(tmp_path):
    said = {"vocab_size": 29, "hidden_size": 8, "num_layers": 2, "hidden_activation": "gelu", "norm_first": False}
    params = {"task": {"class_names": ["a", "b"], "model": {"encoder": {"type": "bert", "bert": said}}}}

    def read_a_run(content):
        (tmp_path / "params.yaml").write_bytes(content)
        read_params(tmp_path / "params.yaml")

    files = mutated(params).map(lambda value: json.dumps(value).encode()) | json_files(params)
    fuzz(
        read_a_run,
        files | st.just(b"a: &a [1]\nb: [*a, *a]\n") | st.just(b"a: !!python/name:os.system\n"),
        examples=200,
    )
