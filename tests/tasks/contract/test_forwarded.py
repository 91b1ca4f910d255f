"""`help(task.predict)` and `help(task.export)` tell what this task returns and serves: all of it, and nothing else."""

from __future__ import annotations

import inspect
import pydoc
import re
from functools import cache
from typing import Any

import every_task
import pytest
import tiny
from questions import untraced

from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.generation.decoding import SAMPLES
from keras_transformers.generation.request import SAMPLING_PARAMETERS
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers import pair_scores, zero_shot
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.written_answers import Writing
from keras_transformers.tasks.contract.forwarded import find_section, with_section
from keras_transformers.tasks.contract.kind import find_kind

# Options by which a task returns other keys than the one of `every_task`.
OTHER_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "classification": [
        *({"labels": 2, "problem": problem} for problem in ("multi_label", "regression")),
        {"labels": ["contradiction", "entailment"]},
        {"labels": 1_001},
    ],
    "token_classification": [{"labels": ["O", "B-x", "I-x"]}],
    "sentence_embedding": [{"prompts": {"query": "find: ", "document": ""}}, {"sparse": {"pooling": "max"}}],
    "ranking": [{"prompts": {"query": "find: "}}],
}
FEW = {"max_new_tokens": 1}
NAMES = [  # those that generate are traced, which takes seconds
    pytest.param(name, marks=pytest.mark.integration) if find_kind(name).writes_text else name for name in task_names()
]


@pytest.fixture(autouse=True)
def choices_in_python(monkeypatch):
    for module in (pair_scores, zero_shot):
        monkeypatch.setattr(module, "on_tensorflow", lambda: False)


@cache
def variants(name: str) -> list[Task]:
    """Return a task with each of the options that matter here, without a trace where it answers in one pass."""
    others = [Task(name, tiny.config(), tiny.tokenizer(), **options) for options in OTHER_OPTIONS.get(name, ())]
    return [task if task.kind.writes_text else untraced(task) for task in (every_task.make(name), *others)]


def named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def keys(prediction: dict[str, Any]) -> set[str]:
    """Return the keys of a prediction and of the records in it, not those of a dict by label."""
    records = [
        one for value in prediction.values() if isinstance(value, list) for one in value if isinstance(one, dict)
    ]
    return set(prediction).union(*records)


def asked(task: Task, name: str) -> list[tuple[list, ...]]:
    """Return the arguments of each way to call `predict`: with and without pairs, if the task takes both."""
    columns = every_task.USES[name].asked
    takes_both = task.kind.takes_pairs and not task.kind.needs_pairs
    return [columns, (*columns, columns[0])] if takes_both else [columns]


@pytest.mark.integration(quick=["replaced_tokens", "masked_lm", "pretraining"])
@pytest.mark.parametrize("name", NAMES)
def test_help_names_the_keys_that_predict_returns(name):
    returned = set()
    for task in variants(name):
        options = FEW if task.kind.writes_text else {}
        for columns in asked(task, name):
            returned |= keys(task.predict(*columns, **options)[0])
    told = named(find_section(task.predict, "Returns"))
    assert returned <= told
    known = {"max_length", *SAMPLING_PARAMETERS, *task.kind.options, *inspect.signature(task.predict).parameters}
    known |= {*inspect.signature(Writing.predict).parameters} if task.kind.writes_text else set()
    assert not told - returned - known


@pytest.mark.integration(quick=["masked_lm", "multiple_choice", "pretraining", "replaced_tokens"])
@pytest.mark.parametrize("name", NAMES)
def test_help_names_what_the_export_takes_and_returns(name):
    served = set()
    for task in variants(name):
        answers = task.parts.answers
        if task.kind.writes_text:
            functions = task.service.signatures(answers.request(1), 1) | answers.score_functions(task.service.module)
            functions |= answers.choose_functions(task.service, answers.request(1), 1, SAMPLES)
            for signature, function in functions.items():
                served |= {signature, *function.get_concrete_function().structured_outputs}
            served |= {"text", "stop", "choices", "continuation", "choose"}  # the last one with an end token
            if task.kind.takes_messages:  # with a chat template: tests/generation/test_chat_service.py
                served |= {"chat", "generate_chat", "role", "content"}
            continue
        for signature, function in answers.signatures.items():
            texts, *others = asked(task, name)[0]
            columns = (texts, *others, texts, texts)[: len(function.inputs)]
            rows = answers.read_columns[: len(columns)]
            columns = [read(column) for read, column in zip(rows, columns, strict=True)]
            served |= {signature, *function.inputs, *answers.service.run(signature, columns)}
    told = named(find_section(task.export, "Signatures"))
    assert served <= told
    assert not told - served - {"num_sequences", *SAMPLING_PARAMETERS, *task.kind.options}


@pytest.mark.parametrize("method", [OnePass.predict, OnePass.export, Writing.predict, Writing.export])
def test_what_tasks_share_lists_no_keys(method):
    sections = [find_section(method, title) for title in ("Returns", "Signatures")]
    assert not named("".join(sections)) - {"serving_default", "generate", "choose", "score"}


def test_help_is_that_of_the_method():
    task = tiny.classifier()
    shown = pydoc.plain(pydoc.render_doc(task.predict))
    assert "predict(texts" in shown and "batch_size" in shown and "Raises:" in shown and "`label` (str)" in shown
    assert "`label` (str)" not in inspect.getdoc(OnePass.predict)


def test_a_method_without_docstring_stays_without():
    assert with_section(lambda number: number, "Returns", "    A number.\n")(2) == 2
