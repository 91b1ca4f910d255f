"""Any checkpoint as a folder of `transformers`: the same weights, bit for bit, and all that is said beside them."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import small_decoders
import small_seq2seq
import tiny
from arrays import randomize
from every_task import make
from tf_layout import WRITERS, rewrite
from translating import characters

import zoo
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import bert
from keras_transformers.heads import pooler
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.tasks import Task
from zoo.loading.conversion import convert
from zoo.loading.find import find

SAFE = "model.safetensors"
TASKS = (
    "classification", "token_classification", "question_answering", "multiple_choice", "ranking", "masked_lm",
    "pretraining", "sentence_embedding", "causal_lm", "seq2seq_lm",
)  # fmt: skip


def values(task):
    return {weight.path: np.array(weight) for weight in task.model.weights}


def same(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def arrays(folder):
    return safetensors.numpy.load_file(Path(folder) / SAFE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of a classifier all of whose weights are random."""
    task, folder = tiny.classifier(), tmp_path_factory.mktemp("classifier")
    random = np.random.default_rng(0)
    for weight in task.model.weights:
        weight.assign(random.normal(size=weight.shape))
    task.save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "old")


@pytest.mark.integration
@pytest.mark.parametrize("name", TASKS)
def test_what_is_converted_is_what_is_loaded(tmp_path, name):
    make(name).save(tmp_path / "old")
    converted = convert(find(tmp_path / "old"), tmp_path / "new")
    old, new = zoo.load(tmp_path / "old"), zoo.load(tmp_path / "new")
    assert (new.name, new.config) == (name, old.config)
    said = ("labels", "problem", "stride", "pooling", "normalize")
    assert [new.parts.attributes.get(key) for key in said] == [old.parts.attributes.get(key) for key in said]
    assert same(values(old), values(new))
    assert new.tokenizer.to_json() == old.tokenizer.to_json()
    assert {path.name for path in (tmp_path / "new").iterdir()} == {path.name for path in (tmp_path / "old").iterdir()}
    assert json.loads((tmp_path / "new/config.json").read_text()) == json.loads(
        (tmp_path / "old/config.json").read_text()
    )
    assert (converted.writer, converted.dtype) == ("transformers (PyTorch)", "float32")
    assert converted.weights == sum(array.size for array in arrays(tmp_path / "new").values())


@pytest.mark.parametrize("layout", WRITERS)
def test_from_each_layout_of_tensorflow(folder, tmp_path, layout):
    expected = arrays(folder)
    converted = convert(find(rewrite(folder, layout)), tmp_path / "new")
    assert converted.writer == "transformers 4 (TensorFlow)"
    assert same(arrays(tmp_path / "new"), expected)


def test_from_a_name_of_the_zoo(tmp_path):
    converted = convert(find("gpt_mini_en"), tmp_path / "new")
    bundled = zoo.describe("gpt_mini_en").folder
    assert converted.dtype == "float16"  # as it is bundled
    assert same(arrays(tmp_path / "new"), arrays(bundled))
    for name in ("tokenizer.json", "merges.txt"):
        assert (tmp_path / "new" / name).read_text() == (bundled / name).read_text(), name


def test_from_an_adapter(folder, tmp_path):
    random, query = np.random.default_rng(0), "bert.encoder.layer.0.attention.self.query"
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    values_ = {"peft_type": "LORA", "base_model_name_or_path": str(folder), "r": 2, "lora_alpha": 4}
    (adapter / "adapter_config.json").write_text(json.dumps(values_))
    shapes = {f"base_model.model.{query}.lora_A.weight": (2, 16), f"base_model.model.{query}.lora_B.weight": (16, 2)}
    parts = {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
    safetensors.numpy.save_file(parts, adapter / "adapter_model.safetensors")
    convert(find(adapter), tmp_path / "new")
    before, after = arrays(folder), arrays(tmp_path / "new")
    assert {name for name in before if not np.array_equal(before[name], after[name])} == {f"{query}.weight"}
    assert same(values(zoo.load(adapter)), values(zoo.load(tmp_path / "new")))


@pytest.mark.parity
def test_from_a_pickle(folder, tmp_path):
    import torch

    expected = arrays(folder)
    torch.save({name: torch.from_numpy(array) for name, array in expected.items()}, folder / "pytorch_model.bin")
    (folder / SAFE).unlink()
    with pytest.raises(ValueError, match="pickled=True"):
        convert(find(folder), tmp_path / "new")
    assert not (tmp_path / "new").exists()
    convert(find(folder, given=UserOptions(pickled=True)), tmp_path / "new")
    assert same(arrays(tmp_path / "new"), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays(folder, tmp_path, dtype):
    zoo.load(folder).save(tmp_path / "half", dtype=dtype)
    assert convert(find(tmp_path / "half"), tmp_path / "new").dtype == dtype
    assert (tmp_path / "half" / SAFE).read_bytes() == (tmp_path / "new" / SAFE).read_bytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_every_dtype_is_that_of_save(folder, tmp_path, dtype):
    safe = arrays(folder)
    safetensors.numpy.save_file({name: array * 0.1 for name, array in safe.items()}, folder / SAFE)
    zoo.load(folder).save(tmp_path / "saved", dtype=dtype)
    assert convert(find(folder), tmp_path / "new", dtype).dtype == dtype
    assert (tmp_path / "saved" / SAFE).read_bytes() == (tmp_path / "new" / SAFE).read_bytes()


def test_what_is_not_finite_in_a_dtype_leaves_nothing(folder, tmp_path):
    safe = arrays(folder)
    safe["classifier.bias"][0] = 1e5
    safetensors.numpy.save_file(safe, folder / SAFE)
    with pytest.raises(ValueError, match=r"the weight classifier\.bias is not finite as float16"):
        convert(find(folder), tmp_path / "new", "float16")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("has_pooler", [False, True])
@pytest.mark.parametrize("layout", [None, "h5", "safetensors_sharded"])
def test_a_bare_model_keeps_what_it_has(tmp_path, has_pooler, layout):
    import keras

    config = bert(tiny.tokenizer().vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    body = encoder(config)
    states = body.output["hidden_states"]
    outputs = {"pooled": pooler(config, states)} if has_pooler else {"hidden_states": states}
    keras.utils.set_random_seed(0)
    model = keras.Model(body.input, outputs)
    save_folder(tmp_path / "old", keras.Model(body.input, {"pooled": pooler(config, states)}), config, tiny.tokenizer(),
                architecture="BertModel")  # fmt: skip
    kept = {name: array for name, array in arrays(tmp_path / "old").items() if has_pooler or "pooler" not in name}
    assert model.weights and any("pooler" in name for name in kept) == has_pooler
    safetensors.numpy.save_file(kept, tmp_path / "old" / SAFE, {"format": "pt"})
    if layout:
        rewrite(tmp_path / "old", layout)
    converted = convert(find(tmp_path / "old"), tmp_path / "new")
    assert (converted.architecture, converted.labels) == ("BertModel", None)
    assert same(arrays(tmp_path / "new"), kept)
    assert json.loads((tmp_path / "new/config.json").read_text())["architectures"] == ["BertModel"]
    assert find(tmp_path / "new").task is None


def bare_models():
    untied = {"tie_embeddings": False}
    yield "LlamaModel", small_decoders.small_config("llama", **untied)
    for architecture, family in {"T5Model": "t5_v1_1", "BartModel": "bart", "MarianModel": "marian"}.items():
        yield architecture, small_seq2seq.small_config(family, encoder_vocabulary_size=None, **untied)
    yield "GPT2Model", small_decoders.small_config("gpt2")


@pytest.mark.parametrize(("architecture", "config"), list(bare_models()), ids=str)
@pytest.mark.integration(quick=["LlamaModel-config0"])
def test_a_bare_model_gets_no_head(tmp_path, architecture, config):
    """Those that are not tied would have one."""
    model = (decoder if config.kind == "decoder" else encoder_decoder)(config)
    save_folder(tmp_path / "old", randomize(model), config, characters(config), architecture=architecture)
    expected = arrays(tmp_path / "old")
    assert convert(find(tmp_path / "old"), tmp_path / "new").architecture == architecture
    assert same(arrays(tmp_path / "new"), expected)
    assert not [name for name in expected if name.startswith("lm_head")]


@pytest.mark.integration
def test_heads_beside_the_task_stay(folder, tmp_path):
    """A classifier in whose file the head of a masked language model stands, too."""
    tiny.masked_lm().save(tmp_path / "masked")
    heads = {name: array for name, array in arrays(tmp_path / "masked").items() if name.startswith("cls.")}
    expected = arrays(folder) | heads
    safetensors.numpy.save_file(expected, folder / SAFE, {"format": "pt"})
    convert(find(folder), tmp_path / "new")
    assert same(arrays(tmp_path / "new"), expected)


def test_stray_tensors_are_told_and_left(folder, tmp_path):
    expected = arrays(folder)
    stray = {"v_head.summary.weight": np.ones((1, 16), "float32")}
    safetensors.numpy.save_file(expected | stray, folder / SAFE, {"format": "pt"})
    with pytest.warns(UserWarning, match=r"beside the model.*v_head\.summary\.weight") as told:
        convert(find(folder), tmp_path / "new")
        zoo.load(folder)
    assert [warning.filename for warning in told] == [__file__, __file__]
    assert same(arrays(tmp_path / "new"), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda safe: safe.pop("bert.pooler.dense.bias"), r"missing:\n  bert\.pooler\.dense\.bias"),
        (lambda safe: safe.update({"classifier.bias": np.ones(3, "float32")}), "of another shape"),
        (lambda safe: safe.update({"bert.encoder.layer.1.x": np.ones(3, "float32")}), "unexpected"),
        (lambda safe: safe.update({"classifier.bias": np.ones(2, "int64")}), "dequantized"),
    ],
)
def test_what_does_not_fit_is_refused(folder, tmp_path, change, message):
    safe = arrays(folder)
    change(safe)
    safetensors.numpy.save_file(safe, folder / SAFE, {"format": "pt"})
    with pytest.raises(ValueError, match=message):
        convert(find(folder), tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.integration
def test_labels_and_problem_stay(tmp_path):
    tiny.classifier(labels=["a", "b", "c"], problem="multi_label").save(tmp_path / "old")
    assert convert(find(tmp_path / "old"), tmp_path / "new").labels == ["a", "b", "c"]
    task = zoo.load(tmp_path / "new")
    assert (task.labels, task.problem) == (("a", "b", "c"), "multi_label")


def test_a_class_that_is_unknown_needs_a_task(folder, tmp_path):
    edit(folder / "config.json", architectures=["BertForMyOwnThing"], zoo_task=None)
    with pytest.raises(ValueError, match="names BertForMyOwnThing, not known here: give task="):
        convert(find(folder), tmp_path / "new")
    converted = convert(find(folder), tmp_path / "new", task="classification")
    assert converted.architecture == "BertForSequenceClassification"
    assert same(arrays(tmp_path / "new"), arrays(folder))


def test_the_pooling_of_sentence_transformers_stays(tmp_path):
    tokenizer = tiny.tokenizer()
    task = Task("sentence_embedding", tiny.config(), tokenizer, pooling="first", normalize=False, max_length=12)
    task.save(tmp_path / "old")
    convert(find(tmp_path / "old"), tmp_path / "new")
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        assert json.loads((tmp_path / "old" / name).read_text()) == json.loads((tmp_path / "new" / name).read_text())
    loaded = zoo.load(tmp_path / "new")
    assert (loaded.parts.attributes["pooling"], loaded.max_length) == ("first", 12)


@pytest.mark.parametrize("name", ["causal_lm", "seq2seq_lm", "classification"])
def test_generation_settings_stay(folders, tmp_path, name):
    old = shutil.copytree(folders[name], tmp_path / "old")
    said = {"num_beams": 3, "max_new_tokens": 7, "length_penalty": 0.5}
    path = old / "generation_config.json"
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | said))
    convert(find(old), tmp_path / "new")
    written = json.loads((tmp_path / "new/generation_config.json").read_text())
    assert {key: written.get(key) for key in said} == said


def test_a_chat_template_stays(folders, tmp_path):
    old = shutil.copytree(folders["causal_lm"], tmp_path / "old")
    (old / "chat_template.jinja").write_text("{{ messages }}")
    convert(find(old), tmp_path / "new")
    assert (tmp_path / "new/chat_template.jinja").read_text() == "{{ messages }}"


@pytest.mark.integration
def test_the_tokenizers_of_both_sides_stay(tmp_path):
    from keras_transformers.families import transformer
    from keras_transformers.text.tokenizer import Tokenizer

    source, target = (
        Tokenizer.train(texts, 60, model="unigram") for texts in (tiny.TEXTS, ["ein Tag", "das Lied"] * 4)
    )
    ids = {"pad_id": target.pad_id, "decoder_start_id": target.pad_id, "eos_ids": [target.eos_id]}
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    sizes["encoder_vocabulary_size"] = source.vocabulary_size
    config = transformer(target.vocabulary_size, **sizes, **ids)
    Task("seq2seq_lm", config, source, target_tokenizer=target).save(tmp_path / "old")
    convert(find(tmp_path / "old"), tmp_path / "new")
    for name in ("tokenizer.json", "target_tokenizer.json"):
        assert json.loads((tmp_path / "old" / name).read_text()) == json.loads((tmp_path / "new" / name).read_text())
    assert same(arrays(tmp_path / "old"), arrays(tmp_path / "new"))


@pytest.mark.parametrize("name", ["transformer_base", "rnn_seq2seq"])
def test_sizes_without_weights_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=rf"no weights for '{name}', only sizes.*train"):
        convert(find(name), tmp_path / "new")
    assert not any(tmp_path.iterdir())


CHILD = """
import os, resource, signal, sys
from pathlib import Path
from zoo.loading.find import find
from zoo.loading.conversion import convert
from keras_transformers.checkpoints.files import safetensors_file

checkpoint = find(Path(sys.argv[1]))
if sys.argv[3] == "kill":
    blocks = safetensors_file._blocks
    def dying(tensor):
        yield from blocks(tensor)
        os.kill(os.getpid(), signal.SIGKILL)
    safetensors_file._blocks = dying
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails then, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    convert(checkpoint, sys.argv[2])
except ValueError as error:
    print("refused", error)
"""


@pytest.mark.integration
@pytest.mark.parametrize("way", ["kill", "full"])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "again"])
def test_an_interrupted_conversion_leaves_nothing_half_written(folder, tmp_path, way, exists):
    new = tmp_path / "models/new"
    if exists:
        shutil.copytree(folder, new)
        safe = {name: array + 1 for name, array in arrays(folder).items()}
        safetensors.numpy.save_file(safe, new / SAFE, {"format": "pt"})
    before = {path.name: path.read_bytes() for path in new.iterdir()} if exists else None
    environment = os.environ | {"PYTHONPATH": str(Path(zoo.__file__).parents[1])}
    command = [sys.executable, "-c", CHILD, folder, new, way]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if way == "kill":
        assert done.returncode == -signal.SIGKILL, done.stderr
    else:
        assert re.match(r"refused .*new cannot be written: there is no space left for it\.", done.stdout), done.stderr
    assert new.exists() == exists
    assert not exists or {path.name: path.read_bytes() for path in new.iterdir()} == before
    convert(find(folder), new)  # removes what the killed process left
    assert [path.name for path in new.parent.iterdir()] == ["new"]
    assert same(arrays(new), arrays(folder))


def test_a_folder_of_something_else_is_not_replaced(folder, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"new exists and holds no config\.json"):
        convert(find(folder), tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["thesis.txt"]


@pytest.mark.integration
def test_what_is_assumed_is_in_the_record(tmp_path):
    folders = importlib.import_module("tf_folders")
    place = folders.google_bert(tmp_path / "uncased", folders.bert_variables(layers=1))
    converted = convert(find(place), tmp_path / "new")
    assert converted.writer == "google-research/bert"
    assert [clause for clause in converted.assumed if "lower" in clause]
    with pytest.warns(UserWarning, match="uncased, of google-research/bert, lacks some settings: .*lower") as told:
        zoo.load(place, "masked_lm")
    assert told[0].filename == __file__
