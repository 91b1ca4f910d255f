"""Sparse vectors of a task: its options, answers, what is refused, and JAX."""

from __future__ import annotations

import json
from functools import cache

import keras
import numpy as np
import pytest
import tiny
from arrays import randomize
from processes import run_on_jax

import zoo
from keras_transformers.checkpoints.settings.sparse_encoder import read_sparse_encoder
from keras_transformers.tasks import Task
from keras_transformers.tasks.vectors.sparse_vectors import SparseVectors

PROMPTS = {"query": "a fine ", "document": ""}


def make(**options) -> Task:
    keras.utils.set_random_seed(0)
    task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **{"sparse": {"pooling": "max"}, **options})
    randomize(task.model, scale=0.5)
    return task


@cache
def made() -> Task:
    return make(prompts=PROMPTS)


@pytest.mark.integration
def test_embed():
    task, texts = made(), [*tiny.TEXTS[:3], "", "film " * 30]
    vectors = task.embed(texts)
    assert vectors.shape == (5, tiny.tokenizer().vocabulary_size)
    for (ids, weights), answer in zip(vectors, task.predict(texts), strict=True):
        assert len(ids) and (weights > 0).all() and (np.diff(weights) <= 0).all()
        assert [task.tokenizer.id_to_token(number) for number in ids] == answer["tokens"]
        np.testing.assert_array_equal(weights, answer["weights"])
    asked, written = task.embed(texts, prompt="query"), task.embed([f"a fine {text}" for text in texts])
    np.testing.assert_allclose(asked.dense(), written.dense(), atol=1e-6)
    few = task.embed(texts, max_tokens=2)
    assert few.indptr.tolist() == [0, 2, 4, 6, 8, 10]
    np.testing.assert_array_equal(few[1][0], vectors[1][0][:2])
    assert task.embed([]).shape == (0, vectors.shape[1]) and task.search([], texts) == []
    assert task.predict(texts[4:])[0]["truncated"] is True
    with pytest.raises(ValueError, match="max_tokens must be"):
        task.embed(texts, max_tokens=0)


@pytest.mark.integration
def test_search():
    task, texts = made(), tiny.TEXTS[:4]
    found = task.search(texts, task.embed(texts, prompt="document"), top=2)
    expected = task.embed(texts, prompt="query").dense() @ task.embed(texts, prompt="document").dense().T
    for row, scores in zip(found, expected, strict=True):
        np.testing.assert_allclose([hit["score"] for hit in row], np.sort(scores)[:1:-1], rtol=1e-5)
        assert [*row[0]] == ["index", "score"]
    assert [hit["text"] for hit in task.search(texts[:1], texts, top=1)[0]] == [texts[found[0][0]["index"]]]
    for corpus, said in [
        ([], "the corpus is empty"),
        (np.ones((2, 3), np.float32), "corpus: expected texts, or sparse vectors as task.embed gives them"),
        (SparseVectors.of_rows([([0], [1.0])], 3), "corpus has vectors of 3 numbers, the model of"),
    ]:
        with pytest.raises(ValueError, match=said):
            task.search(texts, corpus)
    with pytest.raises(ValueError, match="similarity must be one of"):
        task.search(texts, texts, similarity="l2")


@pytest.mark.integration
def test_learning_is_refused():
    task = made()
    for call in (task.fit, task.evaluate, task.dataset):
        with pytest.raises(ValueError, match=r"sparse vectors are neither learned nor evaluated here.*SpladeLoss"):
            call(tiny.TEXTS[:2], pairs=tiny.TEXTS[2:4])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sparse": "max"}, "sparse must be a dict"),
        ({"sparse": {}}, "sparse must be a dict"),
        ({"sparse": {"pooling": "mean"}}, r"received \{'pooling': 'mean'\}"),
        ({"sparse": {"pooling": ["max"]}}, "sparse must be a dict"),
        ({"sparse": {"pooling": "max", "activation": "gelu"}}, "sparse must be a dict"),
        ({"sparse": {"pooling": "max", "max_tokens": 0}}, "sparse must be a dict"),
        ({"sparse": {"pooling": "max", "most": 3}}, "sparse must be a dict"),
        ({"pooling": "first", "truncate_dim": 3}, "pooling, truncate_dim: for dense vectors only, but sparse is given"),
        ({"dense": [{"units": 3}]}, "dense: for dense vectors"),
        ({"loss": "cosine"}, "loss: for dense vectors"),
        ({"similarity": "l2"}, "similarity must be one of"),
    ],
)
def test_options_that_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        make(**options)


def test_decoders_are_refused():
    with pytest.raises(ValueError, match="sparse vectors are made by the head of a masked language model"):
        tiny_decoder = tiny.decoder_classifier()
        Task("sentence_embedding", tiny_decoder.config, tiny_decoder.tokenizer, sparse={"pooling": "max"})


@pytest.mark.integration
def test_saved_and_loaded(tmp_path):
    task = make(sparse={"pooling": "sum", "max_tokens": 5}, prompts=PROMPTS, similarity="cosine")
    task.save(tmp_path / "saved")
    again = zoo.load(tmp_path / "saved")
    assert again.sparse == {"pooling": "sum", "activation": "relu", "max_tokens": 5}
    assert (again.similarity, again.prompts, again.max_length) == ("cosine", PROMPTS, task.max_length)
    np.testing.assert_array_equal(again.embed(tiny.TEXTS[:3]).dense(), task.embed(tiny.TEXTS[:3]).dense())
    assert zoo.load(tmp_path / "saved", task="masked_lm").predict(["a [MASK]"])[0]["fills"]
    with pytest.raises(ValueError, match="pooling: for dense vectors only, but sparse is given"):
        zoo.load(tmp_path / "saved", pooling="first")
    bare = Task("classification", tiny.config(), tiny.tokenizer(), labels=["a", "b"])
    bare.save(tmp_path / "bare")
    with pytest.raises(ValueError, match="masked_lm"):  # no head, and sparse vectors are not learned here
        zoo.load(tmp_path / "bare", task="sentence_embedding", sparse={"pooling": "max"})


FILES = [
    ("1_SpladePooling/config.json", {"pooling_strategy": "mean"}, r"pooling_strategy 'mean': expected one of \('max'"),
    ("1_SpladePooling/config.json", {"activation_function": "gelu"}, "activation_function 'gelu': expected one of"),
    ("config_sentence_transformers.json", {"max_active_dims": 0}, "max_active_dims must be a number above 0"),
    ("config_sentence_transformers.json", {"model_type": "SentenceTransformer"}, "only 'SparseEncoder' is supported"),
    ("config_sentence_transformers.json", {"similarity_fn_name": "l2"}, "expected one of"),
    ("sentence_bert_config.json", {"transformer_task": "feature-extraction"}, "only 'fill-mask' is supported"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse") / "saved"
    made().save(folder)
    return folder


@pytest.mark.integration
@pytest.mark.parametrize(("file", "values", "said"), FILES)
def test_files_that_are_refused(folder, file, values, said):
    text = (folder / file).read_text()
    (folder / file).write_text(json.dumps({**json.loads(text), **values}))
    try:
        with pytest.raises(ValueError, match=said) as refused:
            read_sparse_encoder(folder)
        assert file.rpartition("/")[2] in str(refused.value)
    finally:
        (folder / file).write_text(text)


@pytest.mark.integration
def test_modules_that_are_refused(folder):
    path = folder / "modules.json"
    text = path.read_text()
    modules = json.loads(text)
    other = [{**modules[0], "type": "sentence_transformers.base.modules.transformer.Transformer"}, modules[1]]
    prefix = "sentence_transformers.sparse_encoder.modules"
    cases = [
        (other, "transformer_task None: expected 'fill-mask'"),
        ([{**modules[0], "type": "sentence_transformers.base.modules.router.Router"}], "router_config.json names them"),
        ([{**modules[0], "type": f"{prefix}.sparse_static_embedding.SparseStaticEmbedding"}], "Look up the weights"),
        ([*other, {**modules[1], "type": f"{prefix}.sparse_auto_encoder.SparseAutoEncoder"}], "Load the dense model"),
        ([modules[0]], "for a SparseEncoder Transformer, or MLMTransformer, and SpladePooling"),
        ([modules[1], modules[0]], "for a SparseEncoder Transformer, or MLMTransformer, and SpladePooling"),
    ]
    try:
        for listed, said in cases:
            path.write_text(json.dumps(listed))
            with pytest.raises(ValueError, match=said):
                zoo.load(folder)
    finally:
        path.write_text(text)


SCRIPT = """
import numpy as np
import zoo

task = zoo.load(FOLDER)
vectors = task.embed(TEXTS, prompt="query")
np.save(FOLDER + ".npy", vectors.dense())
assert task.predict(TEXTS)[4]["tokens"] and "similarity" in task.predict(TEXTS[:1], TEXTS[1:2])[0]
assert len(task.search(TEXTS[:2], vectors)) == 2
print("done")
"""


@pytest.mark.slow
def test_on_jax(folder):
    texts = [*tiny.TEXTS[:3], "", "film " * 30]
    assert run_on_jax(f"FOLDER, TEXTS = {str(folder)!r}, {texts!r}\n{SCRIPT}") == "done\n"
    np.testing.assert_allclose(np.load(f"{folder}.npy"), made().embed(texts, prompt="query").dense(), atol=1e-5)
