"""What a vocabulary is learned from: strings, files, data sets; and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.training_texts import training_texts

tf = pytest.importorskip("tensorflow")

CORPUS = ["The cat danced on the table.\n", "Über naïve Katzen 😀 日本語.\n", "\n", "An e\u0301 is two code points.\n"]


def learned(texts: object, **options) -> str:
    return Tokenizer.train(texts, 290, model="byte_pair", **options).to_json()


@pytest.fixture
def folder(tmp_path) -> Path:
    """The corpus in two files, and one below that is compressed."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_text("".join(CORPUS[:2]), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": CORPUS[2] + CORPUS[3]}) + "\n", encoding="utf-8")
    (tmp_path / "deep" / "c.txt.gz").write_bytes(gzip.compress("Zürich\n".encode()))
    return tmp_path


def test_files_give_the_vocabulary_of_their_text(folder):
    texts = ["".join(CORPUS), "Zürich\n"]
    assert learned(folder) == learned(texts)
    assert learned([folder / "b.jsonl", folder / "a.txt"]) == learned(CORPUS)
    assert learned((folder / "deep", folder / "*.*")) == learned(texts)
    assert "".join(training_texts([folder / "a.txt", folder / "a.txt"])) == "".join(CORPUS[:2])  # a file, once


@pytest.mark.parametrize("size", [None, 1, 3, 4, 9])
def test_data_sets_of_strings_and_of_batches(size):
    dataset = tf.data.Dataset.from_tensor_slices(CORPUS)
    dataset = dataset if size is None else dataset.batch(size)
    assert list(training_texts(dataset)) == CORPUS
    assert learned(dataset) == learned(CORPUS)


def test_a_data_set_of_lines(folder):
    assert list(training_texts(tf.data.TextLineDataset(str(folder / "a.txt")))) == [
        line.rstrip("\n") for line in CORPUS[:2]
    ]


def test_texts_are_read_one_at_a_time():
    def endless():
        while True:
            yield "a"

    texts = training_texts(endless())
    assert [next(texts), next(texts)] == ["a", "a"]
    assert list(training_texts(np.array(CORPUS))) == CORPUS
    assert list(training_texts(iter(CORPUS))) == CORPUS


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("the cat", r"received one str\. Pass \[text\] or its lines, or Path\(name\)"),
        (b"the cat", r"a list of Paths, or a tf.data.Dataset of strings: received bytes"),
        ({"text": CORPUS}, "received dict. Give a list of its texts"),
        (7, "received int. Give a list"),
        (None, "received NoneType. Give a list"),
        (np.array([CORPUS]), r"received an array \(1, 4\)"),
        ([Path("a.txt"), "b.txt"], r"received Paths and 'b.txt' in one list"),
    ],
)
def test_what_is_refused_at_once(texts, message):
    with pytest.raises(ValueError, match=message):
        training_texts(texts)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", b"b"], r'received one of bytes at row 1\. Decode it: text\.decode\("utf-8"\)'),
        ([CORPUS[:2]], "received one of list at row 0. It is a batch of texts"),
        (iter([np.array(CORPUS)]), "received one of ndarray at row 0. It is a batch"),
        (iter([Path("a.txt")]), "received one of PosixPath at row 0. Give the Paths as a list"),
        (["a", "b", None], "received one of NoneType at row 2"),
        (["a", "\ud800"], "the text at row 1 has the lone surrogate"),
    ],
)
def test_rows_that_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        list(training_texts(texts))


def test_files_that_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.txt").write_bytes("Stra\xdfe\n".encode("latin-1"))
    (tmp_path / "nothing.txt").write_bytes(b"")
    for name in ("absent.txt", "empty", "latin.txt", "nothing.txt"):
        with pytest.raises(ValueError, match=name):
            list(training_texts(tmp_path / name))


def test_data_sets_that_are_refused():
    lines = tf.data.Dataset.from_tensor_slices(CORPUS)
    refused = {
        "received a data set of TensorSpec.*int32": tf.data.Dataset.range(3, output_type=tf.int32),
        r"received a data set of \(TensorSpec.*Keep the texts alone": tf.data.Dataset.zip((lines, lines)),
        "received a data set of {'text'": lines.map(lambda text: {"text": text}),
        "received a data set of RaggedTensorSpec": lines.batch(2).map(tf.strings.split),
        "never ends. Leave repeat": lines.repeat(),
    }
    for message, dataset in refused.items():
        with pytest.raises(ValueError, match=message):
            training_texts(dataset)
    damaged = tf.data.Dataset.from_tensor_slices([b"ab", b"Stra\xdfe"]).batch(2)
    with pytest.raises(ValueError, match=r"the text 1 of the data set is not UTF-8 .* at its byte 4"):
        list(training_texts(damaged))


@pytest.mark.parametrize("model", ["wordpiece", "byte_pair", "unigram", "character", "words"])
@pytest.mark.parametrize("texts", [[], [""], tf.data.Dataset.from_tensor_slices([""]).take(0)], ids=["0", "1", "data"])
def test_a_corpus_without_text(model, texts):
    with pytest.raises(ValueError, match="The corpus holds no"):
        Tokenizer.train(texts, 300, model=model)
