"""Folders of sentence-transformers, both ways: vectors equal that library's, for each family and each module."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path

import family_cases
import keras
import numpy as np
import pytest
import tiny
from arrays import randomize

import zoo
from keras_transformers.tasks import Task
from keras_transformers.tasks.vectors.quantized import quantize, vector_ranges
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.wordpiece_vocabulary import MPNET_TOKENS

pytestmark = pytest.mark.parity
TEXTS = [*tiny.TEXTS[:4], "", "a", "a fine film " * 20]
PROMPTS = {"query": "a fine ", "passage": "dull film: "}
LEAST = 0.99999
POOLINGS = ("mean", "first", "last", "max", "weighted_mean", "mean_sqrt_length")


def tokenizer_of(family: str) -> Tokenizer:
    """Return BERT's tokenizer; for MPNet, whose format has padding as token 1, its own one; for decoders byte pairs."""
    if family in family_cases.DECODERS:
        return tiny.byte_tokenizer()
    if family != "mpnet":
        return tiny.tokenizer()
    words = [word for text in tiny.TEXTS for word in text.split()]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("\n".join(dict.fromkeys([*MPNET_TOKENS, *words, ":", ""])))
        return Tokenizer.from_folder(folder, {"model_type": family})


def make(family: str = "bert", **options) -> Task:
    tokenizer = tokenizer_of(family)
    keras.utils.set_random_seed(0)
    # Byte pairs have no padding, but the files of two families need some.
    pad_id = None if family in family_cases.DECODERS else tokenizer.pad_id
    pad_id = 1 if family in ("opt", "modernbert-decoder") else pad_id
    others = {"bos_id": 2, "eos_ids": (3,)} if family == "modernbert-decoder" else {}
    config = family_cases.CASES[family].small(
        vocabulary_size=tokenizer.vocabulary_size, max_length=24, hidden_dim=32, pad_id=pad_id, **others
    )
    task = Task("sentence_embedding", config, tokenizer, **options)
    randomize(task.model, scale=0.5)
    return task


def read_by_them(folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")


def least_cosine(ours: np.ndarray, theirs: np.ndarray) -> float:
    assert ours.shape == theirs.shape and np.corrcoef(ours).min() < 0.99  # texts are told apart
    ours, theirs = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (ours, theirs))
    return float((ours * theirs).sum(axis=1).min())


@pytest.mark.parametrize("family", family_cases.ENCODERS)
def test_each_family_both_ways(tmp_path, family):
    task = make(family, pooling=["first", "mean"], dense=[{"units": 12, "activation": "tanh"}], prompts=PROMPTS)
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    for name in (None, *PROMPTS):
        assert least_cosine(task.embed(TEXTS, prompt=name), theirs.encode(TEXTS, prompt_name=name)) >= LEAST
    theirs.save(str(tmp_path / "theirs"))  # in the form of its present version
    again = zoo.load(tmp_path / "theirs")
    assert least_cosine(again.embed(TEXTS, prompt="query"), theirs.encode(TEXTS, prompt_name="query")) >= LEAST
    assert again.max_length == task.max_length


# Learned positions count from the padding there, so that vectors depend on the other texts of a batch.
SIDES = [*itertools.product(family_cases.DECODERS, ["right"]), ("llama", "left")]


@pytest.mark.parametrize(("family", "padding_side"), SIDES)
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_decoders_both_ways(tmp_path, family, padding_side, pooling):
    """In causal attention, behind each text the token that the tokenizer puts there, which is padding for them, too."""
    task = make(family, pooling=pooling, prompts=PROMPTS)
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    theirs.tokenizer.padding_side = padding_side
    for name in (None, *PROMPTS):
        expected = theirs.encode(TEXTS, prompt_name=name)
        assert least_cosine(task.embed(TEXTS, prompt=name), expected) >= LEAST
        np.testing.assert_allclose(task.embed(TEXTS, prompt=name), expected, atol=1e-5)
    theirs.save(str(tmp_path / "theirs"))
    again = zoo.load(tmp_path / "theirs")
    assert (again.pooling, again.max_length) == (pooling, task.max_length)
    np.testing.assert_allclose(again.embed(TEXTS, prompt="query"), task.embed(TEXTS, prompt="query"), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("include_prompt", [True, False])
def test_each_way_of_pooling_with_a_default_prompt(tmp_path, include_prompt):
    for number, pooling in enumerate([*POOLINGS, ["max", "mean", "first"], ["first", "max", "mean"]]):
        options = {"default_prompt": "query", "include_prompt": include_prompt, "normalize": number % 2 == 0}
        task = make(pooling=pooling, prompts=PROMPTS, **options)
        task.save(tmp_path / str(number))
        theirs = read_by_them(tmp_path / str(number))
        np.testing.assert_allclose(task.embed(TEXTS), theirs.encode(TEXTS), atol=2e-5)
        for text in ("", "the day: "):
            expected = theirs.encode(TEXTS[:4], prompt=text)
            np.testing.assert_allclose(task.embed(TEXTS[:4], prompt_text=text), expected, atol=2e-5)
        again = zoo.load(tmp_path / str(number))
        np.testing.assert_allclose(again.embed(TEXTS), task.embed(TEXTS), atol=1e-6)


def test_prompts_of_searches(tmp_path):
    task = make(prompts=PROMPTS | {"document": "a cold day "})
    task.save(tmp_path / "model")
    theirs = read_by_them(tmp_path / "model")
    expected = theirs.encode_query(TEXTS[:4]) @ theirs.encode_document(TEXTS).T
    for row, scores in zip(task.search(TEXTS[:4], TEXTS, top=7), expected, strict=True):
        assert [hit["score"] for hit in row] == pytest.approx(sorted(scores, reverse=True), abs=1e-5)


OLD, NEW = "sentence_transformers.models.", "sentence_transformers."
NEW_TYPES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}


def as_old(path: Path, content: list[dict]) -> None:
    """Write a modules.json as version 1 did, and move the model to a folder of its own."""
    (path.parent / "0_Transformer").mkdir()
    for file in path.parent.iterdir():
        if file.is_file() and file.name not in ("modules.json", "config_sentence_transformers.json"):
            file.rename(path.parent / "0_Transformer" / file.name)
    content = [one | {"type": OLD + one["type"].rpartition(".")[2]} for one in content]
    path.write_text(json.dumps([content[0] | {"path": "0_Transformer"}, *content[1:]]))


@pytest.mark.parametrize("are_old", [True, False])
def test_folders_that_they_make(tmp_path, are_old):
    """Of several dense layers with each activation, with a bias and without, and a stored width."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling

    make().save(tmp_path / "start")
    torch.manual_seed(0)
    kinds = (torch.nn.Tanh, torch.nn.Identity, torch.nn.ReLU, torch.nn.GELU, torch.nn.SiLU, torch.nn.Sigmoid)
    widths = [64, 40, 30, 30, 20, 20, 10]
    dense = [
        Dense(wide, narrow, bias=number % 2 == 0, activation_function=kind())
        for number, (kind, (wide, narrow)) in enumerate(zip(kinds, itertools.pairwise(widths), strict=True))
    ]
    pooling = Pooling(32, ("weightedmean", "lasttoken"))
    modules = [read_by_them(tmp_path / "start")[0], pooling, *dense, Normalize()]
    theirs = SentenceTransformer(modules=modules, prompts=PROMPTS, default_prompt_name="passage", truncate_dim=7)
    theirs.save(str(tmp_path / "theirs"))
    path = tmp_path / "theirs" / "modules.json"
    content = json.loads(path.read_text())
    assert [module["type"] for module in content[:2]] == [NEW_TYPES["Transformer"], NEW_TYPES["Pooling"]]
    if are_old:
        as_old(path, content)

    theirs = SentenceTransformer(str(tmp_path / "theirs"), device="cpu")
    task = zoo.load(tmp_path / "theirs")
    assert (task.pooling, task.truncate_dim, task.default_prompt) == (["weighted_mean", "last"], 7, "passage")
    np.testing.assert_allclose(task.embed(TEXTS), theirs.encode(TEXTS), atol=1e-5)
    expected = theirs.encode(TEXTS, prompt_name="query", truncate_dim=5)
    np.testing.assert_allclose(task.embed(TEXTS, prompt="query", truncate_dim=5), expected, atol=1e-5)

    task.save(tmp_path / "ours")
    np.testing.assert_allclose(read_by_them(tmp_path / "ours").encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary", "float32"])
def test_quantized_vectors(precision):
    from sentence_transformers.util.quantization import quantize_embeddings

    random = np.random.default_rng(0)
    vectors, others = random.normal(size=(2, 300, 19)).astype("float32")
    vectors[:, 3] = others[:, 3] = 0.5  # a number that is always the same
    np.testing.assert_array_equal(quantize(vectors, precision), quantize_embeddings(vectors, precision))
    if precision.endswith("int8"):
        ranges = vector_ranges(others)
        expected = quantize_embeddings(vectors, precision, calibration_embeddings=others)
        np.testing.assert_array_equal(quantize(vectors, precision, ranges), expected)
        assert quantize(vectors, precision, ranges).dtype == expected.dtype
