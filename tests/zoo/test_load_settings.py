"""What a folder says beside its weights: its longest text, how it generates, its labels and their order."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config
from keras_transformers.checkpoints.settings.names import names_of
from keras_transformers.families.dropout_rates import ONE_RATE, with_dropout
from zoo.loading.find import find

TEXTS = ["a fine film", "the dull long book of the day"]


@pytest.fixture
def copy(folders, tmp_path):
    """Copies the folder of a task, to be changed."""
    return lambda name: Path(shutil.copytree(folders[name], tmp_path / name))


def edit(path: Path, **values) -> None:
    old = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(old | values))


@pytest.mark.integration(quick=["seq2seq_lm"])
@pytest.mark.parametrize("name", ["classification", "seq2seq_lm"])
def test_the_longest_text_travels_with_the_folder(folders, tmp_path, name):
    zoo.load(folders[name], max_length=6).save(tmp_path / "six")
    assert json.loads((tmp_path / "six" / "tokenizer_config.json").read_text())["model_max_length"] == 6
    back = zoo.load(tmp_path / "six")
    assert (back.max_length, back.config.max_length) == (6, 24)
    if name == "classification":
        assert [row["truncated"] for row in back.predict(TEXTS)] == [False, True]
        assert zoo.load(tmp_path / "six", max_length=24).max_length == 24


@pytest.mark.parametrize(
    ("said", "length"),
    [(None, 24), (24, 24), (512, 24), (10, 10), (10.0, 10), (1e30, 24), (int(1e30), 24)],
)
def test_the_length_that_a_tokenizer_says(copy, said, length):
    folder = copy("classification")
    edit(folder / "tokenizer_config.json", model_max_length=said)
    assert find(folder).options(["max_length"]) == {"max_length": length}
    (folder / "tokenizer_config.json").unlink()
    assert find(folder).options(["max_length"]) == {"max_length": 24}


def test_a_length_that_is_none(copy):
    folder = copy("classification")
    for said in ("512", 0, 0.5, -1, [512], True, float("nan")):
        edit(folder / "tokenizer_config.json", model_max_length=said)
        with pytest.raises(ValueError, match=r"tokenizer_config\.json says model_max_length.*give max_length"):
            zoo.load(folder)
    assert zoo.load(folder, max_length=8).max_length == 8


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_file_of_the_tokenizer_is_named(copy, content):
    folder = copy("classification")
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json.*[Ff]etch or write it again"):
        zoo.load(folder)


SETTINGS = {"max_new_tokens": 3, "num_beams": 2, "repetition_penalty": 1.3, "forced_eos_id": 0, "suppressed_ids": (5,)}
SAMPLES = {"max_new_tokens": 9, "temperature": 0.8, "top_k": 7, "top_p": 0.9, "seed": 3, "no_repeat_ngram": 2}


@pytest.mark.integration(quick=["beams"])
@pytest.mark.parametrize("settings", [SETTINGS, SAMPLES], ids=["beams", "samples"])
def test_the_generation_of_a_language_model_travels_with_the_folder(folders, tmp_path, settings):
    task = zoo.load(folders["causal_lm"])
    task.generation = settings
    task.save(tmp_path / "saved")
    back = zoo.load(tmp_path / "saved")
    assert back.generation == settings
    assert str(request(back)) == str(request(task))
    assert (back.service.program.prescribed.last, back.service.program.prescribed.never) == (
        settings.get("forced_eos_id"),
        settings.get("suppressed_ids", ()),
    )


def request(task) -> dict:
    """What is asked of the model where a caller asks for nothing."""
    answers = task.parts.answers
    return answers.request(1, num_beams=answers.num_beams)


def test_lengths_that_count_the_prompt_are_passed_over(copy):
    folder = copy("causal_lm")
    edit(folder / "generation_config.json", max_length=20, min_length=4, repetition_penalty=1.3)
    with pytest.warns(UserWarning, match="min_length=4 is not followed: it counts the prompt too"):
        task = zoo.load(folder)
    assert task.generation == {"repetition_penalty": 1.3}


def test_more_new_tokens_than_the_model_takes_leave_room_for_the_prompt(copy):
    folder = copy("causal_lm")
    edit(folder / "generation_config.json", max_new_tokens=2048)
    assert request(zoo.load(folder)).max_new_tokens.tolist() == [12]


def test_a_generation_that_is_not_supported_stops_only_those_that_generate(copy):
    folder = copy("causal_lm")
    edit(folder / "generation_config.json", early_stopping="never")
    with pytest.raises(ValueError, match="early_stopping"):
        zoo.load(folder)
    assert zoo.load(folder, labels=2).name == "classification"


def trained(folder: str, tmp_path: Path, labels: list[str], problem: str) -> Path:
    """A classifier whose outputs all differ, saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = zoo.load(folder, labels=labels, problem=problem)
    layer = task.model.get_layer("classifier")
    for weight in layer.weights:
        weight.assign(np.random.default_rng(0).normal(size=weight.shape))
    task.save(tmp_path / "trained")
    return tmp_path / "trained"


def logits(task) -> dict[str, np.ndarray]:
    """By label, (B,) each."""
    ids = np.array([[5, 6, 7], [8, 9, 10]])
    inputs = {name: ids if name == "token_ids" else np.ones_like(ids) for name in task.model.input}
    values = keras.ops.convert_to_numpy(task.model(inputs)["logits"])
    return dict(zip(task.labels, values.T, strict=True))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "problem"), [("pretraining", "single_label"), ("pretraining", "multi_label"), ("causal_lm", "regression")]
)
def test_labels_in_another_order_keep_the_classifier(folders, tmp_path, recwarn, name, problem):
    folder = trained(folders[name], tmp_path, ["a", "b", "c"], problem)
    expected = logits(zoo.load(folder))
    recwarn.clear()
    other = zoo.load(folder, labels=["c", "a", "b"])
    assert not [warning for warning in recwarn if "classifier" in str(warning.message)]
    other.save(tmp_path / "other")
    for task in (other, zoo.load(tmp_path / "other")):
        assert task.labels == ("c", "a", "b") and task.problem == problem
        assert all(np.allclose(values, expected[label], atol=1e-6) for label, values in logits(task).items())
    assert not np.allclose(expected["a"], expected["b"])


@pytest.mark.integration(quick=["labels0"])
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "d"], 3])
def test_other_labels_start_afresh_with_a_word(folders, tmp_path, labels):
    folder = trained(folders["pretraining"], tmp_path, ["a", "b", "c"], "single_label")
    old = zoo.load(folder).model.get_layer("classifier").kernel
    with pytest.warns(
        UserWarning, match=r"for the labels \['a', 'b', 'c'\].*starts afresh.*leave labels out"
    ) as caught:
        task = zoo.load(folder, labels=labels)
    assert [warning.filename for warning in caught if "afresh" in str(warning.message)] == [__file__]
    new = task.model.get_layer("classifier").kernel
    assert new.shape != old.shape or not np.isin(keras.ops.convert_to_numpy(new), keras.ops.convert_to_numpy(old)).any()


@pytest.mark.integration
def test_another_problem_keeps_the_classifier_with_a_word(folders, tmp_path):
    folder = trained(folders["pretraining"], tmp_path, ["a", "b"], "single_label")
    with pytest.warns(UserWarning, match="trained for problem='single_label': it is kept for 'multi_label'"):
        task = zoo.load(folder, problem="multi_label")
    kernels = [made.model.get_layer("classifier").kernel for made in (task, zoo.load(folder))]
    assert np.array_equal(*kernels)


def test_a_classifier_without_its_weights_is_damaged(copy):
    import safetensors.numpy

    folder = copy("classification")
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    del tensors["classifier.weight"]
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"missing:\n  classifier\.weight"):
        zoo.load(folder)


def loaded(folder: Path, **options):
    """A task, and what was said about its classifier."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = zoo.load(folder, **options)
    return task, [warning for warning in caught if "classifier" in str(warning.message)]


NAMELESS = {
    "none": {"id2label": None, "label2id": None},
    "their number": {"id2label": None, "label2id": None, "num_labels": 2},
    "default": {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": None},
    "numbers": {"id2label": {"0": 0, "1": 1}, "label2id": {"0": 0, "1": 1}},
    "stars": {"id2label": {"0": "1", "1": "2"}, "label2id": None},
    "twice the same": {"id2label": {"0": "x", "1": "x"}, "label2id": None},
    "from one": {"id2label": {"1": "bad", "2": "good"}, "label2id": None},
}


@pytest.fixture(scope="module")
def nameless(folders, tmp_path_factory):
    """A trained classifier, and its logits by output."""
    folder = trained(folders["pretraining"], tmp_path_factory.mktemp("nameless"), ["a", "b"], "single_label")
    return folder, [*logits(zoo.load(folder)).values()]


@pytest.mark.integration(quick=["none"])
@pytest.mark.parametrize("case", NAMELESS)
def test_new_names_for_labels_without_names_keep_the_classifier(nameless, case):
    folder, expected = nameless
    edit(folder / "config.json", **NAMELESS[case])
    task, (said,) = loaded(folder, labels=["up", "down"])
    assert "has no names for its labels" in str(said.message) and said.filename == __file__
    assert np.allclose([*logits(task).values()], expected, atol=1e-6) and task.labels == ("up", "down")


@pytest.mark.parametrize("case", ["twice the same", "from one"])
def test_names_that_cannot_be_used_stop_only_those_that_need_them(nameless, case):
    folder, _ = nameless
    edit(folder / "config.json", **NAMELESS[case])
    with pytest.raises(ValueError, match=r"config\.json: id2label must give each number .*or give labels="):
        zoo.load(folder)
    assert zoo.load(folder, task="masked_lm").name == "masked_lm"


CLASSES = [({"architectures": ["MyBertModel"]}), ({"architectures": None})]


@pytest.mark.integration
@pytest.mark.parametrize("changes", CLASSES)
def test_the_task_that_is_asked_for_where_the_class_is_unknown(nameless, changes):
    folder, expected = nameless
    edit(folder / "config.json", **changes, id2label=None, label2id=None, zoo_task=None)
    name = (changes["architectures"] or ["no class"])[0]
    with pytest.raises(ValueError, match=f"names {name}, not known here: give task="):
        zoo.load(folder)
    task, (said,) = loaded(folder, task="classification", labels=["up", "down"])
    assert "is taken as it is" in str(said.message) and said.filename == __file__
    assert np.allclose([*logits(task).values()], expected, atol=1e-6)
    task, (said,) = loaded(folder, labels=["up", "down", "still"])
    assert "starts afresh" in str(said.message) and len(task.labels) == 3
    edit(folder / "config.json", id2label={"0": "up", "1": "down"})
    task, _ = loaded(folder, task="classification", labels=["down", "up"])
    assert np.allclose([*logits(task).values()], expected[::-1], atol=1e-6)
    task, (said,) = loaded(folder, task="ranking")  # which has one output
    assert "starts afresh" in str(said.message) and task.name == "ranking"
    edit(folder / "config.json", architectures=["MyBertForTokenClassification"], id2label=None)
    task, said = loaded(folder, task="classification", labels=["up", "down"])  # of which that head is not
    assert not said and not np.allclose([*logits(task).values()], expected, atol=1e-6)
    edit(folder / "config.json", architectures=["BertForSequenceClassification"])


def test_what_is_left_out_of_a_folder_is_said_where_it_is_loaded(copy):
    import safetensors.numpy

    folder = copy("causal_lm")
    edit(folder / "config.json", eos_token_id=[10**6])
    edit(folder / "generation_config.json", eos_token_id=None)
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    safetensors.numpy.save_file(tensors | {"v_head.summary.weight": np.ones(3, "float32")}, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        zoo.load(folder)
    said = [
        warning for warning in caught if "vocabulary of" in str(warning.message) or "v_head" in str(warning.message)
    ]
    assert [warning.filename for warning in said] == [__file__] * 2


@pytest.mark.integration
def test_a_task_that_writes_nothing_keeps_what_the_folder_says_of_generation(tmp_path):
    """A classifier saved over the decoder that it was loaded from; templates and settings of others stay."""
    folder = tmp_path / "model"
    zoo.load("gpt_mini_en").save(folder)
    said = {"max_new_tokens": 7, "watermarking_config": {"bias": 2.0}, "suppress_tokens": [5], "a_new_key": None}
    (folder / "generation_config.json").write_text(json.dumps(said))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    zoo.load(folder, "classification", labels=["a", "b"]).save(folder)
    values = json.loads((folder / "generation_config.json").read_text())
    assert values.items() >= said.items() and values["eos_token_id"] == 0
    assert (folder / "chat_template.jinja").read_text() == "{{ messages }}"


@pytest.mark.parametrize("name", zoo.names())
def test_a_rate_of_attention_can_be_saved_or_is_refused(name):
    """A run must not end with a model that no file has a place for."""
    config = zoo.describe(name).config
    try:
        changed = with_dropout(config, attention_rate=0.25)
    except ValueError as error:
        assert config.family in ONE_RATE and "dropout=0.25" in str(error)
        changed = with_dropout(config, 0.25, attention_rate=0.25)
    assert changed.attention_dropout == 0.25
    make_config(changed, next(iter(names_of(config, name).architectures)))
