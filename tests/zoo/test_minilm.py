"""minilm_l6_en, a real sentence encoder: beside transformers and sentence-transformers on the same weights."""

from __future__ import annotations

import csv
import hashlib

import bare
import minilm
import numpy as np
import pytest

import zoo
from keras_transformers.models import encoder

pytestmark = [pytest.mark.parity, pytest.mark.slow]
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
EXAMPLE = "This is an example sentence"  # its model card's; so are the numbers below


@pytest.fixture(scope="module")
def task():
    return zoo.load(minilm.folder())


@pytest.fixture(scope="module")
def sentences(data_dir):
    """200 of STS-B, and some that are long, empty or odd."""
    with open(data_dir / "stsb" / "sts-dev.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row[5] for row in rows[:1000:5]] + [
        "",
        "word " * 400,
        "Straße İstanbul \u0301\u200d \U0001f600",
        "[MASK] [SEP]",
    ]


@pytest.fixture(scope="module")
def reference():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(minilm.folder()), device="cpu")


def test_it_is_the_checkpoint_that_the_zoo_names(task):
    entry = zoo.describe("minilm_l6_en")
    assert hashlib.sha256((minilm.folder() / "model.safetensors").read_bytes()).hexdigest() == SHA256
    assert (task.config, task.name) == (entry.config, entry.task)
    pooler = 384 * 384 + 384
    assert encoder(task.config).count_params() + pooler == entry.parameters
    assert (task.max_length, task.pooling, task.normalize) == (256, "mean", True)


def test_the_card_of_the_model(task):
    (vector,) = task.embed([EXAMPLE])
    np.testing.assert_allclose(vector[:4], [0.0677, 0.0635, 0.0487, 0.0793], atol=1e-4)


def test_vectors_are_those_of_sentence_transformers(task, reference, sentences, tmp_path):
    expected = reference.encode(sentences)
    task.export(tmp_path / "1")
    (served,) = bare.ask(tmp_path / "1", {"serving_default": {"text": sentences}}).values()
    for vectors in (task.embed(sentences), np.array(served["embedding"], np.float32)):
        cosines = (vectors * expected).sum(-1) / np.linalg.norm(vectors, axis=-1)
        assert cosines.min() > 0.99999


def test_a_saved_folder_is_read_by_both(task, sentences, tmp_path):
    import transformers
    from sentence_transformers import SentenceTransformer

    task.save(tmp_path / "model")
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(theirs.encode(sentences[:20]), task.embed(sentences[:20]), atol=1e-5)
    assert theirs.max_seq_length == 256
    again = transformers.BertModel.from_pretrained(tmp_path / "model").state_dict()
    original = transformers.BertModel.from_pretrained(minilm.folder()).state_dict()
    assert all(again[name].equal(value) for name, value in original.items() if not name.startswith("pooler"))

    theirs.save(str(tmp_path / "theirs"))  # in the form of its present version
    loaded = zoo.load(tmp_path / "theirs")
    assert (loaded.name, loaded.pooling, loaded.normalize, loaded.max_length) == (
        "sentence_embedding",
        "mean",
        True,
        256,
    )


@pytest.mark.data
def test_similarity_as_published(data_dir):
    """STS-B's test part: Spearman's correlation of 0.8203, as sentence-transformers publishes it."""
    with open(data_dir / "stsb" / "sts-test.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    task = zoo.load(minilm.folder(), loss="cosine")
    measured = task.evaluate(
        [row[5] for row in rows], [float(row[4]) / 5 for row in rows], pairs=[row[6] for row in rows]
    )
    assert measured["spearman"] == pytest.approx(0.8203, abs=5e-4)
