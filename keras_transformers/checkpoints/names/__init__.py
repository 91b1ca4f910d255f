"""Where the Hugging Face checkpoints of each family keep our weights, and our configuration: tables of names."""

from __future__ import annotations

from typing import Any

from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.gpt import GPT1, GPT2
from keras_transformers.checkpoints.names.llama import LLAMA
from keras_transformers.checkpoints.names.table import Names

FAMILIES = {names.model_type: names for names in (BERT, GPT1, GPT2, LLAMA)}


def family_names(family: Any, source: Any) -> Names:
    """The table of names of a family; `source` is where it was asked for."""
    if family not in FAMILIES:
        raise ValueError(f"{source}: unknown model family {family!r}; known are {sorted(FAMILIES)}.")
    return FAMILIES[family]


def architecture_of(task: str, family: str) -> str:
    """The class of `transformers` that reads what a task of a family saves.

    Args:
        task: Name of a task.
        family: Name of a family.

    Raises:
        ValueError: The family has no such class, or is unknown.

    Example:

    >>> architecture_of("causal_lm", "gpt2")
    'GPT2LMHeadModel'
    """
    tasks = family_names(family, f"a task {task!r}").tasks
    if task not in tasks:
        raise ValueError(f"no class of transformers is a {task!r} of family {family!r}: expected one of {list(tasks)}.")
    return tasks[task]


def task_of(architecture: str | None, family: str) -> str | None:
    """The task that a class of `transformers` is made for; None for a bare model, or one whose head we do not have.

    Example:

    >>> task_of("BertForMaskedLM", "bert"), task_of("BertModel", "bert")
    ('masked_lm', None)
    """
    return {theirs: ours for ours, theirs in FAMILIES[family].tasks.items()}.get(architecture)
