"""`format="litert"`: LiteRT over `tokenizers` gives what the task predicts, and MediaPipe reads text."""

from __future__ import annotations

import re
import resource
import tempfile
import warnings
from pathlib import Path
from typing import Any

import every_task
import keras
import numpy as np
import pytest
import tiny
from family_cases import CASES, KINDS
from onnx_clients import TEXTS, Client

from keras_transformers.checkpoints.files.atomic_folder import LITERT
from keras_transformers.tasks import Task
from keras_transformers.tasks.exports import graph_checks, litert_graph

pytestmark = pytest.mark.parity
ENCODERS = [name for name, kind in KINDS.items() if kind == "encoder" and name != "model2vec"]
CHANCES = {"abs": 1e-4}


class LiteRT(Client):
    """The file and the tokenizer of a folder."""

    def __init__(self, folder: Path, max_length: int, pad_id: int = 0):
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_path=str(folder / LITERT), num_threads=1)
        self.runner = interpreter.get_signature_runner("serving_default")
        self.details = self.runner.get_input_details()
        self.names, self.outputs = [*self.details], [*self.runner.get_output_details()]
        self.read(folder, max_length, pad_id)

    def run(self, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self.runner(**{name: value.astype("int32") for name, value in feed.items()})


def exported(task: Task, folder: Path, **options: Any) -> LiteRT:
    task.export(folder, format="litert", **options)
    return LiteRT(folder, options.get("length") or task.max_length, task.config.fill_id)


def trained() -> Task:
    task = tiny.classifier()
    task.fit([*tiny.TEXTS], [*tiny.LABELS], **tiny.FIT)
    return task


def check_labels(client: Client, task: Task, texts: list[str], **tolerance: float) -> None:
    chances = tiny.softmax(client(texts)["logits"])
    for row, answer in zip(chances, task.predict(texts), strict=True):
        assert task.labels[row.argmax()] == answer["label"]
        assert row == pytest.approx([*answer["probabilities"].values()], **(tolerance or CHANCES))


@pytest.mark.parametrize("family", ENCODERS)
def test_labels_of_each_family(family, tmp_path):
    keras.utils.set_random_seed(0)
    tokenizer = tiny.tokenizer()
    config = CASES[family].small(vocabulary_size=tokenizer.vocabulary_size, max_length=24, initializer_range=0.2)
    task = Task("classification", config, tokenizer, labels=["no", "yes", "perhaps"])
    client = exported(task, tmp_path / "lite")
    check_labels(client, task, TEXTS)
    check_labels(client, task, TEXTS[:1])  # another number of rows and tokens


@pytest.mark.parametrize("name", ["token_classification", "question_answering", "sentence_embedding", "ranking"])
def test_outputs_of_tasks_are_those_of_onnx(name, tmp_path):
    options = {"labels": ["O", "B-x", "I-x"]} if name == "token_classification" else {}
    task = Task(name, tiny.config(), tiny.tokenizer(), **options) if options else every_task.make(name)
    client = exported(task, tmp_path / "lite")
    task.export(tmp_path / "onnx", format="onnx")
    other = Client(tmp_path / "onnx", task.max_length)
    rows = [*zip(TEXTS, TEXTS[::-1], strict=True)] if name in ("question_answering", "ranking") else TEXTS
    found, expected = client(rows), other(rows)
    assert found.keys() == expected.keys()
    for output, values in expected.items():
        assert found[output] == pytest.approx(values, abs=1e-4, rel=1e-4)


@pytest.mark.parametrize("quantize", ["int8", "float16"])
def test_rounded_files_are_smaller(quantize, tmp_path):
    task = Task("classification", tiny.config(hidden_dim=128), tiny.tokenizer(), labels=tiny.NAMES)
    client = exported(task, tmp_path / "rounded", quantize=quantize)
    exported(task, tmp_path / "plain")
    sizes = [(tmp_path / name / LITERT).stat().st_size for name in ("rounded", "plain")]
    assert sizes[0] < (0.45 if quantize == "int8" else 0.65) * sizes[1]
    check_labels(client, task, TEXTS, abs=0.02)


def test_a_file_of_one_length_takes_one_row(tmp_path):
    task = trained()
    client = exported(task, tmp_path / "lite", length=8, weights=True)
    assert all(detail["shape"].tolist() == [1, 8] for detail in client.details.values())
    client.tokenizer.enable_padding(length=8)
    check_labels(client, task, ["a fine film"])
    from zoo import load

    assert load(str(tmp_path / "lite")).predict(["a fine film"])[0]["label"] == "good"


def test_mediapipe_classifies_texts(tmp_path):
    from mediapipe.tasks.python.text.text_classifier import TextClassifier

    task = trained()
    with pytest.warns(UserWarning, match="MediaPipe does not strip accents"):
        task.export(tmp_path / "lite", format="litert", mediapipe=True)
    plain = [*(text for text in TEXTS if text.isascii()), ""]
    with TextClassifier.create_from_model_path(str(tmp_path / "lite" / LITERT)) as classifier:
        rows = [classifier.classify(text).classifications[0].categories for text in plain]
    for found, answer in zip(rows, task.predict(plain), strict=True):
        assert found[0].category_name == answer["label"]
        assert {one.category_name: one.score for one in found} == pytest.approx(answer["probabilities"], abs=1e-5)


def test_mediapipe_embeds_texts(tmp_path):
    from mediapipe.tasks.python.text.text_embedder import TextEmbedder

    task = every_task.make("sentence_embedding")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task.export(tmp_path / "lite", format="litert", mediapipe=True, length=12)
    with TextEmbedder.create_from_model_path(str(tmp_path / "lite" / LITERT)) as embedder:
        found = [embedder.embed(text).embeddings[0].embedding for text in TEXTS[:3]]
    assert np.array(found) == pytest.approx(task.embed(TEXTS[:3]), abs=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tiny.classifier(problem="multi_label"), "with one label a text and for sentence_embedding"),
        (lambda: tiny.classifier(labels=["a\nb", "c"]), r"a label a line, and \['a\\nb'\] are empty or have line"),
        (lambda: tiny.classifier(labels=["a", "y\r"]), "have line breaks"),
        (lambda: every_task.make("question_answering"), "received question_answering. Leave it out"),
        (lambda: every_task.make("multiple_choice"), "received multiple_choice"),
        (
            lambda: Task("classification", tiny.config(num_segments=1), tiny.tokenizer(), labels=tiny.NAMES),
            "has no segments: leave mediapipe out",
        ),
        (tiny.decoder_classifier, "has no segments|tokenizers of uncased BERT models"),
    ],
)
def test_what_mediapipe_lacks_is_refused(make, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make().export(tmp_path / "lite", format="litert", mediapipe=True)
    assert not (tmp_path / "lite").exists()


def test_an_export_that_fails_leaves_the_old_folder(tmp_path, monkeypatch):
    task = tiny.classifier()
    exported(task, tmp_path / "lite")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(graph_checks, "TOLERANCE", -1.0)
    with pytest.raises(RuntimeError, match="LiteRT computes other logits than the model"):
        exported(task, tmp_path / "lite")
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_full_temporary_folder_is_named():
    """The converter would go on, with a file that nobody can call."""
    from_ids, limits = tiny.classifier().parts.answers.from_ids, resource.getrlimit(resource.RLIMIT_FSIZE)
    place = re.escape(tempfile.gettempdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ValueError, match=f"cannot write the model .* into the temporary folder {place}. Make room"):
            litert_graph.converted(from_ids)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
