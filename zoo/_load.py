"""From a name to a task: which checkpoint, which task, which weights."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import keras

from keras_transformers.checkpoints import hub, huggingface, keras_nlp
from keras_transformers.checkpoints.folder import left_behind
from keras_transformers.checkpoints.generation_config import read_generation
from keras_transformers.checkpoints.names import task_of
from keras_transformers.config import TransformerConfig
from keras_transformers.tasks import TASKS, Task
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.distribute import scope
from keras_transformers.training.lora import add_lora
from zoo._entry import describe


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Something to load from.

    Args:
        config: Of the model that it holds.
        tokenizer: Its tokenizer.
        task: What it was made for, or None for a bare model.
        labels, problem: Of a classifier, or None.
        assign: Gives its weights to a model: `assign(model, missing_ok=(), fresh=())`.
        options: What `seq2seq_lm` takes besides.
    """

    config: TransformerConfig
    tokenizer: Tokenizer
    task: str | None
    labels: tuple[str, ...] | None
    problem: str | None
    assign: Callable[..., Any]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def load(
    name: str | os.PathLike,
    task: str | None = None,
    *,
    labels: Sequence[str] | int | None = None,
    problem: str | None = None,
    outputs: Iterable[str] = (),
    weights: bool = True,
    dtype: str | None = None,
    max_length: int | None = None,
    dropout: float | None = None,
    lora_rank: int | None = None,
    lm_weight: float | None = None,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
    strategy: Any = None,
    seed: int | None = None,
) -> Task:
    """Load a model by name, for a task.

    Args:
        name: A name of the zoo (`zoo.names()`); a folder, saved here or a Hugging Face checkpoint;
            `"hf:org/repo[@revision]"`; or `"keras-nlp:preset"`.
        task: `"classification"`, `"masked_lm"`, `"pretraining"`, `"causal_lm"` or `"seq2seq_lm"`; when None, what the
            checkpoint was made for, or classification where labels are given.
        labels: Of a classifier: names, or their number. Those of the checkpoint when None.
        problem: Of a classifier: `"single_label"`, `"multi_label"` or `"regression"`.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`.
        weights: False for fresh weights.
        dtype: A Keras dtype policy, such as `"mixed_bfloat16"`.
        max_length: Longest text in tokens; the model's own when None.
        dropout: Rate of all dropouts; the model's own when None.
        lora_rank: Train adapters of this rank beside the frozen dense layers (LoRA); `save` and `export` merge them.
        lm_weight: Of the next-token loss beside that of a classifier, as in the GPT-1 paper (0.5); decoders only.
        revision: Branch, tag or commit on the hub.
        cache_dir: Of downloads.
        pickled: Whether an old `pytorch_model.bin` will do where there is no safetensors file; no code in it is run.
        strategy: A `tf.distribute` strategy to make the model in.
        seed: Of fresh weights and of dropout.

    Returns:
        A `Task`: `model` (a compiled functional `keras.Model`), `tokenizer`, `config`, and `dataset`, `fit`,
        `evaluate`, `predict`, `save`, `export`.

    Raises:
        ValueError: No such name, task or output; labels are missing; a file is missing, or does not fit the model.

    Example:

    >>> import zoo
    >>> task = zoo.load("mini_bert_en", task="classification", labels=["negative", "positive"])
    >>> task.model.output["logits"].shape
    (None, 2)
    """
    checkpoint = find(name, revision, cache_dir, pickled)
    kind = _task_class(task or (checkpoint.task if labels is None else "classification"), name)
    options: dict[str, Any] = {"outputs": outputs, "dtype": dtype, "max_length": max_length}
    if kind.name == "seq2seq_lm":
        options |= checkpoint.options
    if kind.name == "classification":
        options |= {"labels": checkpoint.labels if labels is None else labels, "problem": problem or checkpoint.problem}
        options["lm_weight"] = lm_weight or 0.0
    elif (labels, problem, lm_weight) != (None, None, None):
        raise ValueError(
            f"labels, problem and lm_weight belong to task='classification': received them with {kind.name!r}."
        )
    config = checkpoint.config
    if dropout is not None:
        has_inner = config.activation_dropout or config.family == "t5"  # which has one rate for all
        inner = {"activation_dropout": dropout} if has_inner else {}
        config = config.replace(dropout=dropout, attention_dropout=dropout, **inner)
    if seed is not None:
        keras.utils.set_random_seed(seed)
    tokenizer = checkpoint.tokenizer
    if kind.name == "classification" and config.eos_ids and checkpoint.task != "classification":
        tokenizer = with_end_token(tokenizer, config.eos_ids[0])
    with scope(strategy):
        made = kind(config, tokenizer, **options)
        if weights:
            checkpoint.assign(made.model, missing_ok=kind.new_layers, fresh=_fresh(made, checkpoint))
    if lora_rank is not None:
        add_lora(made.model, lora_rank, train=kind.new_layers)
        made.compile()
    return made


def find(
    name: str | os.PathLike,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
) -> Checkpoint:
    """The checkpoint that a name stands for, downloaded if need be."""
    text = os.fspath(name)
    if text.startswith("keras-nlp:"):
        return _keras_nlp(text.removeprefix("keras-nlp:"))
    if text.startswith("hf:"):
        repo, pinned = hub.parse(text)
        return _folder(hub.download(repo, revision or pinned, cache_dir, pickled=pickled), pickled)
    if Path(text).is_dir():
        return _folder(Path(text), pickled)
    if former := left_behind(text):
        raise ValueError(f"there is no folder {text!r}: a save was interrupted. Rename {former}, the old one, to that.")
    if os.sep in text:
        raise ValueError(f"there is no folder {text!r}. Give a folder, a name of zoo.names(), or 'hf:org/repo'.")
    entry = describe(text)
    if entry.source is None:
        raise ValueError(
            f"there are no weights for {text!r}, only sizes: train a model of zoo.describe({text!r}).config, and load "
            "it from the folder that it is saved to."
        )
    if entry.bundled:
        return _folder(entry.folder)
    found = find(entry.source, revision, cache_dir, pickled or entry.pickled)
    return dataclasses.replace(found, task=found.task or entry.task)  # some files name the bare model only


def _folder(folder: Path, pickled: bool = False) -> Checkpoint:
    config, extra = huggingface.read_config(folder)
    assign = partial(huggingface.load_weights, folder=folder, pickled=pickled)
    if config.kind != "encoder_decoder":
        return _checkpoint(config, extra, Tokenizer.from_folder(folder), assign)
    source, target = Tokenizer.pair_from_folder(folder)
    options = {"target_tokenizer": target, "generation": read_generation(folder)}
    return dataclasses.replace(_checkpoint(config, extra, source, assign), options=options)


def _keras_nlp(preset: str) -> Checkpoint:
    folder = keras_nlp.preset_folder(preset)
    config, extra = keras_nlp.read_config(folder)
    return _checkpoint(config, extra, keras_nlp.read_tokenizer(folder), partial(keras_nlp.load_weights, folder=folder))


def _checkpoint(
    config: TransformerConfig, extra: dict[str, Any], tokenizer: Tokenizer, assign: Callable[..., Any]
) -> Checkpoint:
    task = task_of(extra["architecture"], config.family)
    return Checkpoint(config, tokenizer, task, extra["labels"], extra["problem"], assign)


def _task_class(task: str | None, name: Any) -> type[Task]:
    if task is None:
        raise ValueError(f"{name} is a bare model: say what for, task=... one of {sorted(TASKS)}.")
    if task not in TASKS:
        raise ValueError(f"task must be one of {sorted(TASKS)}: received {task!r}.")
    return TASKS[task]


def _fresh(made: Task, checkpoint: Checkpoint) -> tuple[str, ...]:
    """A classifier of other labels starts anew, even of as many."""
    trained_for = checkpoint.labels if checkpoint.task == "classification" else None
    return ("classifier",) if trained_for and tuple(getattr(made, "labels", ())) != tuple(trained_for) else ()
