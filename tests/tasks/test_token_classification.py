"""Labels for words: what is learnt, measured, answered, exported and saved."""

from __future__ import annotations

import bare
import entities
import numpy as np
import pytest
import questions
import tensorflow as tf
import tiny
from entities import FIT, LABELS, NAMES, SPANS, TEXTS, WORDS
from processes import run, run_on_jax
from seqeval.metrics import f1_score, precision_score, recall_score

import zoo
from keras_transformers.tasks.tokens.label_schemes import bio_labels

HOSTILE = [
    *TEXTS[:3], "", " ", "\0", "x" * 10_000, "Ann Ray sat in New York . " * 100, "😀 Ann ẞ 中文 שלום",
    "typed [MASK] in U.S.", "Bob\u200d Ra\u0301y is in ﬁ Oslo",
]  # fmt: skip


@pytest.fixture(scope="module")
def task():
    """A classifier after `fit` on words, with what `fit` returned in `history`."""
    task = entities.token_classifier()
    task.history = task.fit(WORDS, LABELS, **FIT).history
    return task


def found(answer) -> list[tuple[int, int, str]]:
    return [(entity["start"], entity["end"], entity["label"]) for entity in answer["entities"]]


@pytest.mark.integration
def test_fit_learns_from_words(task):
    assert task.history["loss"][-1] < 0.1 * task.history["loss"][0]
    assert task.history["f1"][-1] == 1.0
    results = task.evaluate(WORDS, LABELS)
    assert results.keys() == {"accuracy", "cross_entropy", "precision", "recall", "f1"}
    assert results["accuracy"] == results["precision"] == results["recall"] == results["f1"] == 1.0
    assert [found(answer) for answer in task.predict(TEXTS)] == SPANS


@pytest.mark.slow
def test_fit_learns_from_spans():
    task = entities.token_classifier(bio_labels(["person", "place"], "bioes"))
    with pytest.warns(UserWarning, match="no text has the label"):  # of S-place, none, as no place is inside another
        task.fit(TEXTS[:12], SPANS[:12], **FIT)
    assert task.evaluate(TEXTS, SPANS)["f1"] > 0.6
    assert [found(answer) for answer in task.predict(TEXTS[:12])] == SPANS[:12]


@pytest.mark.integration
def test_what_is_answered(task):
    answer = task.predict(["Bob  Ray is in U.S.  ."])[0]
    assert answer.keys() == {"entities", "tokens", "truncated"}
    person, place = answer["entities"]
    assert (person["text"], person["label"], person["start"], person["end"]) == ("Bob  Ray", "person", 0, 8)
    assert (place["text"], place["label"]) == ("U.S.", "place")
    tokens = [(token["text"], token["label"]) for token in answer["tokens"]]
    assert tokens[:2] == [("Bob", "B-person"), ("Ray", "I-person")]
    assert tokens[-5:-1] == [("U", "B-place"), (".", "I-place"), ("S", "I-place"), (".", "I-place")]
    assert person["score"] == pytest.approx(np.mean([token["score"] for token in answer["tokens"][:2]]), abs=1e-6)


@pytest.mark.integration
def test_words_are_answered_as_their_text(task):
    assert task.predict(WORDS) == task.predict(TEXTS)
    assert task.predict([]) == [] and task.predict([[]]) == task.predict([""])
    with pytest.raises(ValueError, match="none of them empty"):
        task.predict([["Ann", ""]])
    with pytest.raises(ValueError, match="takes no pairs, and received some"):
        task.predict(["a"], ["b"])
    with pytest.raises(ValueError, match="takes no pairs, and received some"):
        task.dataset(["a"], pairs=iter(["b"]))


@pytest.mark.integration
def test_long_and_blank_texts(task):
    long, blank = task.predict(["Ann sat . " * 30, " \t"])
    assert long["truncated"] and len(long["tokens"]) == 22 and long["tokens"][-1]["end"] < 300
    assert blank == {"entities": [], "tokens": [], "truncated": False}


def words_by_hand(task, words):
    """The label of each given word: that of the answer's first token in it."""
    rows = []
    for text, answer in zip(words, task.predict(words), strict=True):
        starts = np.cumsum([0, *(len(word) + 1 for word in text)])[:-1]
        labels = {token["start"]: token["label"] for token in answer["tokens"]}
        rows.append([labels[start] for start in starts.tolist()])
    return rows


@pytest.mark.slow
def test_metrics_are_of_given_words():
    """Before much is learnt, and on sentences with words that the tokenizer splits."""
    task = entities.token_classifier()
    task.fit(WORDS, LABELS, **(FIT | {"epochs": 3}))
    predicted, results = words_by_hand(task, WORDS), task.evaluate(WORDS, LABELS, batch_size=5)
    assert 0.1 < results["f1"] < 0.9
    for name, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        assert results[name] == pytest.approx(score(LABELS, predicted), abs=1e-6)
    pairs = [pair for rows in zip(LABELS, predicted, strict=True) for pair in zip(*rows, strict=True)]
    assert results["accuracy"] == pytest.approx(np.mean([one == other for one, other in pairs]), abs=1e-6)


@pytest.mark.slow
def test_plain_tags():
    tags = [[{"O": "OTHER"}.get(label, "NAME") for label in row] for row in LABELS]
    task = entities.token_classifier(["NAME", "OTHER"])
    task.fit(WORDS, tags, **FIT)
    assert task.evaluate(WORDS, tags).keys() == {"accuracy", "cross_entropy"}
    (answer,) = task.predict(["Ann is in U.S. ."])
    assert answer.keys() == {"tokens", "truncated"}
    assert " ".join(token["text"] for token in answer["tokens"]) == "Ann is in U . S . ."
    assert " ".join(token["label"] for token in answer["tokens"]) == "NAME OTHER OTHER NAME NAME NAME NAME OTHER"
    signature = task.service.signatures["serving_default"].get_concrete_function()
    parts = [f"token{part}" for part in ("", "_end", "_label", "_score", "_start")]
    assert sorted(signature.structured_outputs) == [*parts, "truncated"]


def rows_of(answer) -> list[dict]:
    """An exported answer as `predict` has it."""
    from keras_transformers.tasks.tokens.word_answers import describe_tokens

    columns = {name: np.array(column) for name, column in answer.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [describe_tokens(row) | {"truncated": bool(row["truncated"])} for row in rows]


def check_same(answers, others):
    for one, other in zip(answers, others, strict=True):
        assert one["truncated"] == other["truncated"] and found(one) == found(other)
        for name in ("entities", "tokens"):
            for record, same in zip(one[name], other[name], strict=True):
                assert record == same | {"score": pytest.approx(same["score"], abs=1e-5)}


@pytest.mark.slow
def test_exported_is_in_process(task, tmp_path):
    """In a process that has TensorFlow only; also row by row."""
    task.export(tmp_path / "1")
    (answer,) = bare.ask(tmp_path / "1", {"serving_default": {"text": HOSTILE}}).values()
    assert sorted(answer) == sorted(
        ["entity", "label", "start", "end", "score", "truncated"]
        + [f"token{part}" for part in ("", "_label", "_start", "_end", "_score")]
    )
    expected = task.predict(HOSTILE)
    assert sum(map(len, map(found, expected))) > 10
    check_same(rows_of(answer), expected)
    check_same([task.predict([text])[0] for text in HOSTILE], expected)


@pytest.mark.integration
def test_places_are_those_in_the_text(task):
    for text, answer in zip(HOSTILE, task.predict(HOSTILE), strict=True):
        for record in (*answer["entities"], *answer["tokens"]):
            assert record["text"] == text[record["start"] : record["end"]] != ""


@pytest.mark.integration
def test_bytes_that_are_not_text(task):
    signature = task.service.signatures["serving_default"]
    answer = signature(tf.constant([b"Ann \xff sat in Oslo", b""]))
    assert answer["entity"].numpy()[0].tolist() == [b"Ann", b"Oslo"]
    assert answer["start"].numpy()[0].tolist() == [0, 13] and answer["entity"].numpy()[1].tolist() == [b"", b""]
    none = signature(tf.constant([], tf.string))
    assert {tuple(column.shape) for name, column in none.items() if name != "truncated"} == {(0, 1)}


@pytest.mark.integration
def test_python_reads_as_the_graph_does(task):
    answer = questions.Untraced(task).run("serving_default", [HOSTILE])
    check_same(rows_of(answer), task.predict(HOSTILE))


@pytest.mark.integration
def test_a_saved_task_comes_back(task, tmp_path):
    task.save(tmp_path / "saved")
    back = zoo.load(tmp_path / "saved")
    assert (back.name, back.labels, back.max_length) == ("token_classification", NAMES, 24)
    assert back.predict(TEXTS) == task.predict(TEXTS)
    turned = zoo.load(tmp_path / "saved", labels=NAMES[::-1])
    check_same(turned.predict(TEXTS), task.predict(TEXTS))
    with pytest.warns(UserWarning, match="starts afresh"):
        other = zoo.load(tmp_path / "saved", labels=bio_labels(["animal"]))
    assert other.labels == ("O", "B-animal", "I-animal")


@pytest.mark.slow
def test_adapters(task, tmp_path):
    task.save(tmp_path / "saved")
    small = zoo.load(tmp_path / "saved", lora_rank=2, seed=0)
    small.fit(WORDS, LABELS, **(FIT | {"epochs": 1}))
    names = {variable.path.split("/")[-1] for variable in small.model.trainable_variables}
    assert names == {"lora_kernel_a", "lora_kernel_b", "kernel", "bias"}
    expected = small.predict(TEXTS)
    small.save(tmp_path / "merged")
    check_same(zoo.load(tmp_path / "merged").predict(TEXTS), expected)


def weights_after(settings, **options) -> list[np.ndarray]:
    task = entities.token_classifier(**options)
    task.fit(WORDS, LABELS, epochs=2, learning_rate=1e-3, verbose=0, **settings, **tiny.EAGER)
    return tiny.weights(task)


@pytest.mark.integration
@pytest.mark.parametrize("weights", [None, {"O": 0.1, "I-place": 3.0}], ids=["plain", "weighed"])
def test_accumulated_batches_are_one_batch(weights):
    """Though words that are split add to the loss more than once; and with other outputs."""
    whole = weights_after({"batch_size": 18, "class_weight": weights})
    parts = weights_after({"batch_size": 9, "accumulation_steps": 2, "class_weight": weights})
    others = weights_after({"batch_size": 18, "class_weight": weights}, outputs=["hidden_states"])
    for one, two, three in zip(whole, parts, others, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
        np.testing.assert_allclose(one, three, atol=1e-5)


def test_further_parts_of_words_are_weighed_by_their_own_class(task):
    ((*_, weights),) = task.dataset([["U.S."]], [["B-place"]], class_weight={"I-place": 7.0}, shuffle=False)
    assert np.array(weights)[0, 1:5].tolist() == [1.0, 7.0, 7.0, 7.0]


@pytest.mark.integration
def test_optional_outputs():
    task = entities.token_classifier(outputs=["attention_scores"])
    assert {"logits_f1", "logits_accuracy"} < task.evaluate(WORDS, LABELS).keys()
    assert task.predict(TEXTS[:1])[0].keys() == {"entities", "tokens", "truncated"}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "needs two labels or more: received None.*bio_labels"), (["O"], r"received \['O'\]"), (1, "received 1"),
        (["O", "O"], "different strings"), ([], "different strings"), ("OB", "must be a list of names"),
    ],
)  # fmt: skip
def test_labels_that_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        entities.token_classifier(labels)


def test_options_and_data_that_are_refused(task, tmp_path):
    task.save(tmp_path / "saved")
    with pytest.raises(ValueError, match="problem belongs to task='classification'"):
        zoo.load(tmp_path / "saved", problem="multi_label")
    for ask in (task.fit, task.evaluate):
        with pytest.raises(ValueError, match="token_classification needs labels"):
            ask(TEXTS)


@pytest.mark.parity
def test_logits_and_entities_are_those_of_transformers(task, tmp_path):
    """Of the same folder: with its pipeline, words have the label of their first token, as here."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    task = entities.token_classifier()
    with pytest.warns(UserWarning, match="no text has"):
        task.fit(WORDS[:4], LABELS[:4], **(FIT | {"epochs": 4}))  # not sure of itself
    task.save(tmp_path / "saved")
    model = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "saved").eval()
    assert type(model).__name__ == "BertForTokenClassification"
    inputs = next(iter(task.dataset(TEXTS, shuffle=False)))[0]
    names = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
    with torch.no_grad():
        theirs = model(**{name: torch.tensor(np.array(inputs[ours])).long() for name, ours in names.items()}).logits
    mask = np.array(inputs["padding_mask"])[..., None]
    np.testing.assert_allclose(task.model(inputs)["logits"] * mask, theirs.numpy() * mask, atol=1e-5)

    pipeline = transformers.pipeline("token-classification", str(tmp_path / "saved"), aggregation_strategy="first")
    texts = [text for text in TEXTS if "U.S." not in text]  # to the pipeline, one word
    for text, answer, records in zip(texts, task.predict(texts), pipeline(texts), strict=True):
        assert found(answer) == [(record["start"], record["end"], record["entity_group"]) for record in records], text
        scores = [entity["score"] for entity in answer["entities"]]
        assert scores == pytest.approx([record["score"] for record in records], abs=1e-5)


JAX = """
import entities
from entities import FIT, LABELS, SPANS, TEXTS, WORDS

task = entities.token_classifier()
history = task.fit(WORDS, LABELS, validation_data=(TEXTS, SPANS), **FIT).history
assert history["f1"][-1] == history["val_f1"][-1] == 1.0, history
answers = task.predict([*TEXTS, "", "Ann " * 50], batch_size=5)
found = [[(e["start"], e["end"], e["label"]) for e in answer["entities"]] for answer in answers]
assert found[:18] == SPANS and answers[18] == {"entities": [], "tokens": [], "truncated": False}
assert answers[19]["truncated"] and task.predict(WORDS, batch_size=5)[:15] == answers[:15]
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
        task = entities.token_classifier()
    task.fit(entities.WORDS, entities.LABELS, epochs=3, batch_size=7, learning_rate=2e-2, verbose=0)
    return tiny.weights(task), task.evaluate(entities.WORDS, entities.LABELS, batch_size=7)

(one, scores), (two, others) = run(None), run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-4)
np.testing.assert_allclose(list(scores.values()), list(others.values()), rtol=1e-4)
assert 0.1 < scores["f1"] < 0.95, scores
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_learn_and_count_as_one():
    """With words of several parts, in batches that do not divide evenly."""
    assert run(REPLICAS).endswith("the same\n")
