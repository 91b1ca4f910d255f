"""Classification by a decoder: the last token answers, and the language model may be trained beside it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tiny
from processes import run
from tiny import EAGER, FIT, LABELS, NUMBERS, TEXTS

import zoo
from keras_transformers.families import gpt2
from keras_transformers.tasks import Task

VOCABULARY = 313  # of `tiny.decoder_classifier`


@pytest.fixture(scope="module")
def task():
    """A classifier after `fit`, with what `fit` returned in `history`."""
    task = tiny.decoder_classifier(lm_weight=0.5)
    task.history = task.fit(TEXTS, LABELS, **FIT).history
    return task


def cross_entropies(logits, labels):
    """For each real target, in numpy."""
    real = labels >= 0
    return -np.log(tiny.softmax(logits)[real][np.arange(real.sum()), labels[real]])


def whole(task):
    """Outputs and labels for all texts in one batch."""
    outputs, labels = tiny.outputs(task, task.dataset(TEXTS, LABELS, batch_size=64, shuffle=False))
    return outputs, {name: np.array(value) for name, value in labels.items()}


@pytest.mark.integration
def test_losses_and_metrics(task):
    outputs, labels = whole(task)
    classes = cross_entropies(outputs["logits"], labels["logits"])
    tokens = cross_entropies(outputs["language_model_logits"], labels["language_model_logits"])
    # All tokens of a text but its first one, the end token among them.
    assert len(tokens) == sum(len(row.ids) - 1 for row in task.tokenizer.encode(TEXTS))
    results = task.evaluate(TEXTS, LABELS, batch_size=7)
    expected = {
        "logits_accuracy": (outputs["logits"].argmax(axis=1) == NUMBERS).mean(),
        "logits_cross_entropy": classes.mean(),
        "language_model_logits_perplexity": np.exp(tokens.mean()),
    }
    assert results == pytest.approx(expected, rel=1e-4)
    dataset = task.dataset(TEXTS, LABELS, batch_size=64, shuffle=False)
    loss = task.model.evaluate(dataset, verbose=0, return_dict=True)["loss"]
    assert loss == pytest.approx(classes.mean() + 0.5 * tokens.mean(), rel=1e-4)


@pytest.mark.integration
def test_both_learn(task):
    assert task.history["logits_accuracy"][-1] == 1.0
    perplexity = task.history["language_model_logits_perplexity"]
    assert perplexity[-1] < 0.1 * perplexity[0]
    plain = tiny.decoder_classifier()
    plain.fit(TEXTS, LABELS, **FIT)
    assert set(plain.model.output) == {"logits"}
    assert plain.evaluate(TEXTS, LABELS)["accuracy"] == 1.0


@pytest.mark.integration
def test_optional_outputs_do_not_change_the_losses(task):
    more = tiny.decoder_classifier(lm_weight=0.5, outputs=["hidden_states"])
    more.model.set_weights(task.model.get_weights())
    assert more.evaluate(TEXTS, LABELS) == pytest.approx(task.evaluate(TEXTS, LABELS), rel=1e-5)


@pytest.mark.integration
def test_accumulation_is_one_large_batch():
    def run(**settings):
        task = tiny.decoder_classifier(lm_weight=0.5)
        task.fit(TEXTS, LABELS, epochs=2, learning_rate=1e-3, verbose=0, **EAGER, **settings)
        return tiny.weights(task)

    for one, accumulated in zip(run(batch_size=24), run(batch_size=8, accumulation_steps=3), strict=True):
        np.testing.assert_allclose(one, accumulated, atol=1e-5)


@pytest.mark.integration
def test_the_last_token_answers_whatever_stands_beside(task):
    together = task.predict(["a fine film", "a dull day " * 4, "a"])
    alone = [task.predict([text])[0] for text in ("a fine film", "a dull day " * 4, "a")]
    for one, other in zip(together, alone, strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
    logits = whole(task)[0]["logits"]
    assert [answer["label"] for answer in task.predict(TEXTS)] == [tiny.NAMES[i] for i in logits.argmax(axis=1)]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:\\d+ of \\d+")
def test_a_cut_text_ends_with_the_end_token(task):
    (inputs,) = next(iter(task.dataset(["a fine film " * 20])))
    assert inputs["token_ids"].shape == (1, 16) and inputs["token_ids"][0, -1] == task.tokenizer.eos_id
    assert task.predict(["a fine film " * 20], ["a dull day " * 20])[0]["truncated"]


def axes(function) -> set[int]:
    """All sizes of axes in a traced function and what it calls, but for those of its variables."""
    graph = function.get_concrete_function().graph
    tensors = [tensor for operation in graph.get_operations() for tensor in operation.outputs]
    return {size for tensor in tensors if tensor.shape.rank == 3 for size in tensor.shape.as_list()}


@pytest.mark.integration
def test_the_language_model_is_not_served(task, tmp_path):
    service = task.service
    assert VOCABULARY not in axes(service.signatures["serving_default"])
    probabilities = task.predict(TEXTS)[0]["probabilities"]["good"]
    task.export(tmp_path / "1")
    answer = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](text=tf.constant(TEXTS))
    assert set(answer) == {"label", "probabilities", "truncated"}
    assert float(answer["probabilities"][0, 1]) == pytest.approx(probabilities, abs=1e-5)
    whole = tf.function(lambda inputs: task.model(inputs), input_signature=[task.dataset(TEXTS).element_spec[0]])
    assert VOCABULARY in axes(whole)


@pytest.mark.integration
def test_save_and_load(task, tmp_path):
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert loaded.labels == task.labels and set(loaded.model.output) == {"logits"}
    assert loaded.tokenizer.to_json() == task.tokenizer.to_json()
    assert loaded.predict(TEXTS[:2])[0]["probabilities"] == pytest.approx(
        task.predict(TEXTS[:2])[0]["probabilities"], abs=1e-5
    )


@pytest.mark.parametrize("weight, has_loss", [(False, False), (True, True)])
def test_a_weight_may_be_a_bool(weight, has_loss):
    task = tiny.decoder_classifier(lm_weight=weight)
    assert ("language_model_logits" in (task.parts.loss_weights or {})) == has_loss


@pytest.mark.parametrize(
    ("config", "weight", "message"),
    [
        (tiny.config(), 0.5, "received 0.5 for a model of kind 'encoder'"),
        (gpt2(120, 1, 2, 8), -1.0, "0 for none: received -1.0"),
    ],
)
def test_errors(config, weight, message):
    with pytest.raises(ValueError, match=message):
        Task("classification", config, tiny.tokenizer(), labels=2, lm_weight=weight)


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
import tiny
from keras_transformers.training.workers.distribute import scope

def run(strategy):
    with scope(strategy):
        task = tiny.decoder_classifier(lm_weight=0.5)
    task.fit(tiny.TEXTS, tiny.LABELS, epochs=2, batch_size=10, learning_rate=1e-3, verbose=0)
    return tiny.weights(task), task.evaluate(tiny.TEXTS, tiny.LABELS)

(one, result), (two, results) = run(None), run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
for name, value in result.items():
    np.testing.assert_allclose(results[name], value, rtol=1e-5)
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_take_the_same_steps_as_one():
    assert run(SCRIPT).endswith("the same\n")
