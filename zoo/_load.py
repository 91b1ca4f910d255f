"""From a name to a task: which checkpoint, which task, which weights."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras

from keras_transformers.checkpoints.names import task_names
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.families.dropout_rates import with_dropout
from keras_transformers.tasks import Task
from keras_transformers.tasks.parts import LABELLED, Kind, find_kind
from keras_transformers.training.lora import add_lora
from keras_transformers.training.rematerialize import rematerialize
from keras_transformers.training.workers.distribute import check_backend, scope
from keras_transformers.training.workers.strategy import chosen
from zoo._checkpoint import Checkpoint
from zoo._find import find, tell_assumed
from zoo._weights import assign_weights


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
    loss: str | None = None,
    pooling: str | None = None,
    normalize: bool | None = None,
    stride: int | None = None,
    no_answer: bool | None = None,
    null_threshold: float | None = None,
    max_answer_length: int | None = None,
    num_candidates: int | None = None,
    max_windows: int | None = None,
    lowercase: bool | None = None,
    num_heads: int | None = None,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
    strategy: Any = None,
    remat: bool = False,
    seed: int | None = None,
) -> Task:
    """Load a model by name, for a task.

    Args:
        name: A name of the zoo (`zoo.names()`); a folder: saved here, of `transformers` (PyTorch, or TensorFlow's up to
            version 4), a LoRA of `peft`, or of one of the programs of docs/tensorflow_checkpoints.md; the prefix of a
            TensorFlow checkpoint; `"hf:org/repo[@revision]"`; or `"keras-nlp:preset"`. A folder that is called like a
            model of the zoo is `"./name"`, or a `Path`.
        task: `"classification"`, `"token_classification"`, `"question_answering"`, `"sentence_embedding"`, `"ranking"`,
            `"multiple_choice"`, `"masked_lm"`, `"pretraining"`, `"causal_lm"` or `"seq2seq_lm"`; when None, what the
            checkpoint was made for, or classification where labels are given.
        labels: Of a classifier: names, or their number. Those of the checkpoint when None. Its classifier is kept for
            the same names, in whatever order, and where it has numbers for names (`LABEL_0`), for as many; for others
            it starts afresh. The last two with a warning.
        problem: Of a classifier: `"single_label"`, `"multi_label"` or `"regression"`.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`.
        weights: False for fresh weights.
        dtype: A Keras dtype policy, such as `"mixed_bfloat16"`.
        max_length: Longest text in tokens; T5, whose positions have no bound, may read longer ones than it was trained
            on. When None, what the checkpoint was saved with (`model_max_length` in
            tokenizer_config.json), or the most that the model takes, if that is less or nothing is said.
        dropout: Rate of all dropouts; the model's own when None.
        lora_rank: Train adapters of this rank beside the frozen dense layers (LoRA); `save` and `export` merge them.
        lm_weight: Of the next-token loss beside that of a classifier, as in the GPT-1 paper (0.5); decoders only.
        loss: How a task learns that has several ways: of sentence embeddings `"ranking"`, `"cosine"`, `"triplet"` or
            `"regression"`; of ranking `"binary"` or `"listwise"`. See `tasks.sentence_embedding` and `tasks.ranking`.
        pooling: Of sentence embeddings: `"mean"` or `"first"`; that of the checkpoint when None.
        normalize: Whether sentence embeddings are scaled to length one; as the checkpoint says when None.
        stride, no_answer, null_threshold, max_answer_length, num_candidates, max_windows: Of question answering, where
            None is what the checkpoint says, or the default of `tasks.question_answering`, which explains them.
        lowercase, num_heads: Of checkpoints whose files do not say whether their texts are lower-cased (Google's BERT),
            or how many attention heads they have (OpenNMT-tf), and where nothing implies it.
        revision: Branch, tag or commit on the hub; for nothing else.
        cache_dir: Of downloads.
        pickled: Whether an old `pytorch_model.bin` will do where there is no safetensors file; no code in it is run.
        strategy: A `tf.distribute` strategy to make the model in, or the name of one: see `training.strategy`.
        remat: Whether `fit` computes what is inside blocks twice instead of keeping it: `training.remat`.
        seed: Of fresh weights and of dropout.

    Returns:
        A `Task`: `model` (a compiled functional `keras.Model`), `tokenizer`, `config`, and `dataset`, `fit`,
        `evaluate`, `predict`, `save`, `export`.

    Raises:
        ValueError: No such name, task or output; a name that is a model of the zoo and a folder; labels are missing; a
            revision of what is not on the hub; a file is missing, or does not fit the model.

    Example:

    >>> import zoo
    >>> task = zoo.load("minilm_mini_en", task="classification", labels=["negative", "positive"])
    >>> task.model.output["logits"].shape
    (None, 2)
    """
    arguments = dict(locals())  # before any other name is set
    strategy = chosen(strategy)  # first: several workers connect before TensorFlow begins to work
    check_backend()
    checkpoint = find(name, revision, cache_dir, UserOptions(lowercase, num_heads, pickled))
    tell_assumed(checkpoint)
    kind = chosen_kind(name, task, checkpoint, labels is not None)
    with scope(strategy):
        loaded = _make(kind, checkpoint.asked_for(kind.name), arguments)
    return _to_train(loaded, lora_rank, remat)


def _to_train(task: Task, lora_rank: int | None, remat: bool) -> Task:
    """Return a task with the adapters and the rematerialization that its training is to have."""
    if lora_rank is not None:
        add_lora(task.model, lora_rank, train=task.kind.new_layers)
        task.compile()
    rematerialize(task.model, remat)
    return task


def _make(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> Task:
    """Make the task of a checkpoint, by the arguments of `load`; with its weights if they are wanted."""
    options = _options(kind, checkpoint, arguments)
    dropout, weights, seed = (arguments[name] for name in ("dropout", "weights", "seed"))
    if seed is not None:
        keras.utils.set_random_seed(seed)
    if weights:
        checkpoint.check()  # before the model takes memory
    config = checkpoint.config if dropout is None else with_dropout(checkpoint.config, dropout)
    shown = {name: arguments[name] for name in ("outputs", "dtype")}
    task = Task(kind.name, config, checkpoint.tokenizer, **shown, **options)
    if not kind.writes_text:
        saved = task.parts.saved
        task.parts = dataclasses.replace(task.parts, saved=lambda: {**checkpoint.kept, **saved()})
    if weights:
        assign_weights(task, checkpoint)
    return task


def chosen_kind(name: Any, task: str | None, checkpoint: Checkpoint, has_labels: bool = False) -> Kind:
    """Return the task asked for, else what the checkpoint was made for; where labels are given, one that has labels."""
    if task is not None:
        return find_kind(task)
    kind = None if checkpoint.task is None else find_kind(checkpoint.task)
    if has_labels and (kind is None or "labels" not in kind.options):
        return find_kind(LABELLED)
    if kind is None:
        what = f"names {checkpoint.unknown_class}, not known here" if checkpoint.unknown_class else "is a bare model"
        raise ValueError(f"{name} {what}: say what for, task=... one of {task_names()}.")
    return kind


def _options(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task: those among the arguments of `load`, else those that the checkpoint has
    values for.
    """
    tasks = {task: find_kind(task).options for task in task_names()}
    names, known = {"max_length", *kind.options}, {"max_length"}.union(*tasks.values())
    given = {name: arguments[name] for name in known & arguments.keys() if arguments[name] is not None}
    for option in sorted(given.keys() - names):
        takers = [task for task, options in tasks.items() if option in options]
        raise ValueError(f"{option} belongs to task={' or '.join(map(repr, takers))}: received it with {kind.name!r}.")
    return checkpoint.options(names - given.keys(), kind.name) | given
