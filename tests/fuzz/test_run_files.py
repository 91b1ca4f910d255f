"""Hostile files beside a checkpoint of OpenNMT-tf: the YAML of its run, vocabularies and model_description.py."""

from __future__ import annotations

import pytest
from fuzzing import fuzz
from hostile import damaged, json_files
from hypothesis import strategies as st
from opennmt_models import write

from keras_transformers.checkpoints.formats import find_stored

RUN = {
    "data": {
        "source_vocabulary": "/data/en.vocab", "target_vocabulary": "de.vocab",
        "source_sequence_controls": {"end": True},
        "target_tokenization": {"type": "SentencePieceTokenizer", "params": {"model": "de.model"}},
    },
    "params": {"beam_width": 4, "length_penalty": 0.2, "maximum_decoding_length": 100, "decoding_noise": [{}]},
    "model_type": "TransformerTiny",
}  # fmt: skip


@pytest.mark.integration
def test_files_of_a_run(tmp_path):
    write(tmp_path, layers=(1, 1))
    paths = [tmp_path / name for name in ("en.vocab", "de.vocab", "model_description.py")]
    whole = {path: path.read_bytes() for path in paths}

    def read_a_run(files):
        yaml, (index, content) = files
        for path in paths:
            path.write_bytes(whole[path])
        (tmp_path / "config.yml").write_bytes(yaml)
        paths[index].write_bytes(content)
        stored = find_stored(tmp_path)
        for tokenizer in stored.tokenizers():
            tokenizer.encode(["a cat"])

    faults = st.integers(0, len(paths) - 1).flatmap(lambda i: st.tuples(st.just(i), damaged(whole[paths[i]])))
    fuzz(read_a_run, st.tuples(json_files(RUN) | st.just(b""), st.just((0, whole[paths[0]])) | faults), examples=150)
