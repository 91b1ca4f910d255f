"""Sparse encoders of sentence-transformers (SPLADE), both ways: weights of tokens equal that library's."""

from __future__ import annotations

import json

import bare
import family_cases
import keras
import numpy as np
import pytest
import tiny
from arrays import randomize

import zoo
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.tasks import Task

pytestmark = pytest.mark.parity
TEXTS = [*tiny.TEXTS[:4], "", "a", "a fine film " * 20]
PROMPTS = {"query": "a fine ", "document": "dull film "}
OFTEN = ["bert", "roberta", "distilbert"]
WITH_HEAD = [name for name in family_cases.ENCODERS if "masked_lm" in FAMILIES[family_cases.CASES[name].family].tasks]
AT_NIGHT = [pytest.param(name, marks=pytest.mark.slow) for name in WITH_HEAD if name not in (*OFTEN, "mpnet")]


def masked_lm(folder, family: str = "bert") -> None:
    """Save a masked language model with random weights, and more logits than there are tokens."""
    keras.utils.set_random_seed(0)
    size = tiny.tokenizer().vocabulary_size
    config = family_cases.CASES[family].small(
        vocabulary_size=size + 2, max_length=24, hidden_dim=32, pad_id=tiny.tokenizer().pad_id
    )
    task = Task("masked_lm", config, tiny.tokenizer())
    randomize(task.model, scale=0.2)  # larger weights would make roundings larger than the bound
    task.save(folder)


def theirs_of(folder, pooling: str = "max", activation: str = "relu", old: bool = False, **options):
    """Return a SparseEncoder on a saved masked language model."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

    first = MLMTransformer(str(folder)) if old else Transformer(str(folder), transformer_task="fill-mask")
    return SparseEncoder(modules=[first, SpladePooling(pooling, activation)], device="cpu", **options)


def read_by_them(folder):
    from sentence_transformers import SparseEncoder

    return SparseEncoder(str(folder), device="cpu")


def dense(encoder, texts=TEXTS, **options) -> np.ndarray:
    return encoder.encode(texts, convert_to_sparse_tensor=False, **options).numpy()


def check(folder, theirs, tmp_path) -> Task:
    """Compare the vectors of a folder that they wrote, of what we write of it, and of what they read of that."""
    task = zoo.load(folder)
    expected = {name: dense(theirs, prompt_name=name) for name in (None, *theirs.prompts)}
    for name, vectors in expected.items():
        np.testing.assert_allclose(task.embed(TEXTS, prompt=name).dense(), vectors, atol=1e-5, rtol=1e-5)
    alone = np.concatenate([task.embed([text]).dense() for text in TEXTS[-3:]])
    np.testing.assert_allclose(alone, expected[None][-3:], atol=1e-5, rtol=1e-5)  # padding gives no weight
    task.save(tmp_path / "ours")
    task.save(tmp_path / "ours")  # a folder that a save has written may be replaced
    again = read_by_them(tmp_path / "ours")
    assert (again.similarity_fn_name, again.max_active_dims) == (theirs.similarity_fn_name, theirs.max_active_dims)
    for name, vectors in expected.items():
        np.testing.assert_allclose(dense(again, prompt_name=name), vectors, atol=1e-6)
    return task


@pytest.mark.parametrize("family", [*OFTEN, *AT_NIGHT])
def test_each_family_both_ways(tmp_path, family):
    number = WITH_HEAD.index(family)
    masked_lm(tmp_path / "start", family)
    pooling, activation = ("max", "sum")[number % 2], ("relu", "log1p_relu")[number // 2 % 2]
    theirs = theirs_of(tmp_path / "start", pooling, activation, prompts=PROMPTS)
    theirs.save(str(tmp_path / "theirs"))
    task = check(tmp_path / "theirs", theirs, tmp_path)
    assert task.sparse == {"pooling": pooling, "activation": activation, "max_tokens": None}
    assert (task.name, task.similarity, task.max_length) == ("sentence_embedding", "dot", theirs.max_seq_length)


@pytest.mark.parametrize("pooling", ["max", "sum"])
def test_the_module_of_version_5(tmp_path, pooling):
    masked_lm(tmp_path / "start")
    options = {"prompts": PROMPTS, "default_prompt_name": "query", "similarity_fn_name": "cosine"}
    theirs = theirs_of(tmp_path / "start", pooling, "log1p_relu", old=True, max_active_dims=9, **options)
    theirs.save(str(tmp_path / "theirs"))
    modules = json.loads((tmp_path / "theirs/modules.json").read_text())
    for module in modules:  # as version 5.0 names and fills the files
        module["type"] = f"sentence_transformers.sparse_encoder.models.{module['type'].rpartition('.')[2]}"
    (tmp_path / "theirs/modules.json").write_text(json.dumps(modules))
    (tmp_path / "theirs/sentence_bert_config.json").write_text('{"max_seq_length": 12, "do_lower_case": false}')
    path = tmp_path / "theirs/1_SpladePooling/config.json"
    path.write_text(json.dumps({"word_embedding_dimension": 30, **json.loads(path.read_text())}))
    task = check(tmp_path / "theirs", read_by_them(tmp_path / "theirs"), tmp_path)
    assert task.max_length == 12 and [len(task.embed(TEXTS)[number][0]) for number in (0, 4)] == [9, 9]


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # of PyTorch, for what they compute
def test_search_and_similarity(tmp_path):
    masked_lm(tmp_path / "start")
    theirs = theirs_of(tmp_path / "start", prompts=PROMPTS)
    theirs.save(str(tmp_path / "theirs"))
    task, queries = zoo.load(tmp_path / "theirs"), TEXTS[:3]
    for name in ("dot", "cosine", "euclidean", "manhattan"):
        theirs.similarity_fn_name = name
        asked, read = theirs.encode_query(queries), theirs.encode_document(TEXTS)
        expected = theirs.similarity(asked, read).to_dense().numpy()
        for row, scores in zip(task.search(queries, TEXTS, similarity=name), expected, strict=True):
            np.testing.assert_allclose([hit["score"] for hit in row], sorted(scores, reverse=True), rtol=1e-4)
            assert row[0]["text"] == TEXTS[row[0]["index"]]
    tokens = theirs.decode(theirs.encode(queries[:1]), top_k=5)[0]
    answer = task.predict(queries[:1])[0]
    assert answer["tokens"][:5] == [token for token, _ in tokens]
    np.testing.assert_allclose(answer["weights"][:5], [weight for _, weight in tokens], atol=1e-5)


@pytest.mark.integration
def test_export_in_a_process_of_its_own(tmp_path):
    masked_lm(tmp_path / "start")
    theirs = theirs_of(tmp_path / "start", "sum", prompts=PROMPTS)
    theirs.save(str(tmp_path / "theirs"))
    task = zoo.load(tmp_path / "theirs")
    task.export(tmp_path / "1")
    request = {"text": TEXTS, "prompt": ["dull film "] * len(TEXTS)}
    pairs = {"text": TEXTS[:2], "text_pair": TEXTS[2:4]}
    requests = {"serving_default": {"text": TEXTS}, "query": {"text": TEXTS}, "prompted": request, "similarity": pairs}
    answers = bare.ask(tmp_path / "1", requests)
    for signature, name in (("serving_default", None), ("query", "query"), ("prompted", "document")):
        expected, answer = dense(theirs, prompt_name=name), answers[signature]
        assert len(answer["token_ids"][0]) == (expected > 0).sum(axis=1).max()
        for ids, weights, vector in zip(answer["token_ids"], answer["weights"], expected, strict=True):
            count = (vector > 0).sum()
            np.testing.assert_allclose(weights[:count], vector[ids[:count]], atol=1e-5, rtol=1e-5)
            assert {*ids[count:]} <= {-1} and not any(weights[count:])
            assert weights == sorted(weights, reverse=True)
    first, second = dense(theirs, TEXTS[:2]), dense(theirs, TEXTS[2:4])
    np.testing.assert_allclose(answers["similarity"]["similarity"], (first * second).sum(axis=1), rtol=1e-5)
