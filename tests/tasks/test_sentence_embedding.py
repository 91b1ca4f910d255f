"""Sentence embeddings: each way to learn, answers and exports, search, folders, and what is refused."""

from __future__ import annotations

import json

import bare
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from arrays import randomize
from processes import run_on_jax

import zoo
from keras_transformers.tasks import Task

TEXTS = list(tiny.TEXTS)
OF = {name: [text for text, label in zip(TEXTS, tiny.LABELS, strict=True) if label == name] for name in tiny.NAMES}
OTHER = {"good": "bad", "bad": "good"}
ALIKE = [OF[label][(7 * row + 3) % 12] for row, label in enumerate(tiny.LABELS)]
UNLIKE = [OF[OTHER[label]][(5 * row + 2) % 12] for row, label in enumerate(tiny.LABELS)]
AXIS = {"good": np.eye(16)[0], "bad": np.eye(16)[1]}
DATA = {
    "ranking": {"pairs": ALIKE, "labels": tiny.LABELS},
    "cosine": {"pairs": ALIKE[:12] + UNLIKE[12:], "labels": [1.0] * 12 + [-1.0] * 12},
    "triplet": {"pairs": [list(pair) for pair in zip(ALIKE, UNLIKE, strict=True)]},
    "regression": {"labels": np.array([AXIS[label] for label in tiny.LABELS])},
}


def make(loss: str = "ranking", **options) -> Task:
    keras.utils.set_random_seed(0)
    return Task("sentence_embedding", tiny.config(), tiny.tokenizer(), loss=loss, **options)


@pytest.fixture(scope="module")
def task():
    task = make()
    task.fit(TEXTS, **DATA["ranking"], **tiny.FIT)
    return task


@pytest.mark.integration
@pytest.mark.parametrize(
    ("loss", "metric"),
    [
        ("ranking", "ranking_accuracy"), ("cosine", "pearson"), ("triplet", "triplet_accuracy"),
        ("regression", "mean_cosine"),
    ],
)  # fmt: skip
def test_each_loss_learns_what_belongs_together(loss, metric):
    task = make(loss)
    history = task.fit(TEXTS, **DATA[loss], **tiny.FIT).history
    assert history["loss"][-1] < 0.3 * history["loss"][0]
    assert task.evaluate(TEXTS, **DATA[loss])[metric] > 0.95
    near, far = (np.mean([row["similarity"] for row in task.predict(TEXTS, others)]) for others in (ALIKE, UNLIKE))
    assert near > far + 0.3


@pytest.mark.integration
def test_hard_negatives():
    task = make()
    lists = [[*pair] for pair in zip(ALIKE, UNLIKE, strict=True)]
    history = task.fit(TEXTS, tiny.LABELS, pairs=lists, **(tiny.FIT | {"epochs": 2})).history
    assert history["loss"][-1] < history["loss"][0]


def test_rows_with_the_same_second_text_are_not_told_apart():
    inputs, labels = next(iter(make().dataset(["a", "b", "c"], pairs=["x", "y", "x"], shuffle=False)))
    assert inputs["token_ids"].shape[:2] == (3, 2)
    assert labels.numpy()[0] == labels.numpy()[2] != labels.numpy()[1]


def test_names_of_any_length_are_told_apart():
    """And in little memory: an array of strings would hold each at the length of the longest, here 400 MB."""
    names = ["a", "a\0", "x" * 100_000, "a", *map(str, range(1000))]
    labels = make().parts.source(["b"] * len(names), names, ["c"] * len(names)).labels
    assert labels.tolist() == [0, 1, 2, 0, *range(3, 1003)] and labels.dtype == np.int32


@pytest.mark.integration
def test_evaluate_gives_spearman_over_all_pairs():
    task = make("cosine")
    randomize(task.model, scale=0.3)
    pairs, scores = TEXTS[5:] + TEXTS[:5], np.linspace(-1, 1, len(TEXTS))
    measured = task.evaluate(TEXTS, scores, pairs=pairs, batch_size=7)
    cosines = [row["similarity"] for row in task.predict(TEXTS, pairs)]
    assert np.diff(np.sort(cosines)).min() > 1e-4  # or else rounding would rank them
    ranks = [np.argsort(np.argsort(values)) for values in (cosines, scores)]
    assert measured["pearson"] == pytest.approx(np.corrcoef(cosines, scores)[0, 1], abs=1e-4)
    assert measured["spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("normalize", [True, False])
def test_pooling(pooling, normalize):
    task = make(pooling=pooling, normalize=normalize, outputs=["hidden_states"])
    inputs = next(iter(task.dataset(["a fine film", "a"], shuffle=False)))[0]
    states = task.model(inputs)["hidden_states"].numpy()[:, 0]  # (2, T, D)
    mask = inputs["padding_mask"].numpy()[:, 0, :, None]
    expected = (states * mask).sum(1) / mask.sum(1) if pooling == "mean" else states[:, 0]
    if normalize:
        expected /= np.linalg.norm(expected, axis=-1, keepdims=True)
    np.testing.assert_allclose(task.embed(["a fine film", "a"]), expected, atol=1e-5)


@pytest.mark.integration
def test_vectors_do_not_depend_on_neighbours(task):
    together = task.embed([*TEXTS, "", "film " * 40])
    assert together.shape == (26, 16) and together.dtype == np.float32
    alone = np.concatenate([task.embed([text]) for text in (*TEXTS[:3], "", "film " * 40)])
    np.testing.assert_allclose(together[[0, 1, 2, 24, 25]], alone, atol=1e-6)
    assert task.embed([]).shape == (0, 16)
    assert [row["truncated"] for row in task.predict(["film " * 40, "film"])] == [True, False]


@pytest.mark.integration
def test_export_in_a_process_of_its_own(task, tmp_path):
    task.export(tmp_path / "1")
    pairs = [TEXTS[:4], TEXTS[4:8]]
    requests = {"serving_default": {"text": pairs[0]}, "similarity": {"text": pairs[0], "text_pair": pairs[1]}}
    vectors, similar = bare.ask(tmp_path / "1", requests).values()
    assert set(vectors) == {"embedding", "truncated"}
    np.testing.assert_allclose(vectors["embedding"], task.embed(pairs[0]), atol=1e-5)
    assert similar["similarity"] == pytest.approx([row["similarity"] for row in task.predict(*pairs)], abs=1e-5)


@pytest.mark.integration
def test_search(task):
    corpus = TEXTS[::2]
    found = task.search(["a fine film", "a dull day"], corpus, top=5)
    scores = task.embed(["a fine film", "a dull day"]) @ task.embed(corpus).T
    for row, expected in zip(found, scores, strict=True):
        assert [hit["index"] for hit in row] == np.argsort(-expected, kind="stable")[:5].tolist()
        assert [hit["text"] for hit in row] == [corpus[hit["index"]] for hit in row]
        assert [hit["score"] for hit in row] == pytest.approx(sorted(expected, reverse=True)[:5], abs=1e-5)
    vectors = task.embed(corpus)
    assert [hit["index"] for hit in task.search(["a fine film"], vectors)[0]] == [
        hit["index"] for hit in task.search(["a fine film"], corpus)[0]
    ]
    assert len(task.search(["a"], ["b"], top=3)[0]) == 1 and task.search([], ["b"]) == []


@pytest.mark.integration
def test_save_and_load(task, tmp_path):
    task.save(tmp_path / "model")
    task.save(tmp_path / "model")  # a folder that a save has written may be replaced
    loaded = zoo.load(tmp_path / "model")
    assert (loaded.name, loaded.pooling, loaded.normalize, loaded.max_length) == (
        "sentence_embedding",
        "mean",
        True,
        16,
    )
    np.testing.assert_allclose(loaded.embed(TEXTS), task.embed(TEXTS), atol=1e-6)
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    assert [module["path"] for module in modules] == ["", "1_Pooling", "2_Normalize"]

    assert zoo.load(tmp_path / "model", labels=["a", "b"]).name == "classification"
    assert zoo.load(tmp_path / "model", pooling="first").pooling == "first"


@pytest.mark.integration
def test_vectors_as_they_are(tmp_path):
    task = make(pooling="first", normalize=False)
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert (loaded.pooling, loaded.normalize) == ("first", False)
    np.testing.assert_allclose(loaded.embed(TEXTS[:2]), task.embed(TEXTS[:2]), atol=1e-6)


@pytest.mark.integration
def test_adapters_are_served(task, tmp_path):
    task.save(tmp_path / "model")
    lora = zoo.load(tmp_path / "model", lora_rank=2)
    lora.fit(TEXTS, **DATA["ranking"], **(tiny.FIT | {"epochs": 2}))
    lora.save(tmp_path / "merged")
    np.testing.assert_allclose(zoo.load(tmp_path / "merged").embed(TEXTS), lora.embed(TEXTS), atol=1e-5)


@pytest.mark.integration(quick=["cosine-arguments13-received 'x' in row 1"])
@pytest.mark.parametrize(
    ("loss", "arguments", "message"),
    [
        ("ranking", {"texts": ["a"], "labels": [1]}, "takes pairs: received texts alone"),
        ("ranking", {"texts": ["a"]}, "takes pairs: received texts alone. Pass the second text of each as pairs"),
        ("triplet", {"texts": ["a"]}, "takes pairs: received texts alone"),
        ("ranking", {"texts": ["a", "b"], "pairs": ["c"]}, "2 texts and 1 pairs"),
        ("ranking", {"texts": ["a", "b"], "pairs": [["c"], ["d", "e"]]}, r"lists of \[1, 2\] texts"),
        ("ranking", {"texts": ["a"], "pairs": ["b"], "labels": "c"}, "one per row: received 'c'"),
        ("ranking", {"texts": ["a"], "pairs": ["b"], "labels": [None]}, "names or numbers, one per row: received None"),
        ("ranking", {"texts": ["a"], "pairs": ["b"], "labels": [["c"]]}, r"received \['c'\] in row 0"),
        ("ranking", {"texts": ["a"], "pairs": 5}, "Expected a list of str for `pairs`, received int"),
        ("ranking", {"texts": [], "pairs": []}, "empty"),
        ("cosine", {"texts": ["a"], "pairs": ["b"], "labels": [4.0]}, "from -1 to 1, one per pair: received 4.0 in"),
        ("cosine", {"texts": ["a"], "pairs": ["b"], "labels": [float("nan")]}, "received nan in row 0"),
        ("cosine", {"texts": ["a"], "pairs": ["b"], "labels": [None]}, "received None in row 0"),
        ("cosine", {"texts": ["a"] * 2, "pairs": ["b"] * 2, "labels": ["0.5", "x"]}, "received 'x' in row 1"),
        ("cosine", {"texts": ["a"], "pairs": ["b"], "labels": 0.5}, "a list of labels, one per row: received '0.5'"),
        ("cosine", {"texts": ["a"], "pairs": ["b"], "labels": ["x"]}, r"from -1 to 1, one per pair: received 'x'"),
        ("cosine", {"texts": ["a"], "pairs": ["b"]}, "needs labels, one per text .each a number from -1 to 1"),
        ("cosine", {"texts": ["a"], "pairs": [["b", "c"]], "labels": [0.5]}, "received 3 texts a row"),
        ("triplet", {"texts": ["a"], "pairs": ["b"]}, "received 2 texts a row"),
        ("regression", {"texts": ["a"], "labels": [[1.0, 2.0]]}, "finite vectors of 16 numbers"),
        ("regression", {"texts": ["a"], "labels": np.full((1, 16), np.inf)}, "finite vectors of 16 numbers"),
        ("regression", {"texts": ["a", "b"], "labels": np.eye(16)[:1]}, "1 labels for 2 rows"),
        ("regression", {"texts": ["a"]}, "needs labels, one per text .each a teacher's vector"),
    ],
)  # fmt: skip
def test_what_fit_refuses(loss, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(loss).fit(**arguments)


@pytest.mark.integration
def test_evaluate_takes_iterators():
    task = make("cosine")
    columns = {"texts": TEXTS[:4], "labels": [0.1, 0.2, 0.3, 0.4], "pairs": ALIKE[:4]}
    assert task.evaluate(**{name: iter(column) for name, column in columns.items()}) == task.evaluate(**columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "softmax"}, "loss must be one of"), ({"pooling": "least"}, "pooling must be one of"),
        ({"labels": ["a"]}, "labels belongs to task="), ({"loss": []}, "loss must be one of"),
        ({"normalize": "no"}, "normalize must be True or False: received 'no'"), ({"prompts": []}, "prompts are texts"),
    ],
)  # fmt: skip
def test_unknown_options(options, message):
    with pytest.raises(ValueError, match=message):
        Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **options)


@pytest.mark.integration(quick=["arguments0-options0-the corpus is empty"])
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a"], []), {}, "the corpus is empty"), ((["a"], ["b"]), {"top": 0}, "top must be at least 1"),
        (("a", ["b"]), {}, "received one str"), ((["a"], np.zeros((2, 3))), {}, "vectors of 16 numbers, the corpus"),
        ((["a"], np.zeros(3)), {}, r"float vectors \(N, D\)"),
    ],
)  # fmt: skip
def test_what_search_refuses(task, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        task.search(*arguments, **options)


def test_streams_are_refused():
    with pytest.raises(ValueError, match="texts in memory"):
        make().dataset(tf.data.Dataset.from_tensor_slices(["a"]))


JAX = """
import tiny
from keras_transformers.tasks import Task
task = Task("sentence_embedding", tiny.config(), tiny.tokenizer())
history = task.fit(tiny.TEXTS, tiny.LABELS, pairs=tiny.TEXTS, **(tiny.FIT | {"epochs": 3})).history
assert history["loss"][-1] < history["loss"][0], history
assert task.embed(["a fine film", ""]).shape == (2, 16)
assert abs(task.predict(["a fine film"], ["a fine film"])[0]["similarity"] - 1) < 1e-5
from keras_transformers.families import llama
config = llama(313, 1, 2, 16, 32, 16, initializer_range=0.2)
decoder = Task("sentence_embedding", config, tiny.byte_tokenizer(), pooling="last")
history = decoder.fit(tiny.TEXTS, tiny.LABELS, pairs=tiny.TEXTS, **(tiny.FIT | {"epochs": 3})).history
assert history["loss"][-1] < history["loss"][0], history
assert decoder.embed(["a fine film", ""]).shape == (2, 16)
choice = Task("multiple_choice", tiny.config(), tiny.tokenizer())
choice.fit(["a"] * 4, [0, 1, 0, 1], pairs=[["fine", "dull"]] * 4, **(tiny.FIT | {"epochs": 1}))
answers = choice.predict(["a", "b"], [["fine"], ["dull", "grey"]])
assert answers[0] == {"choice": 0, "probabilities": [1.0], "truncated": False}, answers
ranking = Task("ranking", tiny.config(), tiny.tokenizer())
assert len(ranking.rank("a film", ["fine", "dull", ""], top=2)) == 2
print("done")
"""


@pytest.mark.slow
def test_without_tensorflow():
    assert run_on_jax(JAX) == "done\n"
