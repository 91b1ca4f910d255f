"""What a folder says of its task, and tasks that start from the folders of others."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import zoo
from keras_transformers.families import bert, modernbert
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

HEADS = {
    "classification": {"labels": ["x", "y"]},
    "token_classification": {"labels": ["O", "B-x", "I-x"]},
    "ranking": {},
    "multiple_choice": {},
    "question_answering": {},
}


def edit(path: Path, **values) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def encoder_task(name: str, **options) -> Task:
    tokenizer = Tokenizer.train(["a fine film", "where is Ann in Oslo"], vocabulary_size=80)
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=32)
    return Task(name, config, tokenizer, **options)


@pytest.mark.integration
def test_a_ranking_model_comes_back_as_one(tmp_path):
    """Its class of transformers is that of classifiers, too."""
    task = encoder_task("ranking")
    task.save(tmp_path / "ranking")
    loaded = zoo.load(tmp_path / "ranking")
    assert loaded.name == "ranking"
    assert loaded.rank("a film", ["a fine film", "Ann"]) == task.rank("a film", ["a fine film", "Ann"])


@pytest.mark.integration
def test_options_of_questions_travel_with_the_folder(tmp_path):
    options = {"no_answer": True, "null_threshold": 1.5, "max_answer_length": 3, "num_candidates": 2, "stride": 7}
    options["max_windows"] = 9
    encoder_task("question_answering", **options).save(tmp_path / "questions")
    loaded = zoo.load(tmp_path / "questions")
    assert {name: loaded.parts.attributes[name] for name in options} == options
    assert zoo.load(tmp_path / "questions", no_answer=False, num_candidates=1).parts.attributes["num_candidates"] == 1


@pytest.mark.parametrize("said", [{"name": "causal_lm"}, {"name": 3}, {"name": "ranking", "no_such_option": 1}, {}])
def test_what_a_folder_says_of_another_task_is_passed_over(tmp_path, said):
    encoder_task("classification", labels=["score"], problem="regression").save(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", zoo_task=said)
    is_meant = said.get("name") == "ranking"
    with pytest.warns(UserWarning, match=r"zoo_task .*no_such_option") if is_meant else nullcontext():
        assert zoo.load(tmp_path / "model").name == ("ranking" if is_meant else "classification")


def test_damaged_options_of_a_task_are_errors(tmp_path):
    encoder_task("question_answering").save(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", zoo_task={"name": "question_answering", "stride": "far"})
    with pytest.raises(ValueError, match=r"model/config\.json, in zoo_task: .*stride"):
        zoo.load(tmp_path / "model")
    assert zoo.load(tmp_path / "model", stride=5).parts.attributes["stride"] == 5
    edit(tmp_path / "model" / "config.json", zoo_task=["ranking"])
    with pytest.raises(ValueError, match="zoo_task"):
        zoo.load(tmp_path / "model")


@pytest.mark.integration(quick=["classification-classification"])
@pytest.mark.parametrize("task", HEADS)
@pytest.mark.parametrize("saved", HEADS)
def test_every_task_starts_from_every_other(tmp_path, saved, task):
    """Its head starts afresh, and all below the head is kept."""
    first = encoder_task(saved, **HEADS[saved])
    first.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model", task, **HEADS[task])
    name = "encoder_block_0"
    for one, other in zip(first.model.get_layer(name).weights, loaded.model.get_layer(name).weights, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.integration
def test_one_number_for_a_pair_is_kept_between_ranking_and_regression(tmp_path):
    first = encoder_task("ranking")
    first.save(tmp_path / "ranking")
    kept = zoo.load(tmp_path / "ranking", "classification", labels=["score"], problem="regression")
    kept.save(tmp_path / "regression")
    again = zoo.load(tmp_path / "regression", "ranking")
    for task in (kept, again):
        np.testing.assert_array_equal(*(t.model.get_layer("classifier").kernel for t in (first, task)))
    choice = zoo.load(tmp_path / "regression", "multiple_choice", seed=3)
    kernels = [weight for weight in choice.model.weights if weight.path.endswith("classifier/kernel")]
    assert np.abs(kernels[0] - first.model.get_layer("classifier").kernel).max() > 0


def test_a_ranking_model_that_others_made_a_classifier_is_one(tmp_path):
    """They keep what they do not know of config.json."""
    encoder_task("classification", labels=["x", "y", "z"]).save(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", zoo_task={"name": "ranking"})
    loaded = zoo.load(tmp_path / "model")
    assert (loaded.name, loaded.labels) == ("classification", ("x", "y", "z"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"null_threshold": 10**400}, "null_threshold"),
        ({"num_candidates": 10**15}, "num_candidates must be at most"),
        ({"max_answer_length": "long"}, "max_answer_length"),
        ({"labels": ["x"], "max_length": 8, "outputs": 3}, None),
    ],
)
def test_hostile_options_of_a_task(tmp_path, said, message):
    encoder_task("question_answering").save(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", zoo_task={"name": "question_answering", **said})
    if message is None:
        with pytest.warns(UserWarning, match=r"'labels', 'max_length', 'outputs'"):
            assert zoo.load(tmp_path / "model").max_length == 32
        return
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path / "model")


@pytest.mark.integration
@pytest.mark.parametrize(("name", "options"), [("classification", {"labels": ["x", "y"]}), ("multiple_choice", {})])
def test_questions_do_not_begin_with_a_classifier_of_the_same_name(tmp_path, name, options):
    """ModernBERT calls the last layer of each head so. The layers before it are kept, as in `transformers`."""
    tokenizer = Tokenizer.train(["a fine film", "where is Ann in Oslo"], vocabulary_size=80)
    config = modernbert(tokenizer.vocabulary_size, 3, 2, 8, 12, max_length=32)
    made = Task(name, config, tokenizer, **options)
    made.save(tmp_path / "made")
    loaded = zoo.load(tmp_path / "made", task="question_answering").model
    first, last = (np.asarray(loaded.get_layer(layer).weights[0]) for layer in ("pooler", "qa_outputs"))
    np.testing.assert_array_equal(first, np.asarray(made.model.get_layer("pooler").weights[0]))
    of_labels = np.asarray(made.model.get_layer("classifier").weights[0])
    assert last.shape == (8, 2) and not np.allclose(last, of_labels)


@pytest.mark.parametrize(
    ("task", "gone", "layers"),
    [
        ("masked_lm", "cls.", "masked_lm_dense, masked_lm_norm, masked_lm_bias"),
        ("question_answering", "qa_outputs.", "qa_outputs"),
    ],
)
def test_a_head_that_config_json_names_and_the_weights_lack_is_told(tmp_path, task, gone, layers):
    encoder_task(task).save(tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    save_file({name: x for name, x in load_file(weights).items() if not name.startswith(gone)}, weights)
    with pytest.warns(UserWarning, match=f"has no weights of {layers}: they start afresh"):
        zoo.load(tmp_path / "model")
