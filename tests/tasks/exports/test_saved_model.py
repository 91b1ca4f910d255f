from __future__ import annotations

import json
from pathlib import Path

import bare
import numpy as np
import pytest
import tensorflow as tf
import tiny
from exports import warm_up_records, warm_up_requests
from tiny import LABELS, TEXTS

from keras_transformers.tasks.exports import saved_model as export_module

HOSTILE = [
    *TEXTS[:3], "", " ", "\0", "x" * 10_000, "a warm day " * 100, "😀 ünïcode ẞ 中文 שלום", "typed [MASK] and [SEP]",
    b"\xff\xfe not UTF-8 \xc3", "a\u0316\u0301b",
]  # fmt: skip


@pytest.fixture(scope="module")
def task():
    task = tiny.classifier(outputs=["attention_scores"])
    task.fit(TEXTS, LABELS, **tiny.FIT)
    return task


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serving") / "1"
    task.export(folder)
    return folder


@pytest.fixture(scope="module")
def signatures(folder):
    return tf.saved_model.load(str(folder)).signatures


def ask(signature, texts, pairs=None) -> dict[str, np.ndarray]:
    """What a request is answered, as arrays."""
    request = {"text": texts} if pairs is None else {"text": texts, "text_pair": pairs}
    return {
        name: value.numpy()
        for name, value in signature(**{k: tf.constant(v, tf.string) for k, v in request.items()}).items()
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def as_text(texts):
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts]


@pytest.mark.integration
@pytest.mark.parametrize("pairs", [None, list(reversed(HOSTILE))], ids=["text", "pair"])
def test_exported_is_in_process(task, signatures, pairs):
    assert sorted(signatures) == ["ids", "labels", "pair", "serving_default"]
    answer = ask(signatures["serving_default" if pairs is None else "pair"], HOSTILE, pairs)
    expected = task.predict(as_text(HOSTILE), pairs and as_text(pairs))
    assert [label.decode() for label in answer["label"]] == [row["label"] for row in expected]
    assert answer["truncated"].tolist() == [row["truncated"] for row in expected]
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-5)
    assert sorted(answer) == ["label", "probabilities", "truncated"]


@pytest.mark.integration
def test_a_row_does_not_depend_on_its_neighbours(signatures):
    together = ask(signatures["serving_default"], HOSTILE)
    alone = [ask(signatures["serving_default"], [text]) for text in HOSTILE]
    for name in together:
        rows = np.concatenate([row[name] for row in alone])
        if name == "probabilities":
            np.testing.assert_allclose(together[name], rows, atol=1e-6)
        else:
            assert together[name].tolist() == rows.tolist()


@pytest.mark.integration
def test_the_log_names_the_final_folder_only(task, tmp_path, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        task.export(tmp_path / "logged")
    assert [record.getMessage() for record in caplog.records] == [f"SavedModel written to: {tmp_path / 'logged'}"]


@pytest.mark.integration
def test_no_rows(signatures):
    assert ask(signatures["serving_default"], [])["probabilities"].shape == (0, 2)
    assert ask(signatures["pair"], [], [])["label"].shape == (0,)


@pytest.mark.slow
def test_a_process_that_has_only_tensorflow(task, folder):
    texts = as_text(HOSTILE[:5])
    answer = bare.ask(folder, {"serving_default": {"text": texts}})["serving_default"]
    expected = task.predict(texts)
    assert answer["label"] == [row["label"] for row in expected]
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-5)


def test_weights_are_stored_once_and_nothing_else_is(task, folder):
    stored = tf.train.list_variables(str(folder / "variables" / "variables"))
    numbers = sum(int(np.prod(shape)) for name, shape in stored if name.endswith("VARIABLE_VALUE"))
    assert numbers == sum(int(np.prod(v.shape)) for v in task.model.variables)  # none of the optimizer's
    sizes = {name: len(content) for name, content in contents(folder).items()}
    assert sum(size for name, size in sizes.items() if name.startswith("variables")) < 1.1 * 4 * numbers + 10_000
    assert sum(sizes.values()) < 4 * numbers + 4_000_000  # the tables of Unicode, and the graph


@pytest.mark.integration
def test_an_interrupted_export_leaves_the_old_one(task, folder, monkeypatch):
    before = contents(folder)
    monkeypatch.setattr(export_module, "_write_warmup", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        task.export(folder)
    assert contents(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["1"]


@pytest.mark.integration
def test_a_full_disk_is_told_with_the_folder(task, folder, monkeypatch):
    before = contents(folder)
    error = tf.errors.ResourceExhaustedError(None, None, "variables/part-0; No space left on device [Op:SaveV2]")
    monkeypatch.setattr(tf.saved_model, "save", lambda *_, **__: (_ for _ in ()).throw(error))
    with pytest.raises(ValueError, match=r"1 cannot be written: there is no space left for it\."):
        task.export(folder)
    assert contents(folder) == before


def test_what_is_no_saved_model_is_not_replaced(task, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"saved_model\.pb"):
        task.export(tmp_path)
    assert contents(tmp_path) == {"notes.txt": b"mine"}


@pytest.mark.integration
def test_export_after_more_training_has_the_new_weights(tmp_path):
    task = tiny.classifier()
    task.export(tmp_path / "1")
    before = ask(tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"], TEXTS)
    task.fit(TEXTS, LABELS, **tiny.FIT)
    task.export(tmp_path / "1")
    after = ask(tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"], TEXTS)
    assert [label.decode() for label in after["label"]] == list(LABELS)
    assert np.abs(after["probabilities"] - before["probabilities"]).max() > 0.1


@pytest.mark.integration
@pytest.mark.parametrize("problem", ["multi_label", "regression"])
def test_other_problems(problem, tmp_path):
    task = tiny.classifier(["a", "b", "c"], problem=problem)
    task.export(tmp_path / "1")
    answer = ask(tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"], TEXTS)
    for row, expected in enumerate(task.predict(TEXTS)):
        name = "scores" if problem == "regression" else "probabilities"
        np.testing.assert_allclose(answer[name][row], list(expected[name].values()), atol=1e-5)
        if problem == "multi_label":
            assert [label.decode() for label in answer["labels"][row] if label] == expected["labels"]


@pytest.mark.integration
def test_masked_lm(tmp_path):
    task = tiny.masked_lm()
    task.export(tmp_path / "1")
    texts = ["a [MASK] film [MASK]", "no gap", *HOSTILE[3:]]
    signature = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    answer = ask(signature, texts)
    for tokens, values, expected in zip(
        answer["tokens"], answer["probabilities"], task.predict(as_text(texts)), strict=True
    ):
        assert [[t.decode() for t in gap] for gap in tokens if gap[0]] == [[t for t, _ in f] for f in expected["fills"]]
        for gap, fills in zip(values, expected["fills"], strict=False):
            np.testing.assert_allclose(gap, [probability for _, probability in fills], atol=1e-5)
    assert ask(signature, [])["tokens"].shape == (0, 1, 5)


@pytest.mark.integration
def test_warm_up_requests_are_answered(folder, signatures):
    requests = [*warm_up_requests(folder)]
    assert [name for name, _ in requests] == ["serving_default", "pair", "ids"]
    for name, inputs in requests:
        assert signatures[name](**inputs)["logits" if name == "ids" else "probabilities"].shape == (1, 2)


@pytest.mark.integration
def test_an_export_says_its_labels_in_the_order_of_its_probabilities(task, folder):
    answers = bare.ask(folder, {"labels": {}, "serving_default": {"text": TEXTS[:1]}})
    names = answers["labels"]["labels"]
    assert names == [*task.labels] == json.loads((folder / "assets.extra" / "labels.json").read_text())["labels"]
    best = int(np.argmax(answers["serving_default"]["probabilities"][0]))
    assert names[best] == answers["serving_default"]["label"][0]


@pytest.mark.parity
def test_tensorflow_serving_reads_the_warm_up_requests(folder):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    inputs = {}
    for record in warm_up_records(folder):
        log = PredictionLog.FromString(record)
        assert log.WhichOneof("log_type") == "predict_log"
        request = log.predict_log.request
        inputs[request.model_spec.signature_name] = {
            name: tf.make_ndarray(tensor).tolist() for name, tensor in request.inputs.items()
        }
    text = {"text": [b"warm up"]}
    assert inputs.pop("ids") == {"input_ids": [[0]], "attention_mask": [[1]], "token_type_ids": [[0]]}
    assert inputs == {"serving_default": text, "pair": text | {"text_pair": [b"warm up"]}}
