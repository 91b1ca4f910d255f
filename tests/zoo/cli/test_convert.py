"""`convert`: what it prints, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from command_line import fail, invoke, run
from tf_folders import bert_variables, google_bert
from tf_layout import rewrite
from tiny import classifier, config, tokenizer

import zoo
from keras_transformers.tasks import Task

SAFE = "model.safetensors"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    classifier().save(folder)
    return folder


@pytest.fixture
def old(saved, tmp_path, monkeypatch):
    """The folder `old` of a classifier, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(saved, tmp_path / "old")


def printed(*arguments):
    """What `convert` prints, by its names."""
    lines = run("convert", *arguments).splitlines()
    rows, name = {}, ""
    for line in lines:
        if line.endswith(" s"):  # of a step
            continue
        if not line.startswith(" "):
            name, _, text = line.partition("  ")
            rows[name] = text.strip()
        else:
            rows[name] += f" {line.strip()}"
    return rows


def refused(*arguments):
    """The message of an error that is found in the checkpoint's own files."""
    done = invoke("convert", *arguments)
    assert done.exit_code == 2 and done.stderr.startswith("error: ")
    return done.stderr


def content(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_what_is_printed(old):
    rewrite(old, "h5")
    weights = zoo.load("old").model.count_params()
    assert printed("old", "new") == {
        "written by": "transformers 4 (TensorFlow)",
        "family": "bert",
        "sizes": "1 block, 2 heads, width 16, 16 tokens",
        "weights": f"{weights:,}, stored as float32",
        "head": "BertForSequenceClassification: bad, good",
        "tokenizer": f"{tokenizer().vocabulary_size:,} tokens, lower-cased",
        "assumed": "nothing",
    }
    assert zoo.load("new").labels == ("bad", "good")


def test_what_is_assumed_is_printed_and_can_be_said(old):
    google_bert(Path("uncased"), bert_variables(layers=1))
    assert "lower" in printed("uncased", "new")["assumed"]
    assert printed("uncased", "cased", "--cased", "--num-heads", 2)["assumed"] == "nothing"
    assert json.loads(Path("cased/tokenizer.json").read_text())["normalizer"]["lowercase"] is False
    code, said = fail("convert", "old", "other", "--cased")
    assert code == 2 and "lowercase=False" in said and "Leave it out" in said


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_dtype(old, dtype):
    assert printed("old", "new", "--dtype", dtype)["weights"].endswith(f"stored as {dtype}")
    with safetensors.safe_open("new/model.safetensors", "numpy") as file:
        codes = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert codes == {"float16": {"F16"}, "bfloat16": {"BF16"}}.get(dtype, {"F8_E4M3", "F16"})


def test_an_unknown_dtype_is_refused_at_once(old):
    assert "'int8'" in fail("convert", "old", "new", "--dtype", "int8")[1]
    assert not Path("new").exists()


def test_nothing_is_replaced_unasked(old):
    run("convert", "old", "new")
    np.save(old / "x.npy", 0)  # nobody minds what lies in the folder that is read
    before = content("new")
    code, said = fail("convert", "old", "new", "--dtype", "float16")
    assert code == 2 and "new is not empty: give a new folder, or --overwrite" in said
    assert content("new") == before
    run("convert", "old", "new", "--dtype", "float16", "--overwrite")
    assert content("new").keys() == before.keys() and content("new") != before


def test_an_empty_folder_is_filled(old):
    Path("new").mkdir()
    run("convert", "old", "new")
    assert Path("new", SAFE).is_file()


@pytest.mark.integration
def test_what_is_no_place_to_write(old):
    Path("file").write_text("mine")
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("mine")
    os.symlink("old", "link")
    before = content("old")
    for options in ((), ("--overwrite",)):
        assert "file is a file" in fail("convert", "old", "file", *options)[1]
        assert "full exists and holds no config.json" in fail("convert", "old", "full", *options)[1]
        for same in ("old", "./old", "link", "../" + Path.cwd().name + "/old"):
            assert "is the folder to read: give another folder" in fail("convert", "old", same, *options)[1]
    assert content("old") == before
    assert sorted(path.name for path in Path().iterdir()) == ["file", "full", "link", "old"]


def test_the_base_of_an_adapter_is_read_too(old):
    adapter, query = Path("adapter"), "base_model.model.bert.encoder.layer.0.attention.self.query"
    adapter.mkdir()
    values = {"peft_type": "LORA", "base_model_name_or_path": str(old), "r": 2, "lora_alpha": 4}
    (adapter / "adapter_config.json").write_text(json.dumps(values))
    parts = {
        f"{query}.lora_{part}.weight": np.ones(shape, "float32") for part, shape in {"A": (2, 16), "B": (16, 2)}.items()
    }
    safetensors.numpy.save_file(parts, adapter / "adapter_model.safetensors")
    before = content(old)
    assert "is the folder to read" in refused("adapter", "old", "--overwrite")
    assert content(old) == before
    assert printed("adapter", "new")["written by"] == "transformers (PyTorch)"


def test_one_folder_in_the_other(old):
    run("convert", "old", "old/new")
    assert Path("old/new", SAFE).read_bytes() == Path("old", SAFE).read_bytes()
    assert "holds 'new' beside its config.json" in fail("convert", "old/new", "old", "--overwrite")[1]
    Path("new").mkdir()
    shutil.move("old/new", "new/old")
    assert "holds no config.json, so it is not replaced" in fail("convert", "new/old", "new", "--overwrite")[1]
    assert Path("new/old", SAFE).is_file()


def test_a_name_that_is_a_folder_too(old):
    shutil.copytree("old", "gpt_mini_en")
    assert "is a model of the zoo and a folder here" in fail("convert", "gpt_mini_en", "new")[1]
    assert "written by" in run("convert", "./gpt_mini_en", "new")


def test_the_task_of_a_class_that_is_unknown(old):
    path = old / "config.json"
    values = json.loads(path.read_text()) | {"architectures": ["MyBert"]}
    del values["zoo_task"]
    path.write_text(json.dumps(values))
    assert "names MyBert, not known here: give --task, one of" in refused("old", "new")
    rows = printed("old", "new", "--task", "classification")
    assert rows["head"] == "BertForSequenceClassification: bad, good"


def test_a_pickle_must_be_asked_for(old):
    (old / "pytorch_model.bin").write_bytes(b"PK")
    (old / SAFE).unlink()
    assert "pickled" in refused("old", "new")
    said = refused("old", "new", "--pickled")
    assert "pytorch_model.bin" in said and "ask for it" not in said
    assert not Path("new").exists()


@pytest.mark.integration
def test_two_stacks_are_told_apart(tmp_path):
    from translating import seq2seq_lm

    seq2seq_lm(num_layers=1, num_decoder_layers=2).save(tmp_path / "old")
    assert printed(tmp_path / "old", tmp_path / "new")["sizes"].startswith("1 + 2 blocks, 4 heads, width 16")


@pytest.mark.integration
def test_a_bare_model_and_regression_have_no_labels(tmp_path):
    Task("masked_lm", config(), tokenizer()).save(tmp_path / "old")
    assert printed(tmp_path / "old", tmp_path / "new")["head"] == "BertForMaskedLM"


@pytest.mark.parametrize(
    ("name", "message"),
    [("gpt_mini", "nearest names are"), ("transformer_base", "only sizes"), ("none/such", "no folder 'none/such'"),
     ("empty", "there is no checkpoint in empty")],
)  # fmt: skip
def test_what_is_nothing_to_read(old, name, message):
    Path("empty").mkdir()
    assert message in fail("convert", name, "new")[1]
    assert not Path("new").exists()


def test_help():
    assert "uncased_L-12_H-768_A-12" in invoke("convert", "--help").stdout
