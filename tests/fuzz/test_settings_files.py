"""Hostile config.json, generation_config.json and files of sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from family_cases import CONFIGS
from fuzzing import fuzz
from hostile import damaged, json_files, mutated
from hypothesis import strategies as st

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.peft import merge, read_adapter
from keras_transformers.checkpoints.settings.generation_config import check_settings, read_generation
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.settings.label_names import are_numbers, read_labels
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.settings.sentence_transformers import POOLINGS, read_sentence_transformer
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:")

GENERATION = {
    "num_beams": 4, "max_length": 40, "max_new_tokens": 10, "min_length": 1, "length_penalty": 1.0, "do_sample": True,
    "early_stopping": True, "temperature": 0.5, "top_k": 5, "top_p": 0.9, "bad_words_ids": [[3], [4]], "seed": 1,
    "forced_bos_token_id": 2, "eos_token_id": [1, 2], "decoder_start_token_id": 0, "renormalize_logits": False,
}  # fmt: skip


def write(folder, **files: bytes):
    for name, content in files.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


@pytest.mark.integration
def test_config(tmp_path):
    def read_a_config(contents):
        (_, content), generation = contents
        write(tmp_path, config=content, generation_config=generation)
        config, _ = read_config(tmp_path)
        json.dumps(config.to_dict())
        assert config == type(config).from_dict(config.to_dict())

    configs = st.sampled_from(sorted(CONFIGS)).flatmap(
        lambda family: st.tuples(st.just(family), json_files(CONFIGS[family]))
    )
    plain = json.dumps({"eos_token_id": 1}).encode()
    fuzz(read_a_config, st.tuples(configs, st.just(plain) | json_files(GENERATION)), examples=600)


@pytest.mark.integration
@pytest.mark.parametrize("has_source", [False, True])
def test_generation_settings(tmp_path, has_source):
    def read_generation_settings(content):
        write(tmp_path, generation_config=content)
        check_settings(read_generation(tmp_path, has_source), vocabulary_size=90)

    fuzz(read_generation_settings, json_files(GENERATION), examples=200)


@pytest.fixture(scope="module")
def sentence_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentences")
    Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40).save(folder)
    dense = [{"units": 8, "activation": "tanh"}]
    write_sentence_transformer(folder, 16, 24, dense=dense, prompts={"query": "q: "}, default_prompt="query")
    return folder


@pytest.mark.integration
def test_sentence_transformers(sentence_folder):
    names = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json")
    paths = [sentence_folder / name for name in (*names, "2_Dense/config.json")]
    whole = {path: path.read_bytes() for path in paths}

    def read_sentence_folder(fault):
        index, content = fault
        for path in paths:
            path.write_bytes(whole[path])
        paths[index].write_bytes(content)
        read = read_sentence_transformer(sentence_folder)
        ways = [read["pooling"]] if isinstance(read["pooling"], str) else read["pooling"]
        assert {*ways} <= {*POOLINGS} and (read["max_length"] or 1) >= 1
        assert all(isinstance(text, str) for text in read["prompts"].values())
        assert read["default_prompt"] in (None, *read["prompts"]) and all(one["units"] > 0 for one in read["dense"])

    def faults(index):
        return st.tuples(st.just(index), json_files(json.loads(whole[paths[index]])) | damaged(whole[paths[index]]))

    fuzz(read_sentence_folder, st.sampled_from(range(len(paths))).flatmap(faults), examples=200)


@pytest.mark.integration
def test_labels():
    said = {"id2label": {"0": "no", "1": "yes"}, "label2id": {"no": 0, "yes": 1}, "num_labels": 2}

    def read_the_labels(values):
        names, fault = read_labels(values, Path("config.json"))
        assert len({*names}) == len(names) and isinstance(fault, str)
        are_numbers(names)

    fuzz(read_the_labels, mutated(said).filter(lambda values: isinstance(values, dict)), examples=300)


@pytest.fixture(scope="module")
def adapter_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapter")
    layer = "base_model.model.bert.pooler.dense.lora"
    tensors = {f"{layer}_A.weight": np.ones((2, 8), "float32"), f"{layer}_B.weight": np.ones((8, 2), "float32")}
    safetensors.numpy.save_file(tensors, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.integration
def test_adapters(adapter_folder):
    config = {
        "peft_type": "LORA", "base_model_name_or_path": "base", "r": 2, "lora_alpha": 4, "bias": "none",
        "use_rslora": True, "init_lora_weights": True, "rank_pattern": {}, "task_type": "SEQ_CLS", "revision": None,
    }  # fmt: skip
    weights = adapter_folder / "adapter_model.safetensors"
    whole = weights.read_bytes()
    base = Tensor("pooler.dense.weight", (8, 8), "float32", lambda: np.ones((8, 8), "float32"))

    def merge_an_adapter(contents):
        (adapter_folder / "adapter_config.json").write_bytes(contents[0])
        weights.write_bytes(contents[1])
        for tensor in merge([base], read_adapter(adapter_folder), FAMILIES["bert"]):
            tensor.read()

    files = st.tuples(json_files(config), st.just(whole) | damaged(whole))
    fuzz(merge_an_adapter, files, examples=200)
