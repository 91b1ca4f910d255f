"""`zoo.load`: from a name to a task with weights."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import keras

from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.families.dropout_rates import with_dropout
from keras_transformers.tasks import Task
from keras_transformers.tasks.contract.kind import Kind, check_task_options, find_kind
from keras_transformers.tasks.inputs.sources import kept
from keras_transformers.training.lora import add_lora
from keras_transformers.training.rematerialize import rematerialize
from keras_transformers.training.workers.distribute import check_backend, scope
from keras_transformers.training.workers.strategy import chosen
from keras_transformers.utils.late_values import late_values
from zoo.loading.checkpoint import Checkpoint, chosen_kind
from zoo.loading.find import find, tell_assumed
from zoo.loading.room import check_room
from zoo.loading.weights import assign_weights


def load(
    name: str | os.PathLike,
    task: str | None = None,
    *,
    labels: Sequence[str] | int | None = None,
    outputs: Iterable[str] = (),
    weights: bool = True,
    dtype: str | None = None,
    max_length: int | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    lora_rank: int | None = None,
    lowercase: bool | None = None,
    num_heads: int | None = None,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
    strategy: Any = None,
    remat: bool = False,
    seed: int | None = None,
    **options: Any,
) -> Task:
    """Load a model by name, for a task.

    Args:
        name: A name of the zoo (`zoo.names()`); a folder: saved here, of `transformers` (PyTorch, or TensorFlow's up to
            version 4), a LoRA of `peft`, or of one of the programs of docs/tensorflow_checkpoints.md; the prefix of a
            TensorFlow checkpoint; `"hf:org/repo[@revision]"`; or `"keras-nlp:preset"`. For a folder with the name of a
            zoo model give `"./name"`, or a `Path`.
        task: `"classification"`, `"token_classification"`, `"question_answering"`, `"sentence_embedding"`, `"ranking"`,
            `"multiple_choice"`, `"masked_lm"`, `"pretraining"`, `"replaced_tokens"`, `"causal_lm"` or `"seq2seq_lm"`;
            when None, what the checkpoint was made for, or classification where labels are given.
        labels: Labels of a classifier: names, or their number; the checkpoint's labels when None. The checkpoint's
            classifier is kept if the names are the same, in any order; or, with a warning, if it has numbers for names
            (`LABEL_0`) and as many of them. Else it starts afresh, with a warning.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`.
        weights: False for fresh weights.
        dtype: A Keras dtype policy: `"bfloat16"` or `"float16"` for weights of half the size, to answer with;
            `"mixed_bfloat16"` to train.
        max_length: Longest text in tokens; T5, whose positions have no bound, may read longer ones than it was trained
            on. When None, `model_max_length` of tokenizer_config.json, at most what the model takes.
        dropout: Rate of all dropouts; the model's own when None.
        attention_dropout: Rate on the attention weights; `dropout`, or the model's own, when None. Only with 0.0 can
            training use fused attention, on a GPU of the JAX backend in half precision.
        lora_rank: Train adapters of this rank beside the frozen dense layers (LoRA); `save` and `export` merge them.
        lowercase, num_heads: For checkpoints whose files do not say whether texts are lower-cased (Google's BERT), or
            how many attention heads there are (OpenNMT-tf, ELECTRA).
        revision: Branch, tag or commit of a repository on the hub.
        cache_dir: Folder of downloads.
        pickled: Whether to read an old `pytorch_model.bin` where there is no safetensors file; no code in it is run.
        strategy: A `tf.distribute` strategy to make the model in, or the name of one: see `training.strategy`.
        remat: Whether `fit` recomputes the activations inside blocks instead of keeping them: `training.remat`.
        seed: Random seed of fresh weights and of dropout.
        **options: Options of the task, the keyword arguments of the function in its file, which `help` explains:
            `help(keras_transformers.tasks.ranking)`. As the checkpoint says when left out, or the default there.

            - `"classification"`: `problem`, `template`, `lm_weight`, `pooling`, `dense`.
            - `"ranking"`: `loss`, `activation`, `score_tokens`, `pair_template`, `pooling`, `dense`, `prompts`,
              `default_prompt`.
            - `"sentence_embedding"`: `loss`, `pooling`, `normalize`, `dense`, `prompts`, `default_prompt`,
              `include_prompt`, `truncate_dim`, `similarity`, `sparse`, `matryoshka`.
            - `"token_classification"`: `crf`.
            - `"question_answering"`: `stride`, `no_answer`, `null_threshold`, `max_answer_length`, `num_candidates`,
              `max_windows`.
            - `"masked_lm"`, `"pretraining"`, `"replaced_tokens"`: `whole_word`.
            - `"causal_lm"`: `generation`, `chat_template`.
            - `"seq2seq_lm"`: `label_smoothing`, `generation`.

    Returns:
        A `Task`: `model` (a compiled functional `keras.Model`), `tokenizer`, `config`, and `dataset`, `fit`,
        `evaluate`, `predict`, `save`, `export`.

    Raises:
        ValueError: No such name, task, option or output; a wrong value of an option; a name that is both a model of the
            zoo and a folder; labels are missing; a revision for what is not on the hub; a file is missing, or does not
            fit the model; the weights take more memory than is available. Options are checked before a file is read.

    Example:

    >>> import zoo
    >>> task = zoo.load("minilm_mini_en", task="classification", labels=["negative", "positive"])
    >>> task.model.output["logits"].shape
    (None, 2)
    """
    given = _given(task, {"labels": labels, **options})
    strategy = chosen(strategy)  # first: several workers connect before TensorFlow begins to work
    check_backend()
    checkpoint = find(name, revision, cache_dir, UserOptions(lowercase, num_heads, pickled, task))
    tell_assumed(checkpoint)
    kind = chosen_kind(name, task, checkpoint, labels is not None)
    checkpoint = checkpoint.asked_for(kind.name)
    if dropout is not None or attention_dropout is not None:
        config = with_dropout(checkpoint.config, dropout, attention_dropout)
        checkpoint = dataclasses.replace(checkpoint, config=config)
    given |= {} if max_length is None else {"max_length": max_length}
    check_room(name, checkpoint.config, dtype)
    with scope(strategy):
        if seed is not None:
            keras.utils.set_random_seed(seed)
        made = _make(kind, checkpoint, weights, outputs=outputs, dtype=dtype, **_options(kind, checkpoint, given))
    return _to_train(made, lora_rank, remat)


def _given(task: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task that are given; raise a `ValueError` for unknown ones, or wrong values."""
    given = {name: kept(value) for name, value in options.items() if value is not None}  # read twice: checked, and used
    of_checkpoint = {name for kind in map(find_kind, task_names()) for name in kind.of_checkpoint}
    own = inspect.signature(load).parameters.keys() - {"options"}
    check_task_options(task, given, of_checkpoint, own)
    return given


def _make(kind: Kind, checkpoint: Checkpoint, weights: bool, **options: Any) -> Task:
    """Build the task of a checkpoint, with its weights if they are wanted."""
    if weights:
        checkpoint.check()  # before the model takes memory
    with late_values() if weights else nullcontext():
        task = Task(kind.name, checkpoint.config, checkpoint.tokenizer, **options)
        if weights:
            assign_weights(task, checkpoint)
    if not kind.writes_text:
        saved = task.parts.saved
        task.parts = dataclasses.replace(task.parts, saved=lambda: {**checkpoint.kept, **saved()})
    return task


def _options(kind: Kind, checkpoint: Checkpoint, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task: those given, and for the others the checkpoint's values."""
    of_checkpoint = checkpoint.options({"max_length", *kind.options} - given.keys(), kind.name)
    prompts = given.get("prompts")
    if isinstance(prompts, Mapping) and of_checkpoint.get("default_prompt") not in prompts:
        of_checkpoint.pop("default_prompt", None)  # the name of one of the checkpoint's own prompts
    return {**of_checkpoint, **given}


def _to_train(task: Task, lora_rank: int | None, remat: bool) -> Task:
    """Return a task prepared for training: with LoRA adapters and rematerialization if wanted."""
    if lora_rank is not None:
        add_lora(task.model, lora_rank, train=task.kind.new_layers)
        task.compile()
    if remat is not False:
        rematerialize(task.model, remat)
    return task
