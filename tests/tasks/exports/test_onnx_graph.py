"""`format="onnx"`: ONNX Runtime over `tokenizers` gives what the task predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import every_task
import keras
import numpy as np
import pytest
import tiny
from family_cases import CASES, KINDS
from onnx_clients import TEXTS, Client, entities

from keras_transformers.tasks import Task
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.exports import graph_checks, onnx_graph
from keras_transformers.training.lora import add_lora

pytestmark = pytest.mark.parity
ENCODERS = [name for name, kind in KINDS.items() if kind == "encoder" and name != "model2vec"]
OTHERS = ["a warm film", "", "and", "é", "😀", "a dull day", "a" * 200]
CHANCES = {"abs": 1e-4}


def exported(task: Task, folder: Path, **options: Any) -> Client:
    task.export(folder, format="onnx", **options)
    return Client(folder, task.max_length, task.config.fill_id)


def task_of(family: str, **options: Any) -> Task:
    keras.utils.set_random_seed(0)
    tokenizer = tiny.tokenizer()
    config = CASES[family].small(vocabulary_size=tokenizer.vocabulary_size, max_length=24, initializer_range=0.2)
    return Task("classification", config, tokenizer, labels=["no", "yes", "perhaps"], **options)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def shuffled(task: Task) -> Task:
    """The task with random biases and norms, too."""
    draws = np.random.default_rng(1)
    for weight in task.model.weights:
        if keras.backend.is_float_dtype(weight.dtype):
            weight.assign(np.asarray(weight) + draws.normal(0, 0.1, weight.shape))
    return task


def check_labels(client: Client, task: Task, texts: list[str], pairs: list[str] | None = None) -> None:
    columns = (texts,) if pairs is None else (texts, pairs)
    rows = texts if pairs is None else list(zip(texts, pairs, strict=True))
    chances = tiny.softmax(client(rows)["logits"])
    for row, answer in zip(chances, task.predict(*columns), strict=True):
        assert task.labels[row.argmax()] == answer["label"]
        assert row == pytest.approx([*answer["probabilities"].values()], **CHANCES)


@pytest.mark.parametrize("family", ENCODERS)
def test_labels_of_each_family(family, tmp_path):
    task = shuffled(task_of(family))
    client = exported(task, tmp_path / "onnx")
    check_labels(client, task, TEXTS)
    for text in TEXTS[:2]:
        check_labels(client, task, [text])  # one row
    ids = np.full((1, 1), 5)
    for length in (1, task.max_length):
        feed = {name: np.full((1, length), {"input_ids": 5, "attention_mask": 1}.get(name, 0)) for name in client.names}
        ids = np.full((1, length), 5, "int32")
        inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
        expected = task.model({name: inputs[name] for name in task.model.input}, training=False)["logits"]
        assert client.run(feed)["logits"] == pytest.approx(np.array(expected), abs=1e-4)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Return a function from the name of a task to a tiny one and the client of its export."""
    made: dict[str, tuple[Task, Client]] = {}

    def make(name: str) -> tuple[Task, Client]:
        if name not in made:
            options = {"labels": ["O", "B-x", "I-x"]} if name == "token_classification" else {}
            task = Task(name, tiny.config(), tiny.tokenizer(), **options) if options else every_task.make(name)
            made[name] = shuffled(task), exported(task, tmp_path_factory.mktemp(name) / "onnx")
        return made[name]

    return make


def test_pairs(exports):
    task, client = exports("classification")
    check_labels(client, task, TEXTS, OTHERS)


def test_entities_and_their_places(exports):
    task, client = exports("token_classification")
    rows = client.encode(TEXTS)
    logits = client(TEXTS)["logits"]
    count = 0
    for text, row, scores, answer in zip(TEXTS, rows, logits, task.predict(TEXTS), strict=True):
        words: dict[int, list[Any]] = {}
        for word, (start, end), label in zip(row.word_ids, row.offsets, scores.argmax(-1), strict=True):
            if word is not None:
                words.setdefault(word, [task.labels[label], start, end])[2] = end
        found = entities([(label, start, end) for label, start, end in words.values()], text)
        expected = [(one["label"], one["start"], one["end"]) for one in answer["entities"]]
        assert found == expected
        count += len(found)
    assert count > 3


def test_answers_to_questions(exports):
    task, client = exports("question_answering")
    question, context = "a film", "a fine film and a warm day"
    (row,), answer = client.encode([(question, context)]), task.predict([question], [context])[0]
    found = client([(question, context)])
    ours = [number for number, sequence in enumerate(row.sequence_ids) if sequence == 1]
    first, last = (tiny.softmax(found[name])[0] for name in ("start_logits", "end_logits"))
    spans = [(first[start] * last[end], start, end) for start in ours for end in ours if start <= end]
    score, start, end = max(spans)
    assert (answer["start"], answer["end"]) == (row.offsets[start][0], row.offsets[end][1])
    assert client.outputs == ["start_logits", "end_logits"] and 0 < score < 1


def test_vectors(exports):
    task, client = exports("sentence_embedding")
    found, mask = client(TEXTS), client.feed(client.encode(TEXTS))["attention_mask"]
    assert found["sentence_embedding"] == pytest.approx(task.embed(TEXTS), abs=1e-5)
    means = (found["last_hidden_state"] * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    assert means / np.linalg.norm(means, axis=1, keepdims=True) == pytest.approx(task.embed(TEXTS), abs=1e-5)


def test_prompts_that_are_not_pooled_leave_the_pooling_to_the_client(tmp_path):
    options = {"prompts": {"query": "a warm "}, "default_prompt": "query", "include_prompt": False}
    task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **options)
    assert exported(task, tmp_path / "onnx").outputs == ["last_hidden_state"]


def test_sparse_vectors(tmp_path):
    task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), sparse={"pooling": "max"})
    client = exported(shuffled(task), tmp_path / "onnx")
    rows, mask = client(TEXTS[:4])["logits"], client.feed(client.encode(TEXTS[:4]))["attention_mask"]
    weights = (np.log1p(np.maximum(rows, 0)) * mask[..., None]).max(1)  # as SpladePooling
    for row, answer in zip(weights, task.predict(TEXTS[:4]), strict=True):
        assert row[answer["token_ids"]] == pytest.approx(answer["weights"], abs=1e-4)
        assert (row > 1e-4).sum() <= len(answer["weights"])


def test_ranking(exports):
    task, client = exports("ranking")
    found = client([*zip(TEXTS, OTHERS, strict=True)])["logits"][:, 0]
    expected = task.predict(TEXTS, OTHERS)
    assert sigmoid(found) == pytest.approx([row["probability"] for row in expected], **CHANCES)


@pytest.mark.parametrize(("name", "output"), [("masked_lm", "logits"), ("pretraining", "prediction_logits")])
def test_gaps(exports, name, output):
    task, client = exports(name)
    texts = ["a [MASK] film", "[MASK] day and a [MASK]"]
    feed, found = client.feed(client.encode(texts)), client(texts)[output]
    for ids, rows, answer in zip(feed["input_ids"], tiny.softmax(found), task.predict(texts), strict=True):
        gaps = rows[ids == task.tokenizer.mask_id]
        for chances, fill in zip(gaps, answer["fills"], strict=True):
            assert (task.tokenizer.id_to_token(int(chances.argmax())), chances.max()) == (
                fill[0][0],
                pytest.approx(fill[0][1], **CHANCES),
            )


def test_choices(exports):
    task, client = exports("multiple_choice")
    choices = [["a dull day", "a film"], ["é", "a" * 99]]
    rows = client.encode([(text, choice) for text, row in zip(TEXTS[:2], choices, strict=True) for choice in row])
    feed = {name: value.reshape(2, 2, -1) for name, value in client.feed(rows).items()}
    expected = task.predict(TEXTS[:2], choices)
    assert tiny.softmax(client.run(feed)["logits"]) == pytest.approx(
        np.array([row["probabilities"] for row in expected]), **CHANCES
    )


def test_replaced_tokens(exports):
    task, client = exports("replaced_tokens")
    (row,), (answer,) = client.encode(TEXTS[:1]), task.predict(TEXTS[:1])
    scores = sigmoid(client(TEXTS[:1])["logits"])[0]
    found = [score for score, special in zip(scores, row.special_tokens_mask, strict=True) if not special]
    assert found == pytest.approx([token["score"] for token in answer["tokens"]], **CHANCES)


def test_texts_above_the_longest_are_an_error_of_the_runtime(exports):
    task, client = exports("classification")
    with pytest.raises(Exception, match=r"(?i)broadcast|dimension|axis|out of"):
        client.run({name: np.ones((1, task.max_length + 1), np.int64) for name in client.names})


def test_ten_thousand_labels(tmp_path):
    task = tiny.classifier(labels=10_000)
    client = exported(task, tmp_path / "onnx")
    (chances,), (answer,) = tiny.softmax(client(TEXTS[:1])["logits"]), task.predict(TEXTS[:1])
    assert task.labels[chances.argmax()] == answer["label"]


def test_adapters_are_merged(tmp_path):
    task = tiny.classifier()
    add_lora(task.model, rank=2)
    check_labels(exported(shuffled(task), tmp_path / "onnx"), task, TEXTS)


def test_weights_of_large_models_are_a_file_beside_the_graph(tmp_path, monkeypatch):
    task = tiny.classifier()
    monkeypatch.setattr(onnx_graph, "MOST_BYTES", 10)
    check_labels(exported(task, tmp_path / "onnx"), task, TEXTS)
    assert (tmp_path / "onnx" / "onnx" / "model.onnx_data").is_file()
    monkeypatch.undo()
    check_labels(exported(task, tmp_path / "onnx"), task, TEXTS)
    assert not (tmp_path / "onnx" / "onnx" / "model.onnx_data").exists()


def test_an_export_that_fails_leaves_the_old_folder(tmp_path, monkeypatch):
    task = tiny.classifier()
    exported(task, tmp_path / "onnx")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(graph_checks, "TOLERANCE", -1.0)
    with pytest.raises(RuntimeError, match="computes other logits than the model"):
        exported(shuffled(task), tmp_path / "onnx")
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_an_operation_that_onnx_lacks(tmp_path):
    class Bessel(keras.layers.Layer):
        def call(self, inputs):
            import tensorflow as tf

            return tf.math.bessel_i0(tf.cast(inputs, "float32"))

    tokens = keras.Input((None,), dtype="int32", name="token_ids")
    model = keras.Model({"token_ids": tokens}, {"logits": Bessel()(tokens)})
    with pytest.raises(ValueError, match=r'an operation that format="onnx" cannot hold.*BesselI0'):
        onnx_graph.write_onnx(tmp_path, FromIds(model, 0))
