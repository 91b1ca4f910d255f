"""Token classification with a conditional random field: learned, measured, answered, exported and saved."""

from __future__ import annotations

from itertools import pairwise

import bare
import entities
import numpy as np
import pytest
import tiny
from arrays import to_numpy
from entities import FIT, LABELS, NAMES, SPANS, TEXTS, WORDS
from processes import run, run_on_jax
from seqeval.metrics import f1_score

import zoo
from keras_transformers.tasks.reports import measure
from keras_transformers.tasks.tokens.label_schemes import bio_labels
from keras_transformers.tasks.tokens.word_answers import describe_tokens

HOSTILE = [*TEXTS[:3], "", " ", "\0", "x" * 5_000, "Ann Ray sat in New York . " * 100, "typed [MASK] in U.S."]


@pytest.fixture(scope="module")
def task():
    task = entities.token_classifier(crf=True)
    task.history = task.fit(WORDS, LABELS, **FIT).history
    return task


@pytest.fixture(scope="module")
def fresh():
    return entities.token_classifier(crf=True)


def found(answer) -> list[tuple[int, int, str]]:
    return [(entity["start"], entity["end"], entity["label"]) for entity in answer["entities"]]


@pytest.mark.integration
def test_fit_learns(task):
    assert task.history["loss"][-1] < 0.1 * task.history["loss"][0] and task.history["f1"][-1] == 1.0
    results = task.evaluate(WORDS, LABELS)
    assert results.keys() == {"accuracy", "cross_entropy", "precision", "recall", "f1"}
    assert results["accuracy"] == results["f1"] == 1.0
    assert [found(answer) for answer in task.predict(TEXTS)] == SPANS
    assert np.abs(to_numpy(task.model.get_layer("crf").steps())[:-1, :-1]).max() > 0.5


@pytest.mark.integration
def test_metrics_are_of_the_paths_that_are_predicted():
    """Before much is learned, with a word that is several: "U.S."; F1 is that of seqeval."""
    task = entities.token_classifier(crf=True)
    task.fit(WORDS, LABELS, **(FIT | {"epochs": 2}))
    results, rows = task.evaluate(WORDS, LABELS, batch_size=5), []
    for words, answer in zip(WORDS, task.predict(WORDS), strict=True):
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
        labels = {token["start"]: token["label"] for token in answer["tokens"]}
        rows.append([labels[start] for start in starts.tolist()])
    pairs = [pair for both in zip(LABELS, rows, strict=True) for pair in zip(*both, strict=True)]
    assert 0.1 < results["accuracy"] < 1.0
    assert results["accuracy"] == pytest.approx(np.mean([one == other for one, other in pairs]), abs=1e-6)
    assert results["f1"] == pytest.approx(f1_score(LABELS, rows), abs=1e-6)
    assert measure(task, WORDS, LABELS)["accuracy"] == pytest.approx(results["accuracy"], abs=1e-6)


@pytest.mark.integration
def test_predictions_keep_to_the_scheme_whatever_the_weights():
    task = entities.token_classifier(bio_labels(["person", "place"], "bioes"), crf=True)
    tiny_weights = [np.random.default_rng(0).normal(size=w.shape) for w in task.model.get_layer("classifier").weights]
    task.model.get_layer("classifier").set_weights([20 * weight for weight in tiny_weights])
    forbidden = {tuple(pair) for pair in task.model.get_layer("crf").forbidden}
    for answer in task.predict(HOSTILE):
        path = [-1, *(task.labels.index(token["label"]) for token in answer["tokens"]), -1]
        if len(path) > 2:
            assert not forbidden & {*pairwise(path)}
        assert all(0.0 <= token["score"] <= 1.0 for token in answer["tokens"])


def check_same(answers, others):
    for one, other in zip(answers, others, strict=True):
        assert one["truncated"] == other["truncated"] and found(one) == found(other)
        for name in ("entities", "tokens"):
            for record, same in zip(one[name], other[name], strict=True):
                assert record == same | {"score": pytest.approx(same["score"], abs=1e-5)}


@pytest.mark.integration
def test_a_bare_process_decodes(task, tmp_path):
    """In a process that has TensorFlow only."""
    task.export(tmp_path / "1")
    (answer,) = bare.ask(tmp_path / "1", {"serving_default": {"text": HOSTILE}}).values()
    columns = {name: np.array(column) for name, column in answer.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = [describe_tokens(row) | {"truncated": bool(row["truncated"])} for row in rows]
    expected = task.predict(HOSTILE)
    check_same(rows, expected)
    check_same([task.predict([text])[0] for text in HOSTILE], expected)


@pytest.mark.integration
def test_a_saved_task_comes_back(task, tmp_path):
    task.save(tmp_path / "saved")
    back = zoo.load(tmp_path / "saved")
    assert back.predict(TEXTS) == task.predict(TEXTS) and list(back.model.output) == ["path_scores"]
    turned = zoo.load(tmp_path / "saved", labels=NAMES[::-1])
    check_same(turned.predict(TEXTS), task.predict(TEXTS))
    loose = zoo.load(tmp_path / "saved", crf="unconstrained")
    assert loose.model.get_layer("crf").forbidden == []
    with pytest.warns(UserWarning, match="starts afresh"):
        other = zoo.load(tmp_path / "saved", labels=bio_labels(["animal"]))
    assert not to_numpy(other.model.get_layer("crf").transitions).any()
    with pytest.warns(UserWarning, match="crf=False leaves out the conditional random field"):
        plain = zoo.load(tmp_path / "saved", crf=False)
    assert list(plain.model.output) == ["logits"]


@pytest.mark.integration
def test_scores_of_steps_are_stored_under_the_names_of_pytorch_crf(task, tmp_path):
    from safetensors.numpy import load_file

    task.save(tmp_path / "saved")
    stored, steps = load_file(tmp_path / "saved" / "model.safetensors"), task.model.get_layer("crf")
    np.testing.assert_allclose(stored["crf.transitions"], 100 * to_numpy(steps.transitions), rtol=1e-6)
    np.testing.assert_allclose(stored["crf.start_transitions"], 100 * to_numpy(steps.start_transitions), rtol=1e-6)
    np.testing.assert_allclose(stored["crf.end_transitions"], 100 * to_numpy(steps.end_transitions), rtol=1e-6)


@pytest.mark.integration
def test_a_folder_without_one_gets_a_fresh_one(tmp_path):
    entities.token_classifier().save(tmp_path / "plain")
    task = zoo.load(tmp_path / "plain", crf=True)
    plain = zoo.load(tmp_path / "plain")
    assert not to_numpy(task.model.get_layer("crf").transitions).any()
    for one, other in zip(plain.model.get_weights(), task.model.get_weights(), strict=False):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_adapters_train_the_steps_too(task, tmp_path):
    task.save(tmp_path / "saved")
    small = zoo.load(tmp_path / "saved", lora_rank=2, seed=0)
    names = {variable.path.split("/")[-1] for variable in small.model.trainable_variables}
    assert {"lora_kernel_a", "lora_kernel_b", "transitions", "start_transitions", "end_transitions"} < names


def weights_after(settings, **options) -> list[np.ndarray]:
    task = entities.token_classifier(crf=True, **options)
    task.fit(WORDS, LABELS, epochs=2, learning_rate=1e-3, verbose=0, **settings, **tiny.EAGER)
    return tiny.weights(task)


@pytest.mark.slow
def test_accumulated_batches_are_one_batch():
    whole = weights_after({"batch_size": 18})
    parts = weights_after({"batch_size": 9, "accumulation_steps": 2})
    others = weights_after({"batch_size": 18}, outputs=["hidden_states"])
    for one, two, three in zip(whole, parts, others, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
        np.testing.assert_allclose(one, three, atol=1e-5)


@pytest.mark.integration
def test_a_text_that_weighs_nothing_is_not_learned():
    weighed = weights_after({"batch_size": 18, "sample_weight": [1.0] * 17 + [0.0]})
    same = weights_after({"batch_size": 18, "sample_weight": [1.0] * 18})
    assert any(np.abs(one - other).max() > 1e-6 for one, other in zip(weighed, same, strict=True))


@pytest.mark.parametrize("value", ["yes", 1, ["x"]])
def test_values_that_are_refused(value):
    with pytest.raises(ValueError, match='crf must be True, False or "unconstrained"'):
        entities.token_classifier(crf=value)


def test_data_that_is_refused(fresh):
    with pytest.raises(ValueError, match="row 1: word 1 is labelled 'I-place' after 'O'"):
        fresh.dataset([["Ann"], ["in", "Oslo"]], [["B-person"], ["O", "I-place"]])
    with pytest.raises(ValueError, match="class_weight is for texts of one class each"):
        fresh.dataset(WORDS, LABELS, class_weight={"O": 0.1})


def test_a_cut_entity_is_not_learned_without_its_end():
    task = entities.token_classifier(bio_labels(["person", "place"], "bioes"), max_length=5, crf=True)
    labels = [["S-person", "O", "B-place", "E-place"]]
    with pytest.warns(UserWarning, match="were cut"):
        rows = task.parts.source([["Ann", "in", "New", "York"]], labels, None, shuffle=False)
    names = [task.labels[number] for number in rows.labels.flat.tolist() if number >= 0]
    assert names == ["S-person", "O"]


def test_each_word_is_once_in_the_chain(fresh):
    """Further words of "U.S." are parts of it, as they are words of `predict`."""
    rows = fresh.parts.source([["Ann", "in", "U.S."]], [["B-person", "O", "B-place"]], None, shuffle=False)
    assert [number for number in rows.labels.flat.tolist() if number != -1] == [1, 0, 3, -6, -6, -6]


JAX = """
import entities
from entities import FIT, LABELS, SPANS, TEXTS, WORDS

task = entities.token_classifier(crf=True)
history = task.fit(WORDS, LABELS, validation_data=(TEXTS, SPANS), **FIT).history
assert history["f1"][-1] == history["val_f1"][-1] == 1.0, history
answers = task.predict([*TEXTS, "", "Ann " * 50], batch_size=5)
found = [[(e["start"], e["end"], e["label"]) for e in answer["entities"]] for answer in answers]
assert found[:18] == SPANS and answers[18] == {"entities": [], "tokens": [], "truncated": False}
print("done")
"""


@pytest.mark.slow
def test_without_tensorflow():
    assert run_on_jax(JAX) == "done\n"


REPLICAS = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
import entities, tiny
from keras_transformers.training.workers.distribute import scope

def run(strategy):
    with scope(strategy):
        task = entities.token_classifier(crf=True)
    task.fit(entities.WORDS, entities.LABELS, epochs=2, batch_size=7, learning_rate=2e-2, verbose=0)
    return tiny.weights(task), task.evaluate(entities.WORDS, entities.LABELS, batch_size=7)

(one, scores), (two, others) = run(None), run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-4)
np.testing.assert_allclose(list(scores.values()), list(others.values()), rtol=1e-4)
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_learn_and_count_as_one():
    assert run(REPLICAS).endswith("the same\n")
