"""Modules behind the pooling of sentence-transformers, in each order, and similarities, both ways."""

from __future__ import annotations

import json

import bare
import keras
import numpy as np
import pytest
import tiny
from arrays import randomize

import zoo
from keras_transformers.tasks import Task

pytestmark = pytest.mark.parity
TEXTS = [*tiny.TEXTS[:6], "", "a", "a fine film " * 9]
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def make(**options) -> Task:
    keras.utils.set_random_seed(0)
    task = Task("sentence_embedding", tiny.config(hidden_dim=32), tiny.tokenizer(), **options)
    randomize(task.model, scale=0.5)
    return task


def read_by_them(folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")


def modules_of(order: str, pooling: tuple[str, ...]) -> list:
    """Return modules of sentence-transformers by their first letters: D, L, O (Dropout) and N."""
    import torch
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling

    torch.manual_seed(0)
    width, modules = 32 * len(pooling), [Pooling(32, pooling)]
    for number, letter in enumerate(order):
        if letter == "D":
            activation = (torch.nn.Tanh, torch.nn.Identity, torch.nn.GELU)[number % 3]
            modules.append(Dense(width, 20 - number, bias=number % 2 == 0, activation_function=activation()))
            width = 20 - number
        elif letter == "L":
            modules.append(LayerNorm(width))
            torch.nn.init.normal_(modules[-1].norm.weight)
            torch.nn.init.normal_(modules[-1].norm.bias)
        else:
            modules.append({"O": lambda: Dropout(0.3), "N": Normalize}[letter]())
    return modules


POOLINGS = [("cls",), ("mean",), ("max", "lasttoken"), ("mean_sqrt_len_tokens",), ("weightedmean", "mean", "cls")]
OFTEN = ["ND", "LN", "ODLNDLN"]
AT_NIGHT = ["NDN", "DL", "LD", "OD", "DON", "NN", "NLDO", "DNDLN", "L", "N", "O", ""]
ORDERS = [*OFTEN, *(pytest.param(order, marks=pytest.mark.slow) for order in AT_NIGHT)]


@pytest.mark.parametrize("order", ORDERS)
def test_each_order(tmp_path, order):
    from sentence_transformers import SentenceTransformer

    make().save(tmp_path / "start")
    first = read_by_them(tmp_path / "start")[0]
    number = [*OFTEN, *AT_NIGHT].index(order)
    modules = [first, *modules_of(order, POOLINGS[number % len(POOLINGS)])]
    theirs = SentenceTransformer(modules=modules, similarity_fn_name=SIMILARITIES[number % 4])
    theirs.save(str(tmp_path / "theirs"))
    theirs = read_by_them(tmp_path / "theirs")
    expected = theirs.encode(TEXTS)
    task = zoo.load(tmp_path / "theirs")
    assert task.similarity == theirs.similarity_fn_name
    np.testing.assert_allclose(task.embed(TEXTS), expected, atol=1e-5)
    task.save(tmp_path / "ours")
    task.save(tmp_path / "ours")  # a folder that a save has written may be replaced
    again = read_by_them(tmp_path / "ours")
    assert again.similarity_fn_name == task.similarity
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_each_similarity(tmp_path, similarity):
    task = make(similarity=similarity, normalize=False)
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    assert theirs.similarity_fn_name == similarity
    queries = TEXTS[:4]
    expected = theirs.similarity(theirs.encode(queries), theirs.encode(TEXTS)).numpy()
    for row, scores in zip(zoo.load(tmp_path / "ours").search(queries, TEXTS, top=9), expected, strict=True):
        found = {hit["index"]: hit["score"] for hit in row}
        np.testing.assert_allclose([found[number] for number in range(9)], scores, rtol=1e-5, atol=2e-5)
        assert [hit["score"] for hit in row] == sorted(found.values(), reverse=True)
    pairwise = theirs.similarity_pairwise(theirs.encode(queries), theirs.encode(TEXTS[4:8])).numpy()
    answers = [row["similarity"] for row in task.predict(queries, TEXTS[4:8])]
    np.testing.assert_allclose(answers, pairwise, rtol=1e-5, atol=2e-5)


@pytest.mark.integration
def test_export_in_a_process_of_its_own(tmp_path):
    from sentence_transformers import SentenceTransformer

    make().save(tmp_path / "start")
    modules = [read_by_them(tmp_path / "start")[0], *modules_of("NDLOD", ("mean", "cls"))]
    theirs = SentenceTransformer(modules=modules, similarity_fn_name="euclidean", device="cpu")
    theirs.save(str(tmp_path / "theirs"))
    zoo.load(tmp_path / "theirs").export(tmp_path / "1")
    request = {"text": TEXTS[:4], "text_pair": TEXTS[4:8]}
    answers = bare.ask(tmp_path / "1", {"serving_default": {"text": TEXTS}, "similarity": request})
    expected = theirs.encode(TEXTS)
    np.testing.assert_allclose(answers["serving_default"]["embedding"], expected, atol=1e-5)
    distances = -np.linalg.norm(expected[:4] - expected[4:8], axis=1)
    np.testing.assert_allclose(answers["similarity"]["similarity"], distances, atol=1e-5)


def test_files_that_do_not_belong_together(tmp_path):
    """Weights of another shape than the settings say, and weights that are missing, are refused with their file."""
    make(dense=[{"units": 8}, {"layer": "layer_norm"}]).save(tmp_path / "ours")
    norm, dense = tmp_path / "ours" / "3_LayerNorm", tmp_path / "ours" / "2_Dense"
    weights = (norm / "model.safetensors").read_bytes()
    (norm / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"no weights in .*3_LayerNorm"):
        zoo.load(tmp_path / "ours")
    (norm / "model.safetensors").write_bytes(weights[:-8])
    with pytest.raises(ValueError, match="3_LayerNorm"):
        zoo.load(tmp_path / "ours")
    (norm / "model.safetensors").write_bytes(weights)
    settings = json.loads((dense / "config.json").read_text())
    (dense / "config.json").write_text(json.dumps(settings | {"out_features": 9}))
    (norm / "config.json").write_text('{"dimension": 9}')
    with pytest.raises(ValueError, match=r"sentence_transformers\.0\.linear\.bias is \(8,\)"):
        zoo.load(tmp_path / "ours")
