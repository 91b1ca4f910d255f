"""`zoo.load`: from a name to a task with weights."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import keras

from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.families.dropout_rates import with_dropout
from keras_transformers.tasks import Task
from keras_transformers.tasks.contract.parts import Kind, find_kind
from keras_transformers.training.lora import add_lora
from keras_transformers.training.rematerialize import rematerialize
from keras_transformers.training.workers.distribute import check_backend, scope
from keras_transformers.training.workers.strategy import chosen
from keras_transformers.utils.late_values import late_values
from zoo._checkpoint import Checkpoint, chosen_kind
from zoo._find import find, tell_assumed
from zoo._weights import assign_weights


def load(
    name: str | os.PathLike,
    task: str | None = None,
    *,
    labels: Sequence[str] | int | None = None,
    problem: str | None = None,
    template: str | None = None,
    outputs: Iterable[str] = (),
    weights: bool = True,
    dtype: str | None = None,
    max_length: int | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    lora_rank: int | None = None,
    lm_weight: float | None = None,
    loss: str | None = None,
    pooling: str | Sequence[str] | None = None,
    normalize: bool | None = None,
    dense: Sequence[Mapping[str, Any]] | None = None,
    prompts: Mapping[str, str] | None = None,
    default_prompt: str | None = None,
    include_prompt: bool | None = None,
    truncate_dim: int | None = None,
    similarity: str | None = None,
    sparse: Mapping[str, Any] | None = None,
    activation: str | None = None,
    score_tokens: Sequence[int] | None = None,
    matryoshka: Sequence[int] | Mapping[int, float] | None = None,
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
            TensorFlow checkpoint; `"hf:org/repo[@revision]"`; or `"keras-nlp:preset"`. For a folder with the name of a
            zoo model give `"./name"`, or a `Path`.
        task: `"classification"`, `"token_classification"`, `"question_answering"`, `"sentence_embedding"`, `"ranking"`,
            `"multiple_choice"`, `"masked_lm"`, `"pretraining"`, `"replaced_tokens"`, `"causal_lm"` or `"seq2seq_lm"`;
            when None, what the checkpoint was made for, or classification where labels are given.
        labels: Labels of a classifier: names, or their number; the checkpoint's labels when None. The checkpoint's
            classifier is kept if the names are the same, in any order; or, with a warning, if it has numbers for names
            (`LABEL_0`) and as many of them. Else it starts afresh, with a warning.
        problem: Problem of a classifier: `"single_label"`, `"multi_label"` or `"regression"`.
        template: Sentence for `zero_shot` and the export of an entailment classifier; the label replaces `{}`.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`.
        weights: False for fresh weights.
        dtype: A Keras dtype policy, such as `"mixed_bfloat16"`.
        max_length: Longest text in tokens; T5, whose positions have no bound, may read longer ones than it was trained
            on. When None, `model_max_length` of tokenizer_config.json, at most what the model takes.
        dropout: Rate of all dropouts; the model's own when None.
        attention_dropout: Rate on the attention weights; `dropout`, or the model's own, when None. Only with 0.0 can
            training use fused attention, on a GPU of the JAX backend in half precision.
        lora_rank: Train adapters of this rank beside the frozen dense layers (LoRA); `save` and `export` merge them.
        lm_weight: Weight of the next-token loss beside a classifier's, as in the GPT-1 paper (0.5); decoders only.
        loss: Training loss: `"ranking"`, `"cosine"`, `"triplet"` or `"regression"` for sentence embeddings; `"binary"`
            or `"listwise"` for ranking. See `tasks.sentence_embedding` and `tasks.ranking`.
        pooling, normalize, dense, prompts, default_prompt, include_prompt, truncate_dim, similarity, sparse,
            matryoshka: For sentence embeddings: see `tasks.sentence_embedding`. As the checkpoint says when None; its
            default prompt only if it is among `prompts`. Of ranking: `pooling`, `dense`, `prompts`, `default_prompt`.
        activation, score_tokens: For ranking: see `tasks.ranking`. As the checkpoint says when None.
        stride, no_answer, null_threshold, max_answer_length, num_candidates, max_windows: For question answering: see
            `tasks.question_answering`. When None, as the checkpoint says, or the default there.
        lowercase, num_heads: For checkpoints whose files do not say whether texts are lower-cased (Google's BERT), or
            how many attention heads there are (OpenNMT-tf, ELECTRA).
        revision: Branch, tag or commit of a repository on the hub.
        cache_dir: Folder of downloads.
        pickled: Whether to read an old `pytorch_model.bin` where there is no safetensors file; no code in it is run.
        strategy: A `tf.distribute` strategy to make the model in, or the name of one: see `training.strategy`.
        remat: Whether `fit` recomputes the activations inside blocks instead of keeping them: `training.remat`.
        seed: Random seed of fresh weights and of dropout.

    Returns:
        A `Task`: `model` (a compiled functional `keras.Model`), `tokenizer`, `config`, and `dataset`, `fit`,
        `evaluate`, `predict`, `save`, `export`.

    Raises:
        ValueError: No such name, task or output; a name that is both a model of the zoo and a folder; labels are
            missing; a revision for what is not on the hub; a file is missing, or does not fit the model.

    Example:

    >>> import zoo
    >>> task = zoo.load("minilm_mini_en", task="classification", labels=["negative", "positive"])
    >>> task.model.output["logits"].shape
    (None, 2)
    """
    arguments = dict(locals())  # before any other name is set
    strategy = chosen(strategy)  # first: several workers connect before TensorFlow begins to work
    check_backend()
    checkpoint = find(name, revision, cache_dir, UserOptions(lowercase, num_heads, pickled, task))
    tell_assumed(checkpoint)
    kind = chosen_kind(name, task, checkpoint, labels is not None)
    with scope(strategy):
        loaded = _make(kind, checkpoint.asked_for(kind.name), arguments)
    return _to_train(loaded, lora_rank, remat)


def _to_train(task: Task, lora_rank: int | None, remat: bool) -> Task:
    """Return a task prepared for training: with LoRA adapters and rematerialization if wanted."""
    if lora_rank is not None:
        add_lora(task.model, lora_rank, train=task.kind.new_layers)
        task.compile()
    if remat is not False:
        rematerialize(task.model, remat)
    return task


def _make(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> Task:
    """Build the task of a checkpoint by the arguments of `load`, with its weights if they are wanted."""
    options = _options(kind, checkpoint, arguments)
    rates = (arguments["dropout"], arguments["attention_dropout"])
    weights, seed = arguments["weights"], arguments["seed"]
    if seed is not None:
        keras.utils.set_random_seed(seed)
    if weights:
        checkpoint.check()  # before the model takes memory
    config = with_dropout(checkpoint.config, *rates)
    outputs, dtype = arguments["outputs"], arguments["dtype"]
    with late_values() if weights else nullcontext():
        task = Task(kind.name, config, checkpoint.tokenizer, outputs=outputs, dtype=dtype, **options)
        if weights:
            assign_weights(task, checkpoint)
    if not kind.writes_text:
        saved = task.parts.saved
        task.parts = dataclasses.replace(task.parts, saved=lambda: {**checkpoint.kept, **saved()})
    return task


def _options(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task: the arguments of `load`, and for those not given the checkpoint's values."""
    tasks = {task: find_kind(task).options for task in task_names()}
    names, known = {"max_length", *kind.options}, {"max_length"}.union(*tasks.values())
    given = {name: arguments[name] for name in known & arguments.keys() if arguments[name] is not None}
    for option in sorted(given.keys() - names):
        takers = [task for task, options in tasks.items() if option in options]
        raise ValueError(f"{option} belongs to task={' or '.join(map(repr, takers))}: received it with {kind.name!r}.")
    of_checkpoint = checkpoint.options(names - given.keys(), kind.name)
    prompts = given.get("prompts")
    if isinstance(prompts, Mapping) and of_checkpoint.get("default_prompt") not in prompts:
        of_checkpoint.pop("default_prompt", None)  # the name of one of the checkpoint's own prompts
    return of_checkpoint | given
