"""Zero-shot classification: as the pipeline of `transformers`, in an export, on JAX; and what is refused."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import questions
import tensorflow as tf
import tiny
from exports import warm_up_requests
from processes import run_on_jax

import zoo
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers import pair_scores, zero_shot
from keras_transformers.tasks.answers.zero_shot import find_entailment
from keras_transformers.tasks.inputs.labels import Labels

TEXTS = ["a fine film", "a dull day, a grey room", "It rained. " * 20, "a warm song"]
TOPICS = ["film", "day", "a bright room"]
NLI = {
    "three": ("contradiction", "neutral", "entailment"),
    "first": ("Entailment", "Neutral", "Contradiction"),
    "two": ("entailment", "not_entailment"),
    "middle": ("contradiction", "entailment", "neutral"),
}


def nli(labels, **options):
    """A classifier whose random answers are far apart, and whose texts may be longer than hypotheses."""
    keras.utils.set_random_seed(0)
    config = tiny.config(max_length=40)
    task = Task("classification", config, tiny.tokenizer(), labels=labels, **options)
    head = task.model.get_layer("classifier")
    head.kernel.assign(20 * head.kernel)
    head.bias.assign(-tiny.outputs(task, task.dataset(TEXTS[:2], [0, 1], pairs=TEXTS[:2]))[0]["logits"].mean(axis=0))
    return task


@pytest.fixture(scope="module")
def task():
    return nli(NLI["three"], template="A text of {}.")


def test_the_numbers_of_the_labels():
    found = {name: find_entailment(Labels(labels, "single_label")) for name, labels in NLI.items()}
    assert found == {"three": (2, 0), "first": (0, 2), "two": (0, 1), "middle": (1, 0)}
    assert find_entailment(Labels(("no", "not_entailment"), "single_label")) is None
    assert find_entailment(Labels(("entailment", "b"), "regression")) is None


@pytest.mark.parity
@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("name", NLI)
def test_it_is_the_pipeline_of_transformers(name, multi_label, tmp_path):
    import transformers

    task = nli(NLI[name])
    task.save(tmp_path / "model")
    pipeline = transformers.pipeline("zero-shot-classification", str(tmp_path / "model"))
    for labels, template in ((TOPICS, None), (TOPICS[:1], None), (TOPICS, "{}? room")):
        theirs = pipeline(TEXTS, labels, multi_label=multi_label, hypothesis_template=template or "This example is {}.")
        ours = task.zero_shot(TEXTS, labels, template=template, multi_label=multi_label)
        spread = [np.ptp(row["scores"]) for row in theirs]
        assert len(labels) == 1 or max(spread) > 0.01
        for row, their in zip(ours, theirs, strict=True):
            assert row["probabilities"] == pytest.approx(
                dict(zip(their["labels"], their["scores"], strict=True)), abs=1e-4
            )
            assert multi_label or row["label"] == their["labels"][0]


@pytest.mark.integration
def test_an_export_in_a_process_of_its_own_takes_texts_and_labels(task, tmp_path):
    task.export(tmp_path / "1")
    answer = bare.ask(tmp_path / "1", {"zero_shot": {"text": TEXTS, "labels": TOPICS}})["zero_shot"]
    one, several = (task.zero_shot(TEXTS, TOPICS, multi_label=multi) for multi in (False, True))
    assert answer["label"] == [row["label"] for row in one]
    assert answer["truncated"] == [row["truncated"] for row in one] == [False, False, True, False]
    for name, rows in {"probabilities": one, "multi_label_probabilities": several}.items():
        values = [list(row["probabilities"].values()) for row in rows]
        np.testing.assert_allclose(answer[name], values, atol=1e-6)


@pytest.mark.integration
def test_requests_without_texts_or_labels(task):
    signature = task.service.signatures["zero_shot"].get_concrete_function()
    assert signature(text=tf.zeros([0], tf.string), labels=tf.constant(TOPICS))["probabilities"].shape == (0, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels must hold one at least"):
        signature(text=tf.constant(TEXTS), labels=tf.zeros([0], tf.string))
    assert task.zero_shot([], TOPICS) == []


@pytest.mark.integration
def test_the_warm_up_of_a_short_model_is_answered(tmp_path):
    """With 8 tokens, "This example is ." and three special ones leave one for the text."""
    folder = tmp_path / "1"
    Task("classification", tiny.config(max_length=8), tiny.tokenizer(), labels=NLI["three"]).export(folder)
    signatures = tf.saved_model.load(str(folder)).signatures
    requests = [*warm_up_requests(folder)]
    assert [name for name, _ in requests] == ["serving_default", "pair", "zero_shot", "ids"]
    for name, inputs in requests:
        assert signatures[name](**inputs)["logits" if name == "ids" else "probabilities"].shape[0] == 1


@pytest.mark.integration
def test_a_model_too_short_for_its_template(tmp_path):
    task = Task("classification", tiny.config(max_length=7), tiny.tokenizer(), labels=NLI["three"])
    with pytest.warns(UserWarning, match="export has no signature 'zero_shot': the label in its template has 4 tokens"):
        task.export(tmp_path / "1")
    assert [name for name, _ in warm_up_requests(tmp_path / "1")] == ["serving_default", "pair", "ids"]
    with pytest.raises(ValueError, match="max_length=7 leaves 4 for it and the text: received 'This example is film"):
        task.zero_shot(["a"], ["film"])
    assert task.zero_shot(["a"], ["film"], template="{}")[0]["label"] == "film"


@pytest.mark.integration
def test_a_template_is_kept_in_the_folder(task, tmp_path):
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    other = zoo.load(tmp_path / "model", template="This example is {}.")
    (ours,), (theirs,), (others,) = (one.zero_shot(TEXTS[:1], TOPICS) for one in (task, loaded, other))
    assert theirs["probabilities"] == pytest.approx(ours["probabilities"], abs=1e-6)
    assert others != ours and task.zero_shot(TEXTS[:1], TOPICS, template=other.template) == [others]


@pytest.mark.integration
def test_several_labels_may_apply_and_batches_change_nothing(task):
    whole, one = (task.zero_shot(TEXTS, TOPICS, multi_label=True, batch_size=size) for size in (64, 2))
    for row, other in zip(whole, one, strict=True):
        assert row["labels"] == [label for label in TOPICS if row["probabilities"][label] >= 0.5]
        assert row["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)


@pytest.mark.integration
def test_python_reads_as_the_graph_does(monkeypatch):
    """Without a trace, as on backends without TensorFlow: the method and the exported signature."""
    for module in (pair_scores, zero_shot):
        monkeypatch.setattr(module, "on_tensorflow", lambda: False)
    task = nli(NLI["two"])
    answer = questions.Untraced(task).run("zero_shot", [TEXTS, TOPICS])
    inputs = [
        task.tokenizer.encode(TEXTS, [f"This example is {topic}." for _ in TEXTS], max_length=40) for topic in TOPICS
    ]
    logits = np.stack([logits_of(task, encoded) for encoded in inputs], axis=1)  # (B, L, C)
    np.testing.assert_allclose(answer["probabilities"], tiny.softmax(logits[:, :, 0]), atol=1e-5)
    np.testing.assert_allclose(answer["multi_label_probabilities"], tiny.softmax(logits)[:, :, 0], atol=1e-5)


def logits_of(task, encoded):
    """The classifier's logits, row by row, without padding."""
    rows = [
        {"token_ids": row.ids, "segment_ids": row.segment_ids, "padding_mask": [1] * len(row.ids)} for row in encoded
    ]
    return np.concatenate(
        [task.model({name: np.array([value]) for name, value in row.items()})["logits"] for row in rows]
    )


WRONG = {
    "one text": (("a", ["b"]), {}, "received one str"),
    "one label": ((["a"], "b"), {}, "received one str"),
    "no label": ((["a"], []), {}, r"labels must be different texts, one at least: received \[\]"),
    "twice": ((["a"], ["b", "b"]), {}, "labels must be different texts"),
    "empty": ((["a"], ["b", ""]), {}, "labels must be different texts"),
    "no place": ((["a"], ["b"]), {"template": "It is."}, r"template must be a str with '\{\}' once.*received 'It is.'"),
    "two places": ((["a"], ["b"]), {"template": "{} {}"}, "template must be"),
    "surrogate": ((["a"], ["b"]), {"template": "{} \ud800"}, "`template`: .* lone surrogate"),
    "batch": ((["a"], ["b"]), {"batch_size": 0}, "batch_size must be at least 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(task, name):
    arguments, options, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        task.zero_shot(*arguments, **options)


def test_a_model_without_entailment():
    task = tiny.classifier()
    assert "zero_shot" not in task.parts.answers.signatures
    with pytest.raises(
        ValueError, match=r"with a label that begins with 'entail'.*received the labels \['bad', 'good'\]"
    ):
        task.zero_shot(["a"], ["b"])
    with pytest.raises(ValueError, match="template must be a str"):
        tiny.classifier(template="none")


ON_JAX = """
import tiny
task = tiny.classifier(["contradiction", "neutral", "entailment"])
answers = [task.zero_shot(texts, ["film", "day", "song"]) for texts in (tiny.TEXTS[:5], tiny.TEXTS[:1])]
print(json.dumps(answers))
"""


@pytest.mark.slow
def test_zero_shot_on_jax():
    import json

    several, alone = json.loads(run_on_jax(ON_JAX))
    assert len(several) == 5 and several[0]["probabilities"] == pytest.approx(alone[0]["probabilities"], abs=1e-5)
    assert sum(alone[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)
