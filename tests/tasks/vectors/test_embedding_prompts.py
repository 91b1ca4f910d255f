"""Prompts: which one is taken, what is left out of the pooling, in `fit`, in searches and in exports."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import tiny
from arrays import randomize
from processes import run_on_jax

import zoo
from keras_transformers.tasks import Task
from keras_transformers.tasks.vectors.embedding_prompts import Prompts

PROMPTS = {"query": "a fine ", "passage": "dull: "}
TEXTS = ["film", "a grey day", ""]


def make(**options) -> Task:
    keras.utils.set_random_seed(0)
    task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **({"prompts": PROMPTS} | options))
    randomize(task.model, scale=0.3)
    return task


@pytest.fixture(scope="module")
def task():
    return make()


def test_which_prompt_is_taken():
    prompts = Prompts(PROMPTS | {"document": ""}, "passage")
    assert prompts.text_of(None) == "dull: " and prompts.text_of("query") == "a fine "
    assert prompts.text_of(None, "mine: ") == "mine: " and prompts.text_of(None, "") == ""
    assert (prompts.query, prompts.document) == ("a fine ", "dull: ")  # of documents, the one that is not empty
    assert (Prompts({"document": ""}, "document").query, Prompts({"s2s": "s: "}, "s2s").document) == ("", "s: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"query": 5},), "prompts must be texts: received 5 for 'query'"), ((["query: "],), "texts by name, such as"),
        (({"": "a"},), "texts by name, such as"), ((PROMPTS, "task"), r"default_prompt must be one of \['pass"),
        ((PROMPTS, None, 1), "include_prompt must be True or False: received 1"),
    ],
)  # fmt: skip
def test_prompts_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        Prompts(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": "title"}, r"prompt must be one of \['passage', 'query'\]: received 'title'.* takes prompt_text="),
        ({"prompt": "query", "prompt_text": "a"}, "leave one of them out"), ({"prompt_text": 5}, "prompt_text must be"),
        ({"truncate_dim": 17}, r"truncate_dim must be in \[1, 16\].* received 17"), ({"truncate_dim": 0}, "in .1, 16."),
        ({"precision": "int4"}, "precision must be one of .*'ubinary'.*: received 'int4'"),
        ({"precision": np.array(["int8", "int8"])}, "precision must be one of"),
        ({"ranges": np.zeros((2, 16))}, "received some with precision='float32'. Leave them out"),
    ],
)  # fmt: skip
def test_what_embed_refuses(task, options, message):
    with pytest.raises(ValueError, match=message):
        task.embed(TEXTS, **options)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("query", "the names of one for each column"), ([], "the names of one for each column"),
        (["title"], "prompt must be one of"), ([None] * 3, "received 3 prompts for rows of 2 texts"),
    ],
)  # fmt: skip
def test_what_fit_refuses(task, names, message):
    with pytest.raises(ValueError, match=message):
        task.dataset(["a"], pairs=["b"], prompts=names)


def test_a_prompt_that_is_not_pooled_is_not_learned_from():
    with pytest.raises(ValueError, match=r"leaves prompts out of the pooling.* received \['a fine '\]"):
        make(include_prompt=False).dataset(["a"], pairs=["b"], prompts=["query"])


@pytest.mark.integration
@pytest.mark.parametrize("default", [None, "query"])
def test_a_prompt_is_text_before_the_text(default):
    task = make(default_prompt=default)
    plain = make(prompts={})
    for name, text in PROMPTS.items():
        expected = plain.embed([text + one for one in TEXTS])
        np.testing.assert_allclose(task.embed(TEXTS, prompt=name), expected, atol=1e-6)
        np.testing.assert_allclose(task.embed(iter(TEXTS), prompt_text=text), expected, atol=1e-6)
        np.testing.assert_allclose(plain.embed(TEXTS, prompt_text=text), expected, atol=1e-6)
    np.testing.assert_allclose(task.embed(TEXTS, prompt_text=""), plain.embed(TEXTS), atol=1e-6)
    np.testing.assert_allclose(task.embed(TEXTS), task.embed(TEXTS, prompt=default), atol=1e-6)
    assert task.embed([], prompt="query").shape == (0, 16)


@pytest.mark.integration
def test_fit_puts_prompts_before_texts():
    task, plain = make(default_prompt="passage"), make(prompts={})

    def first(task, *columns, **options):
        return next(iter(task.dataset(columns[0], pairs=columns[1], shuffle=False, **options)))

    inputs, labels = first(task, ["film", "day"], ["a", "a"], prompts=["query", "passage"])
    expected, _ = first(plain, ["a fine film", "a fine day"], ["dull: a", "dull: a"])
    np.testing.assert_array_equal(inputs["token_ids"], expected["token_ids"])
    assert labels.numpy()[0] == labels.numpy()[1]  # by the texts as they were given
    inputs, _ = first(task, ["film"], [["a", "day"]])
    expected, _ = first(plain, ["dull: film"], [["dull: a", "dull: day"]])
    np.testing.assert_array_equal(inputs["token_ids"], expected["token_ids"])


@pytest.mark.integration
@pytest.mark.parametrize("include_prompt", [True, False])
def test_prompts_are_in_the_export(tmp_path, include_prompt):
    task = make(include_prompt=include_prompt, default_prompt="query", pooling=["mean", "first"])
    task.export(tmp_path / "1", truncate_dim=20)
    requests = {name: {"text": TEXTS} for name in ("serving_default", "query", "document")}
    requests |= {"prompted": {"text": TEXTS, "prompt": ["a ", "", "grey: "]}}
    requests |= {"similarity": {"text": TEXTS, "text_pair": TEXTS[::-1]}}
    served = bare.ask(tmp_path / "1", requests)
    expected = {name: task.embed(TEXTS, prompt=name) for name in ("query", "passage")}
    rows = zip(*requests["prompted"].values(), strict=True)
    single = np.concatenate([task.embed([text], prompt_text=prompt) for text, prompt in rows])
    for name, vectors in [("serving_default", expected["query"]), ("query", expected["query"]),
                          ("document", expected["passage"]), ("prompted", single)]:  # fmt: skip
        np.testing.assert_allclose(served[name]["embedding"], vectors[:, :20], atol=1e-5)
    cut = expected["query"][:, :20] / np.linalg.norm(expected["query"][:, :20], axis=1, keepdims=True)
    np.testing.assert_allclose(served["similarity"]["similarity"], (cut * cut[::-1]).sum(1), atol=1e-5)


@pytest.mark.integration
def test_a_prompt_that_is_not_pooled_still_changes_the_vector():
    whole, left_out = make(), make(include_prompt=False)
    assert np.abs(whole.embed(TEXTS, prompt="query") - left_out.embed(TEXTS, prompt="query")).max() > 1e-2
    assert np.abs(left_out.embed(TEXTS) - left_out.embed(TEXTS, prompt="query")).max() > 1e-2
    np.testing.assert_allclose(left_out.embed(TEXTS), whole.embed(TEXTS), atol=1e-6)


@pytest.mark.integration
def test_prompts_are_saved(tmp_path):
    make(default_prompt="passage", include_prompt=False).save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert (loaded.prompts, loaded.default_prompt, loaded.include_prompt) == (PROMPTS, "passage", False)
    other = zoo.load(tmp_path / "model", prompts={"passage": "p: "}, include_prompt=True)
    assert (other.prompts, other.default_prompt, other.include_prompt) == ({"passage": "p: "}, "passage", True)
    bare = zoo.load(tmp_path / "model", prompts={}, include_prompt=True)  # without the one that was the default
    assert (bare.prompts, bare.default_prompt) == ({}, None)


@pytest.mark.integration
def test_prompts_that_are_empty_are_saved(tmp_path):
    Task("sentence_embedding", tiny.config(), tiny.tokenizer(), prompts={"query": ""}).save(tmp_path / "model")
    assert zoo.load(tmp_path / "model").prompts == {"query": ""}


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a"], {}, "of at least 2 texts"), (["a", "b"], {"ranges": np.zeros((2, 3))}, r"finite floats \(2, 16\)"),
        (["a", "b"], {"truncate_dim": 3, "ranges": np.zeros((2, 16))}, r"finite floats \(2, 3\)"),
        (["a", "b"], {"ranges": [[0.0], [1.0, 2.0]]}, r"finite floats \(2, 16\)"),
    ],
)  # fmt: skip
def test_ranges_are_checked_before_texts_are_read(task, texts, options, message, monkeypatch):
    monkeypatch.setattr(type(task.parts.answers), "predict", None)
    with pytest.raises(ValueError, match=message):
        task.embed(texts, precision="int8", **options)


def test_entries_have_the_prompts_of_their_cards():
    """Their folders on the hub name none."""
    assert {name: zoo.describe(name).prompts for name in ("multilingual_e5_small", "bge_small_en", "bge_m3")} == {
        "multilingual_e5_small": {"query": "query: ", "passage": "passage: "},
        "bge_small_en": {"query": "Represent this sentence for searching relevant passages: "},
        "bge_m3": {},
    }


JAX = """
import keras, numpy as np, tiny
from arrays import randomize
from keras_transformers.tasks import Task
keras.utils.set_random_seed(0)
prompts = {"query": "a fine ", "passage": "dull: "}
dense = [{"units": 8, "activation": "tanh"}]
options = {"default_prompt": "passage", "include_prompt": False, "pooling": ["max", "last", "first"], "dense": dense}
task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), prompts=prompts, matryoshka=[8, 4], **options)
assert np.abs(task.embed(tiny.TEXTS, prompt="query") - task.embed(tiny.TEXTS)).max() > 1e-3
np.testing.assert_allclose(task.embed(["a"]), task.embed(["a"] * 3, prompt_text="dull: ")[:1], atol=1e-6)
task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), matryoshka=[16, 4])
history = task.fit(tiny.TEXTS, tiny.LABELS, pairs=tiny.TEXTS, **(tiny.FIT | {"epochs": 2})).history
assert history["loss"][-1] < history["loss"][0], history
print("done")
"""


@pytest.mark.slow
def test_without_tensorflow():
    assert run_on_jax(JAX) == "done\n"
