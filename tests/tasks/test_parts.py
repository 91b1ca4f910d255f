from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import tiny

from keras_transformers import tasks
from keras_transformers.checkpoints.names import task_names
from keras_transformers.tasks import Task
from keras_transformers.tasks.parts import Setup, find_kind
from keras_transformers.text.tokenizer import Tokenizer


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


@pytest.mark.integration
def test_tasks_of_a_tokenizer_share_its_graph_and_free_it():
    tokenizer = Tokenizer.train(tiny.TEXTS, vocabulary_size=60)
    setups = [
        Setup(find_kind("masked_lm"), tiny.config(pad_id=pad_id), tokenizer, 16, (), "float32") for pad_id in (0, 0, 1)
    ]
    graphs = [setup.text_graph for setup in setups]
    assert graphs[0] is graphs[1] and graphs[0] is not graphs[2]
    assert [graph.pad_id for graph in graphs] == [0, 0, 1]

    freed = weakref.ref(graphs[0])
    del graphs, setups, tokenizer
    gc.collect()
    assert freed() is None
