"""What a task did before is freed: graphs, gradients and models do not become more from call to call."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import keras
import pytest
import tiny
from translating import seq2seq_lm, text_of

from keras_transformers.checkpoints.names import task_names
from keras_transformers.families import gpt2
from keras_transformers.tasks import Task

TEXTS, OTHERS = ["a fine film", "a dull day"] * 2, ["a warm film", "a cold day"] * 2
SOURCES = [text_of([5, 6, 7]), text_of([8, 9])] * 2
FIT = {"epochs": 1, "batch_size": 4, "verbose": 0}
# What a task learns from, and what it predicts.
DATA = {
    "causal_lm": ({"texts": TEXTS}, (TEXTS,)),
    "classification": ({"texts": TEXTS, "labels": [0, 1] * 2}, (TEXTS,)),
    "masked_lm": ({"texts": TEXTS}, (["a [MASK] film"],)),
    "multiple_choice": ({"texts": TEXTS, "labels": [0, 1] * 2, "pairs": [OTHERS[:2]] * 4}, (TEXTS, [OTHERS[:2]] * 4)),
    "pretraining": ({"texts": tiny.DOCUMENTS * 2}, (["a [MASK] film"],)),
    "question_answering": ({"texts": TEXTS, "labels": [(0, "a")] * 4, "pairs": OTHERS}, (TEXTS, OTHERS)),
    "ranking": ({"texts": TEXTS, "labels": [0, 1] * 2, "pairs": OTHERS}, (TEXTS, OTHERS)),
    "sentence_embedding": ({"texts": TEXTS, "pairs": OTHERS}, (TEXTS,)),
    "seq2seq_lm": ({"texts": SOURCES, "labels": SOURCES}, (SOURCES,)),
    "token_classification": ({"texts": [["a", "film"]] * 4, "labels": [[0, 1]] * 4}, (TEXTS,)),
}


def make(name: str) -> Task:
    if name == "seq2seq_lm":
        return seq2seq_lm(num_layers=1, dropout=0.0)
    if name == "causal_lm":
        return Task(name, gpt2(313, 1, 2, 16, max_length=16), tiny.byte_tokenizer())
    return Task(name, tiny.config(), tiny.tokenizer(), **({"labels": 2} if "classification" in name else {}))


def alive() -> dict[str, int]:
    from tensorflow.python.framework.func_graph import FuncGraph
    from tensorflow.python.framework.ops import gradient_registry

    gc.collect()
    things = gc.get_objects()
    kinds = {"graphs": FuncGraph, "models": keras.Model, "metrics": keras.metrics.Metric}
    counts = {name: sum(isinstance(thing, kind) for thing in things) for name, kind in kinds.items()}
    return counts | {"gradients": len(gradient_registry.list())}


def assert_flat(call: Callable[[], object]) -> None:
    """The first calls may leave something behind, the third nothing more."""
    call(), call()
    before = alive()
    call()
    assert alive() == before


@pytest.mark.integration
def test_fit_frees_its_graph():
    task, (learnt, _) = make("classification"), DATA["classification"]
    assert_flat(lambda: task.fit(**learnt, **FIT))


@pytest.mark.slow
@pytest.mark.parametrize("name", task_names())
def test_every_call_of_every_task(name, tmp_path):
    task, (learnt, asked) = make(name), DATA[name]
    assert_flat(lambda: task.fit(**learnt, **FIT))
    assert_flat(lambda: task.evaluate(**learnt))
    assert_flat(lambda: task.predict(*asked))
    assert_flat(lambda: task.export(tmp_path / "1"))
    if task.kind.writes_text:
        settings = iter([{"num_beams": 2}, {"stop": ["a"]}, {"max_new_tokens": 3, "temperature": 1.0, "num_beams": 1}])
        assert_flat(lambda: task.generate(*asked, **next(settings)))


@pytest.mark.slow
@pytest.mark.parametrize("name", task_names())
def test_a_task_that_is_dropped_is_freed(name, tmp_path):
    def use() -> weakref.ref:
        task, (learnt, asked) = make(name), DATA[name]
        task.fit(**learnt, **FIT)
        task.predict(*asked)
        task.export(tmp_path / "1")
        return weakref.ref(task.model)

    assert_flat(use)
    model = use()
    gc.collect()
    assert model() is None
