"""From a name or a folder to a task: what comes back, each option, and each refusal."""

from __future__ import annotations

import importlib
import json
import shutil
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
from presets import bert_preset
from tiny import EAGER

import zoo
from keras_transformers.checkpoints.files.atomic_folder import check_target

TEXTS, LABELS = ["a fine film", "a dull book", "the long day"], ["good", "bad", "bad"]
PREDICTED = {
    "classification": "a fine film",
    "masked_lm": "a [MASK] film",
    "pretraining": "a [MASK] film",
    "causal_lm": "a fine",
}


def weights(task, but: str = "") -> dict[str, np.ndarray]:
    """Weights by path, but for those of one layer."""
    model = task.model
    return {w.path: keras.ops.convert_to_numpy(w) for w in model.weights if not but or not w.path.startswith(but)}


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


@pytest.mark.integration
@pytest.mark.parametrize("name", PREDICTED)
def test_a_saved_task_comes_back(folders, tmp_path, name):
    first = zoo.load(folders[name])
    first.save(tmp_path / "again")
    second = zoo.load(tmp_path / "again")
    assert first.name == second.name == name
    assert first.config == second.config
    assert same(weights(zoo.load(folders[name])), weights(first))
    assert same(weights(first), weights(second))
    assert first.predict([PREDICTED[name]]) == second.predict([PREDICTED[name]])


@pytest.mark.integration
def test_labels_and_problem_travel_with_the_folder(folders, tmp_path):
    task = zoo.load(folders["pretraining"], labels=["a", "b", "c"], problem="multi_label")
    task.save(tmp_path / "saved")
    back = zoo.load(tmp_path / "saved")
    assert (back.name, back.labels, back.problem) == ("classification", ("a", "b", "c"), "multi_label")


def test_labels_may_be_a_number(folders):
    assert zoo.load(folders["masked_lm"], labels=3).labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_the_same_labels_keep_the_classifier_and_others_start_afresh(folders):
    saved = zoo.load(folders["classification"])
    assert same(weights(zoo.load(folders["classification"], labels=["bad", "good"])), weights(saved))
    with pytest.warns(UserWarning, match="is for the labels"):
        other = zoo.load(folders["classification"], labels=["cold", "warm"])
    assert same(weights(other, but="classifier"), weights(saved, but="classifier"))
    kernel = "classifier/kernel"
    assert not np.array_equal(weights(other)[kernel], weights(saved)[kernel])


def test_a_new_head_starts_afresh_on_the_encoder_of_the_checkpoint(folders):
    source, task = weights(zoo.load(folders["masked_lm"])), weights(zoo.load(folders["masked_lm"], labels=2))
    shared = source.keys() & task.keys()
    assert any(path.startswith("encoder_block_0") for path in shared)
    assert all(np.array_equal(source[path], task[path]) for path in shared)
    assert {path.split("/")[0] for path in task.keys() - shared} == {"pooler", "classifier"}


@pytest.mark.integration
def test_a_classifier_of_a_language_model(folders, tmp_path):
    source, task = weights(zoo.load(folders["causal_lm"])), zoo.load(folders["causal_lm"], labels=["bad", "good"])
    assert same({path: array for path, array in weights(task).items() if path in source}, source)
    assert weights(task).keys() - source.keys() == {"classifier/kernel"}
    task.save(tmp_path / "saved")
    back = zoo.load(tmp_path / "saved")
    assert (back.name, back.labels) == ("classification", ("bad", "good"))
    assert back.predict(TEXTS) == task.predict(TEXTS)


def test_a_task_that_the_family_does_not_have(folders):
    with pytest.raises(ValueError, match="masked_lm"):
        zoo.load(folders["causal_lm"], task="masked_lm")
    with pytest.raises(ValueError, match="causal_lm"):
        zoo.load(folders["masked_lm"], task="causal_lm")


@pytest.mark.integration
def test_blocks_are_rematerialised_on_request():
    for remat in (False, True):
        task = zoo.load("mini_bert_en", "masked_lm", weights=False, remat=remat)
        assert task.model.get_layer("encoder_block_3").remat == remat


def test_without_weights_only_the_sizes_are_taken(folders):
    task = zoo.load(folders["classification"], weights=False)
    assert not same(weights(task), weights(zoo.load(folders["classification"])))


@pytest.mark.integration
def test_the_seed_fixes_new_weights_and_dropout(folders):
    def losses(seed: int) -> list[float]:
        task = zoo.load(folders["pretraining"], labels=["bad", "good"], seed=seed)
        fit = {"epochs": 2, "batch_size": 2, "learning_rate": 1e-2, "verbose": 0}
        return task.fit(TEXTS, LABELS, **fit, **EAGER).history["loss"]

    assert losses(1) == losses(1) != losses(2)


@pytest.mark.integration
def test_dropout_is_a_rate_for_all(folders):
    batch = zoo.load(folders["classification"]).dataset(TEXTS, shuffle=False)
    inputs = next(iter(batch))[0]

    def spread(dropout) -> float:
        model = zoo.load(folders["classification"], dropout=dropout).model
        training, inference = (np.asarray(model(inputs, training=flag)["logits"]) for flag in (True, False))
        return np.abs(training - inference).max()

    assert spread(0.0) == 0.0
    assert spread(None) > 0.0


def test_attention_has_a_rate_of_its_own(folders):
    config = zoo.load(folders["classification"], dropout=0.3, attention_dropout=0.0, weights=False).config
    assert (config.dropout, config.attention_dropout) == (0.3, 0.0)


@pytest.mark.integration
def test_max_length_cuts_and_says_so(folders):
    task = zoo.load(folders["classification"], max_length=5)
    assert [answer["truncated"] for answer in task.predict(["a fine film", "a fine long film"])] == [False, True]
    assert task.config.max_length == 24


def test_dtype_is_that_of_computation(folders):
    task = zoo.load(folders["classification"], dtype="mixed_bfloat16")
    layer = task.model.get_layer("encoder_block_0")
    assert (layer.compute_dtype, layer.variable_dtype) == ("bfloat16", "float32")


@pytest.mark.parametrize("name", PREDICTED)
def test_optional_outputs_are_named(folders, name):
    task = zoo.load(folders[name], outputs=["attention_scores", "all_hidden_states", "hidden_states"])
    shapes = {key: task.model.output[key].shape for key in task.outputs}
    assert shapes == {
        "attention_scores": (None, 1, 2, None, None),
        "all_hidden_states": (None, 2, None, 16),
        "hidden_states": (None, None, 16),
    }


@pytest.mark.integration
def test_a_strategy_is_what_the_model_is_made_in(folders):
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    task = zoo.load(folders["classification"], strategy=strategy)
    assert task.model.distribute_strategy is strategy
    history = task.fit(TEXTS, LABELS, epochs=1, verbose=0).history
    assert np.isfinite(history["loss"]).all()


@pytest.mark.parity
def test_a_preset_of_keras_nlp(tmp_path):
    classifier = bert_preset(tmp_path)
    task = zoo.load(f"keras-nlp:{tmp_path}")
    assert (task.name, task.labels) == ("classification", ("LABEL_0", "LABEL_1", "LABEL_2"))
    texts = ["the cats danced", "the cat"]
    expected = keras.ops.convert_to_numpy(keras.ops.softmax(classifier(classifier.preprocessor(texts))))
    answers = [list(answer["probabilities"].values()) for answer in task.predict(texts)]
    np.testing.assert_allclose(answers, expected, atol=1e-5)
    with pytest.warns(UserWarning, match="is for the labels"):
        other = zoo.load(f"keras-nlp:{tmp_path}", labels=["no", "yes"])
    assert same(weights(other, but="classifier"), weights(task, but="classifier"))


REFUSED = {
    "wrong name": ("bert_bas_en_uncased", {}, "no model 'bert_bas_en_uncased'.*'bert_base_en_uncased'"),
    "no folder": ("no/such/folder", {}, "there is no folder 'no/such/folder'"),
    "unknown task": ("masked_lm", {"task": "chat"}, "task must be one of .*classification.* received 'chat'"),
    "labels missing": ("masked_lm", {"task": "classification"}, "classification needs labels"),
    "no labels": ("masked_lm", {"labels": []}, "at least one"),
    "labels elsewhere": (
        "masked_lm",
        {"task": "masked_lm", "labels": ["a", "b"]},
        "labels belongs to task=.classification",
    ),
    "problem elsewhere": ("masked_lm", {"problem": "regression"}, "problem belongs to task=.classification"),
    "unknown problem": ("classification", {"problem": "ranking"}, "problem must be one of .*'ranking'"),
    "unknown output": ("classification", {"outputs": ["pooled"]}, r"unknown outputs \['pooled'\]"),
    "too long": ("classification", {"max_length": 25}, r"max_length must be in \[4, 24\].*25"),
    "labels for a translator": ("seq2seq_lm", {"labels": ["a", "b"]}, "classification needs.*encoder_decoder"),
    "another task for a translator": ("seq2seq_lm", {"task": "causal_lm"}, "causal_lm needs.*encoder_decoder"),
    "impossible dropout": ("classification", {"dropout": 1.5}, "dropout.*1.5"),
    "impossible rate of attention": ("classification", {"attention_dropout": 1.0}, "attention_dropout must be.*1.0"),
    "negative rate of attention": ("classification", {"attention_dropout": -0.1}, "attention_dropout must be.*-0.1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_loaded_is_refused(folders, case):
    name, options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        zoo.load(folders.get(name, name), **options)


@pytest.fixture
def damaged(folders, tmp_path) -> Path:
    """A copy of a folder, to be damaged."""
    return Path(shutil.copytree(folders["pretraining"], tmp_path / "copy"))


def test_a_cut_file_is_refused(damaged):
    path = damaged / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        zoo.load(damaged)


def test_a_folder_without_configuration_is_refused(damaged):
    (damaged / "config.json").unlink()
    with pytest.raises(ValueError, match=r"weights without the configuration.* Put the model's config\.json"):
        zoo.load(damaged)


def test_a_folder_whose_replacement_was_killed_is_named(damaged):
    former = damaged.rename(damaged.with_name(f".copy.{'0' * 32}.old"))
    with pytest.raises(ValueError, match=rf"a save was interrupted\. Rename {former}, the old one"):
        zoo.load(damaged)


def test_what_is_saved_can_be_replaced(folders):
    for folder in folders.values():
        check_target(folder)


def test_a_bare_model_needs_a_task(damaged):
    path = damaged / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": ["BertModel"]}))
    with pytest.raises(ValueError, match="is a bare model: give task="):
        zoo.load(damaged)
    assert zoo.load(damaged, labels=2).name == "classification"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": None}))  # as Google's small BERTs
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert zoo.load(damaged, labels=["no", "yes"]).name == "classification"


@pytest.mark.integration
def test_without_network_the_error_says_what_is_wanted(monkeypatch, tmp_path):
    importlib.import_module("huggingface_hub.constants")  # reads the variable once, also for the tests behind this
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=r"wanted config\.json .*bert_uncased_L-2_H-128_A-2.*HF_HUB_OFFLINE is set"):
        zoo.load("bert_tiny_en_uncased", cache_dir=tmp_path)


@pytest.mark.parity
def test_the_old_format_on_request(folders, tmp_path):
    torch = pytest.importorskip("torch")
    import safetensors.torch

    folder = shutil.copytree(folders["classification"], tmp_path / "old")
    torch.save(safetensors.torch.load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="pickled=True"):
        zoo.load(folder)
    assert same(weights(zoo.load(folder, pickled=True)), weights(zoo.load(folders["classification"])))
