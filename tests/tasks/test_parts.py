from __future__ import annotations

from pathlib import Path

import pytest
import tiny

from keras_transformers import tasks
from keras_transformers.checkpoints.names import task_names
from keras_transformers.tasks import Task
from keras_transformers.tasks.parts import find_kind


@pytest.mark.parametrize("name", task_names())
def test_the_file_of_a_task_is_its_name(name):
    kind = find_kind(name)
    assert kind.name == name and (Path(tasks.__file__).parent / f"{name}.py").is_file()
    assert not kind.options & {"max_length", "outputs", "dtype"}  # those of every task


@pytest.mark.parametrize("name", ["summarize", None, "parts", "task"])
def test_an_unknown_task(name):
    with pytest.raises(ValueError, match=rf"one of \['causal_lm', 'classification'.*received {name!r}"):
        Task(name, tiny.config(), tiny.tokenizer())


def test_an_unknown_option():
    with pytest.raises(ValueError, match=r"masked_lm has no options \['labels'\]; it has \['whole_word'\]"):
        Task("masked_lm", tiny.config(), tiny.tokenizer(), labels=["a", "b"])


def test_a_model_of_another_kind():
    with pytest.raises(ValueError, match=r"causal_lm needs a model of kind \('decoder',\): received a encoder"):
        Task("causal_lm", tiny.config(), tiny.tokenizer())


def test_what_a_task_alone_has():
    task = tiny.classifier()
    assert task.labels == tiny.NAMES and task.problem == "single_label" and {"labels", "predict"} <= set(dir(task))
    for name in ("align", "generate", "stream", "generation", "labelz"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(task, name)
        assert not hasattr(task, name)


@pytest.mark.parametrize("make", [tiny.masked_lm, tiny.pretraining])
def test_tasks_that_take_no_pairs(make):
    with pytest.raises(ValueError, match="takes no pairs, and received some"):
        make().predict(["a"], ["b"])
