"""Options of tasks in `zoo.load`: their names and values are checked first, and help and editors list them."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

import zoo
from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.tasks.contract.kind import find_kind
from tests.helpers.tiny import NAMES
from zoo.loading.load import load

NOWHERE = "hf:nobody/nothing"  # asking for it would fail by itself, with another error
WRONG = {
    "labels": ["one", "one"], "problem": "guessing", "lm_weight": -1, "template": "no place", "pooling": "median",
    "dense": [{"units": 0}], "loss": "l1", "normalize": "yes", "prompts": ["query: "], "default_prompt": 1,
    "include_prompt": 1, "truncate_dim": 0, "similarity": "near", "sparse": {}, "matryoshka": [8, 8],
    "activation": "relu", "score_tokens": [1, 2, 3], "stride": 0, "max_answer_length": 0, "num_candidates": 1001,
    "no_answer": 1, "null_threshold": "0", "max_windows": 1.5, "whole_word": "yes", "label_smoothing": 1,
    "generation": {"temperatur": 1}, "chat_template": "{{", "crf": "yes",
    "pair_template": {"prefx": ""},
}  # fmt: skip
PAIRS = [
    (task, option)
    for task in task_names()
    for option in sorted(find_kind(task).options - {*find_kind(task).of_checkpoint})
]


def test_each_option_has_a_check():
    unchecked = [pair for pair in PAIRS if pair[1] not in find_kind(pair[0]).checks]
    unknown = [(task, name) for task in task_names() for name in find_kind(task).checks if (task, name) not in PAIRS]
    assert not unchecked and not unknown


def test_wrong_values_are_refused_before_any_work():
    for task, option in PAIRS:
        with pytest.raises(
            ValueError, match=f"{option}|labels|matryoshka|dense|generation settings|chat template"
        ) as fault:
            zoo.load(NOWHERE, task, **{option: WRONG[option]})
        assert "nobody" not in str(fault.value), (task, option)


def test_wrong_values_are_refused_without_a_task():
    for option in {option for _, option in PAIRS}:
        with pytest.raises(ValueError) as fault:
            zoo.load(NOWHERE, **{option: WRONG[option]})
        assert "nobody" not in str(fault.value), option


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        (
            "sentence_embedding",
            {"poolin": "mean"},
            "no option 'poolin': the nearest .*'pooling'. It",
        ),
        (None, {"poolin": "mean"}, "no task has an option 'poolin': the nearest name is 'pooling'. There are"),
        (None, {"max_lenght": 8}, "no task has an option 'max_lenght': the nearest name is 'max_length'"),
        ("ranking", {"normalize": True}, "normalize belongs to task='sentence_embedding': received it with 'ranking'"),
        ("seq2seq_lm", {"target_tokenizer": 1}, "seq2seq_lm has no option 'target_tokenizer'"),
        (None, {"made_for": "ranking"}, "no task has an option 'made_for'"),
        ("chat", {"labels": NAMES}, "task must be one of"),
    ],
)
def test_unknown_options_are_refused_before_any_work(task, options, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(NOWHERE, task, **options)


@pytest.mark.integration
def test_none_is_as_if_left_out():
    task = zoo.load("minilm_mini_en", "sentence_embedding", pooling=None, normalize=None, stride=None)
    assert task.options == zoo.load("minilm_mini_en", "sentence_embedding").options


@pytest.mark.integration
def test_options_from_iterators():
    """The checks read them, before the task does."""
    task = zoo.load("minilm_mini_en", "classification", weights=False, labels=iter(NAMES))
    assert [*task.options["labels"]] == [*NAMES]
    task = zoo.load("minilm_mini_en", "sentence_embedding", weights=False, pooling=iter(["mean", "max"]))
    assert [*task.options["pooling"]] == ["mean", "max"]


@pytest.mark.integration
def test_options_that_only_functions_had():
    task = zoo.load("minilm_mini_en", "masked_lm", weights=False, whole_word=True)
    assert task.options["whole_word"] is True


def test_help_lists_the_options_by_task():
    listed = inspect.getdoc(load).partition("**options:")[2].partition("Returns:")[0]
    for line in listed.replace("\n  ", " ").split("- ")[1:]:
        tasks, _, options = line.partition(":")
        for task in tasks.replace('"', "").replace("`", "").split(", "):
            named = {option.strip(" `.\n") for option in options.split(",")}
            kind = find_kind(task.strip())
            assert named | {"labels"} == kind.options - {*kind.of_checkpoint} | {"labels"}, task


def test_editors_list_the_options_by_task():
    """`zoo/__init__.pyi` has a signature of `load` for each task; UPDATE_GOLDEN=1 writes it."""
    path = Path(zoo.__file__).with_suffix(".pyi")
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(_stub())
    assert path.read_text() == _stub()


def _stub() -> str:
    """Return the type stub of the package."""
    own = [parameter for name, parameter in inspect.signature(load).parameters.items() if name != "options"][2:]
    lines = [f"    {parameter.name}: {parameter.annotation} = ...," for parameter in own]
    signatures = [_signature(f'task: Literal["{task}"]', [*lines, *_options_of(task)]) for task in task_names()]
    signatures.append(_signature("task: str | None = None", [*lines, "    **options: Any,"]))
    return STUB + "".join(signatures)


def _options_of(task: str) -> list[str]:
    kind = find_kind(task)
    parameters = [
        parameter
        for name, parameter in inspect.signature(kind.make).parameters.items()
        if name in kind.options - {*kind.of_checkpoint, "labels"}
    ]
    return [f"    {parameter.name}: {_optional(parameter.annotation)} = ...," for parameter in parameters]


def _optional(annotation: str) -> str:
    return annotation if annotation.endswith("| None") else f"{annotation} | None"


def _signature(task: str, lines: list[str]) -> str:
    return "\n".join(
        ["@overload", "def load(", "    name: str | os.PathLike,", f"    {task},", "    *,", *lines, ") -> Task: ...\n"]
    )


STUB = """import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from keras_transformers.tasks import Task
from zoo.registry.entry import describe as describe
from zoo.registry.entry import names as names
from zoo.scratch.api.new import new as new
from zoo.scratch.api.new import train_further as train_further

"""
