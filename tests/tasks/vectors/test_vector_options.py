"""How a vector is made: dense layers, widths, and what is refused."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tiny
from arrays import randomize

import zoo
from keras_transformers.tasks import Task
from keras_transformers.tasks.vectors.quantized import vector_ranges

TEXTS = list(tiny.TEXTS)
DENSE = [{"units": 12, "activation": "tanh"}, {"units": 10, "use_bias": False}]


def make(**options) -> Task:
    keras.utils.set_random_seed(0)
    return Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": []}, "pooling must be one of .* or a list of several"), ({"pooling": ["max", "max"]}, "or a list"),
        ({"pooling": 5}, "received 5"), ({"pooling": [["mean"]]}, "or a list"),
        ({"dense": 5}, "dense must be a list of at most 7 layers"), ({"dense": [{}]}, r"such as .*: received {}"),
        ({"dense": [{"units": 0}]}, "dense must be"), ({"dense": [{"units": 4, "dropout": 1}]}, "received .*'dropout'"),
        ({"dense": [{"units": 4, "use_bias": 1}]}, "dense must be"), ({"dense": [{"units": 4}] * 8}, "at most 7"),
        ({"dense": [{"units": 4, "activation": "mish"}]}, "is one of .*'sigmoid'.*: received .*'mish'"),
        ({"truncate_dim": 17}, r"truncate_dim must be in \[1, 16\]"), ({"truncate_dim": True}, "received True"),
        ({"dense": DENSE, "truncate_dim": 11}, r"in \[1, 10\]"),
        ({"matryoshka": [17]}, r"different widths in \[1, 16\], such as \[16, 8\], .*: received \[17\]"),
        ({"matryoshka": []}, "matryoshka must"), ({"matryoshka": [8, 8]}, "different widths"),
        ({"matryoshka": {8: 0.0}}, "weights above 0"), ({"matryoshka": {8: float("nan")}}, "weights above 0"),
        ({"matryoshka": 8}, "matryoshka must"), ({"matryoshka": "8"}, "matryoshka must"),
        ({"matryoshka": [[8]]}, "matryoshka must"), ({"matryoshka": [1, True]}, "matryoshka must"),
        ({"matryoshka": [8, np.int64(8)]}, "different widths"),
    ],
)  # fmt: skip
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.integration
def test_dense_layers_are_learned_saved_and_left_out(tmp_path):
    task = make(dense=DENSE, pooling=["mean", "first"])
    kernel = np.array(task.model.get_layer("vector_dense_0").kernel)
    assert kernel.shape == (32, 12)
    task.fit(TEXTS, tiny.LABELS, pairs=TEXTS, **(tiny.FIT | {"epochs": 2}))
    assert np.abs(kernel - np.array(task.model.get_layer("vector_dense_0").kernel)).max() > 1e-3
    task.save(tmp_path / "model")
    task.save(tmp_path / "model")  # a folder that a save has written may be replaced
    loaded = zoo.load(tmp_path / "model")
    assert loaded.dense == [{**DENSE[0], "use_bias": True}, {**DENSE[1], "activation": "linear"}]
    np.testing.assert_allclose(loaded.embed(TEXTS), task.embed(TEXTS), atol=1e-6)
    assert zoo.load(tmp_path / "model", dense=[]).embed(TEXTS).shape == (24, 32)
    assert zoo.load(tmp_path / "model", task="classification", labels=2).predict(["a"])
    with pytest.raises(ValueError, match=r"of another shape:\s+sentence_transformers\.0\.linear"):
        zoo.load(tmp_path / "model", dense=[{"units": 5}, DENSE[1]])


@pytest.mark.integration
def test_a_model_in_a_folder_of_its_own(tmp_path):
    """As sentence-transformers 1 wrote it."""
    task = make(dense=DENSE)
    task.save(tmp_path / "model")
    files = [path for path in (tmp_path / "model").iterdir() if path.is_file() and path.name != "modules.json"]
    (tmp_path / "model" / "0_Transformer").mkdir()
    for path in files:
        path.rename(path.parent / "0_Transformer" / path.name)
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    np.testing.assert_allclose(zoo.load(tmp_path / "model").embed(TEXTS), task.embed(TEXTS), atol=1e-6)


@pytest.mark.integration
def test_dense_layers_start_afresh_where_a_folder_has_none(tmp_path):
    make().save(tmp_path / "model")
    assert zoo.load(tmp_path / "model", dense=[{"units": 5}], seed=0).embed(TEXTS).shape == (24, 5)


@pytest.mark.integration
def test_convert_keeps_dense_layers_and_prompts(tmp_path):
    from zoo.loading.conversion import convert
    from zoo.loading.find import find

    task = make(dense=DENSE, prompts={"query": "a "}, truncate_dim=4)
    randomize(task.model)
    task.save(tmp_path / "model")
    convert(find(tmp_path / "model"), tmp_path / "other")
    other = zoo.load(tmp_path / "other")
    assert (other.prompts, other.truncate_dim) == ({"query": "a "}, 4)
    np.testing.assert_allclose(other.embed(TEXTS, prompt="query"), task.embed(TEXTS, prompt="query"), atol=1e-6)


@pytest.mark.integration
def test_widths(tmp_path):
    task = make(truncate_dim=6)
    whole = make()
    np.testing.assert_allclose(task.embed(TEXTS), whole.embed(TEXTS)[:, :6], atol=1e-6)
    np.testing.assert_allclose(whole.embed(TEXTS, truncate_dim=4), whole.embed(TEXTS)[:, :4], atol=1e-6)
    assert task.predict(["a"])[0]["embedding"].shape == (6,) and task.embed([]).shape == (0, 6)
    with pytest.raises(ValueError, match=r"truncate_dim must be in \[1, 6\]"):
        task.export(tmp_path / "1", truncate_dim=7)
    found, expected = (one.search(["a fine film"], TEXTS, **options) for one, options in
                       ((task, {}), (whole, {"truncate_dim": 6})))  # fmt: skip
    assert [hit["index"] for hit in found[0]] == [hit["index"] for hit in expected[0]]


@pytest.mark.integration
def test_vectors_that_were_learned_at_several_widths_may_be_cut():
    """The first two numbers tell labels apart, which they do not where the full width alone was learned."""

    def gap(task):
        """Of the mean cosines of texts of the same label and of different ones."""
        vectors = task.embed(TEXTS, truncate_dim=2)
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        same, cosines = np.equal.outer(tiny.LABELS, tiny.LABELS), vectors @ vectors.T
        return cosines[same].mean() - cosines[~same].mean()

    alike = [TEXTS[(row + 6) % 24] for row in range(24)]  # the same label, another noun
    gaps = []
    for widths in (None, {16: 1.0, 2: 1.0}):
        task = make(matryoshka=widths)
        task.fit(TEXTS, tiny.LABELS, pairs=alike, **(tiny.FIT | {"epochs": 4}))
        gaps.append(gap(task))
    assert gaps[1] > 1.0 > 0.5 > gaps[0]  # 1.37 and 0.21 as measured


@pytest.mark.integration
def test_vectors_of_few_bits():
    task = make()
    whole = task.embed(TEXTS)
    ranges = vector_ranges(whole)
    short, bits = task.embed(TEXTS, precision="int8", ranges=ranges), task.embed(TEXTS, precision="ubinary")
    assert (short.shape, short.dtype, bits.shape, bits.dtype) == ((24, 16), np.int8, (24, 2), np.uint8)
    (found,), (expected,) = (
        task.search([TEXTS[3]], corpus, top=3, **options) for corpus, options in
        ((short, {"ranges": ranges}), (whole, {}))
    )  # fmt: skip
    assert found[0]["index"] == expected[0]["index"] == 3
    assert found[0]["score"] == pytest.approx(expected[0]["score"], abs=1e-2)
    assert task.search([TEXTS[3]], bits, top=1, rescore_multiplier=24)[0][0]["score"] > 0.5
    with pytest.raises(ValueError, match="of at least 2 texts"):
        task.embed(["a"], precision="int8")
