"""Look-ups in the families' tables of names: what Hugging Face calls our weights, classes and configuration fields."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import FAMILIES
from keras_transformers.families.encoder_decoders.marian import MARIAN
from keras_transformers.families.encoder_decoders.transformer import TRANSFORMER
from keras_transformers.families.refused import reason_of
from keras_transformers.families.table import CRF_WEIGHTS, OF_CRF, OF_VECTORS, SCALED, VECTOR_LAYERS, Names
from keras_transformers.utils.untrusted import shown

REMOTE = {names.remote_type: names.model_type for names in FAMILIES.values() if names.remote_type}


def family_names(family: Any, source: Any) -> Names:
    """Return the table of names of a family; error messages begin with `source`."""
    if family in FAMILIES:
        return FAMILIES[family]
    if reason := reason_of(family):
        raise ValueError(f"{source}: models of the family {family!r} have {reason}: they are not supported.")
    raise ValueError(f"{source}: unknown model family {shown(family)}; known are {sorted(FAMILIES)}.")


def names_of(config: TransformerConfig, source: Any, architecture: str | None = None) -> Names:
    """Return the table of names of a model.

    Args:
        config: Configuration of the model.
        source: Name of the checkpoint, with which error messages begin.
        architecture: The class of `transformers` that wrote the file, as some classes have other names for the same
            layers; None or an unknown class for the names of the family's other classes.

    Example:

    >>> from keras_transformers.families import bert
    >>> names_of(bert(100, num_layers=1, num_heads=2, hidden_dim=8), "a model").weights["classifier"]
    'classifier'
    """
    names = family_names(config.family, source)
    names = next((table for field, table in names.variants.items() if getattr(config, field)), names)
    weights = names.weights | names.weights_of.get(str(architecture), {}) | VECTOR_LAYERS | CRF_WEIGHTS
    reshaped = names.reshaped | dict.fromkeys(CRF_WEIGHTS.values(), SCALED)
    return names._replace(weights=weights, optional=(*names.optional, OF_VECTORS, OF_CRF), reshaped=reshaped)


def stored_as(config: TransformerConfig, architecture: str) -> tuple[TransformerConfig, str]:
    """Return the configuration and class to store: a Transformer with sines before cosines is stored as a Marian.

    Example:

    >>> from keras_transformers.families import transformer
    >>> config, architecture = stored_as(transformer(90, position_layout="halves"), "TransformerForSeq2SeqLM")
    >>> config.family, architecture
    ('marian', 'MarianMTModel')
    """
    if (config.family, config.position_layout) != ("transformer", "halves"):
        return config, architecture
    theirs = {ours: MARIAN.tasks[task] for task, ours in TRANSFORMER.tasks.items()}
    initializer = {"initializer_range": 0.02} if config.initializer_range is None else {}  # Marian's is a number
    return config.replace(family="marian", output_bias=True, **initializer), theirs.get(architecture, architecture)


def architecture_of(task: str, family: str) -> str:
    """Return the class of `transformers` that reads what a task of a family saves.

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


def task_names() -> list[str]:
    """Return the tasks for which some family has a class of `transformers`.

    Example:

    >>> "classification" in task_names()
    True
    """
    return sorted({task for names in FAMILIES.values() for task in names.tasks})


def is_task_of(task: Any, architecture: str | None, family: str) -> bool:
    """Return whether a task of a family is saved as a class of `transformers`.

    Example:

    >>> is_task_of("ranking", "BertForSequenceClassification", "bert"), is_task_of(None, "BertModel", "bert")
    (True, False)
    """
    return isinstance(task, str) and architecture is not None and FAMILIES[family].tasks.get(task) == architecture


def may_be_of(task: str, architecture: str) -> bool:
    """Return whether a class that is in no table can be of a task: its name does not end like a class of another one.

    Example:

    >>> may_be_of("classification", "MyBert"), may_be_of("classification", "MyBertForTokenClassification")
    (True, False)
    """
    end = architecture.partition("For")[2]
    tasks = [
        name for names in FAMILIES.values() for name, theirs in names.tasks.items() if theirs.partition("For")[2] == end
    ]
    return not end or not tasks or task in tasks


def task_of(architecture: str | None, family: str) -> str | None:
    """Return the task of a class of `transformers`; None for a model without head, or with one that we do not have.

    (A folder of sentence-transformers holds a model without head, too: see `checkpoints.sentence_transformers`.)

    Example:

    >>> task_of("BertForMaskedLM", "bert"), task_of("BertModel", "bert")
    ('masked_lm', None)
    """
    names = FAMILIES[family]
    heads = {theirs: ours for ours, theirs in reversed(names.tasks.items()) if names.architectures[theirs]}
    return heads.get(str(architecture))  # of several tasks with one class, the first
