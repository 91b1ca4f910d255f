"""What a task did before is freed: graphs, gradients and models do not become more from call to call."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import keras
import pytest
from every_task import FIT, USES, make

from keras_transformers.checkpoints.names import task_names
from keras_transformers.data.sources.rows import Rows


def alive() -> dict[str, int]:
    from tensorflow.python.framework.func_graph import FuncGraph
    from tensorflow.python.framework.ops import gradient_registry

    gc.collect()
    things = gc.get_objects()
    kinds = {"graphs": FuncGraph, "models": keras.Model, "metrics": keras.metrics.Metric, "rows": Rows}
    counts = {name: sum(isinstance(thing, kind) for thing in things) for name, kind in kinds.items()}
    return counts | {"gradients": len(gradient_registry.list())}


def assert_flat(call: Callable[[], object]) -> None:
    """The first calls may leave something behind, the third nothing more."""
    call(), call()
    before = alive()
    call()
    after = alive()
    assert all(after[name] <= before[name] for name in before), (before, after)


@pytest.mark.integration
def test_fit_frees_its_graph():
    task, (learnt, _) = make("classification"), USES["classification"]
    assert_flat(lambda: task.fit(**learnt, **FIT))


@pytest.mark.slow
@pytest.mark.parametrize("name", task_names())
def test_every_call_of_every_task(name, tmp_path):
    task, (learnt, asked) = make(name), USES[name]
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
        task, (learnt, asked) = make(name), USES[name]
        task.fit(**learnt, **FIT)
        task.predict(*asked)
        task.export(tmp_path / "1")
        return weakref.ref(task.model)

    assert_flat(use)
    model = use()
    gc.collect()
    assert model() is None
