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
from keras_transformers.checkpoints.generation_config import read_generation
from keras_transformers.checkpoints.names import FAMILIES, is_task_of, may_be_of, task_names, task_of
from keras_transformers.checkpoints.peft import is_adapter
from keras_transformers.checkpoints.sentence_transformers import TASK as SENTENCE_EMBEDDING
from keras_transformers.checkpoints.sentence_transformers import is_sentence_transformer, read_sentence_transformer
from keras_transformers.config import TransformerConfig
from keras_transformers.config_limits import most_tokens
from keras_transformers.families.dropout import with_dropout
from keras_transformers.tasks import Task
from keras_transformers.tasks.parts import LABELLED, Kind, find_kind
from keras_transformers.text.folder import read_max_length
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.distribute import check_backend, scope
from keras_transformers.training.lora import add_lora
from keras_transformers.training.remat import rematerialize
from keras_transformers.training.strategy import chosen
from zoo._adapter import adapted
from zoo._entry import Entry
from zoo._place import stands_for
from zoo._sizes import no_weights, of_sizes
from zoo._weights import assign_weights


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Something to load from.

    Args:
        config: Of the model that it holds.
        tokenizer: Its tokenizer.
        task: What it was made for, or None for a bare model.
        assign: Gives its weights to a model: `assign(model, missing_ok=(), fresh=())`.
        labels, problem: Of a classifier, or None.
        fault: Why the names of the labels cannot be used; empty if they can.
        unknown_class: What its config.json names, if that is no class of `transformers` that is known here.
        settings: Reads what it says of other options of a task, by their names: `max_length`, `generation`, ...
        check: Raises a `ValueError` if it does not hold as many weights as a model of its configuration has.
    """

    config: TransformerConfig
    tokenizer: Tokenizer
    task: str | None
    assign: Callable[..., Any]
    labels: tuple[str, ...] | None = None
    problem: str | None = None
    fault: str = ""
    unknown_class: str = ""
    settings: Mapping[str, Callable[[], Any]] = dataclasses.field(default_factory=dict)
    check: Callable[[], None] = lambda: None

    def options(self, names: Iterable[str], task: str | None = None) -> dict[str, Any]:
        """Options of a task, of these names, as far as the checkpoint has values for them; labels only of its own.

        Raises:
            ValueError: They are of its own task, and their names cannot be used.
        """
        if self.fault and task == self.task and "labels" in names:
            raise ValueError(self.fault)
        said = {"labels": self.labels, "problem": self.problem} if task == self.task else {}
        settings = {name: self.settings[name]() for name in names if name in self.settings}
        settings |= {name: value for name, value in said.items() if name in names and value is not None}
        return settings | ({"made_for": self.task} if "made_for" in names else {})


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
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
    strategy: Any = None,
    remat: bool = False,
    seed: int | None = None,
) -> Task:
    """Load a model by name, for a task.

    Args:
        name: A name of the zoo (`zoo.names()`); a folder, saved here, a Hugging Face checkpoint or a LoRA of `peft`;
            `"hf:org/repo[@revision]"`; or `"keras-nlp:preset"`. A folder that is called like a model of the zoo is
            `"./name"`, or a `Path`.
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
    checkpoint = find(name, revision, cache_dir, pickled)
    kind = _kind(name, task, checkpoint, labels is not None)
    if checkpoint.unknown_class and may_be_of(kind.name, checkpoint.unknown_class):  # it is what the user says
        checkpoint = dataclasses.replace(checkpoint, task=kind.name)
    with scope(strategy):
        loaded = _make(kind, checkpoint, arguments)
    if lora_rank is not None:
        add_lora(loaded.model, lora_rank, train=kind.new_layers)
        loaded.compile()
    rematerialize(loaded.model, remat)
    return loaded


def _make(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> Task:
    """The task of a checkpoint, by the arguments of `load`; with its weights if they are wanted."""
    options = _options(kind, checkpoint, arguments)
    dropout, weights, seed = (arguments[name] for name in ("dropout", "weights", "seed"))
    if seed is not None:
        keras.utils.set_random_seed(seed)
    if weights:
        checkpoint.check()  # before the model takes memory
    config = checkpoint.config if dropout is None else with_dropout(checkpoint.config, dropout)
    shown = {name: arguments[name] for name in ("outputs", "dtype")}
    task = Task(kind.name, config, checkpoint.tokenizer, **shown, **options)
    if weights:
        assign_weights(task, checkpoint)
    return task


def _kind(name: Any, task: str | None, checkpoint: Checkpoint, has_labels: bool) -> Kind:
    """The task asked for, else what the checkpoint was made for; where labels are given, one that has labels."""
    if task is not None:
        return find_kind(task)
    kind = None if checkpoint.task is None else find_kind(checkpoint.task)
    if has_labels and (kind is None or "labels" not in kind.options):
        return find_kind(LABELLED)
    if kind is None:
        what = f"of {checkpoint.unknown_class}, not known here" if checkpoint.unknown_class else "a bare model"
        raise ValueError(f"{name} is {what}: say what for, task=... one of {task_names()}.")
    return kind


def _options(kind: Kind, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task: those among the arguments of `load`, else those that the checkpoint has values for."""
    tasks = {task: find_kind(task).options for task in task_names()}
    names, known = {"max_length", *kind.options}, {"max_length"}.union(*tasks.values())
    given = {name: arguments[name] for name in known & arguments.keys() if arguments[name] is not None}
    for option in sorted(given.keys() - names):
        takers = [task for task, options in tasks.items() if option in options]
        raise ValueError(f"{option} belongs to task={' or '.join(map(repr, takers))}: received it with {kind.name!r}.")
    return checkpoint.options(names - given.keys(), kind.name) | given


def find(
    name: str | os.PathLike,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    pickled: bool = False,
) -> Checkpoint:
    """The checkpoint that a name stands for, downloaded if need be."""
    place = stands_for(name)
    if isinstance(place, str) and place.startswith("hf:"):
        repo, pinned = hub.parse(place)
        if pinned and revision not in (None, pinned):
            raise ValueError(f"received {place!r} and revision={revision!r}: expected one revision. Leave one out.")
        return _folder(hub.download(repo, revision or pinned, cache_dir, pickled=pickled), pickled, cache_dir)
    if isinstance(place, Entry) and place.source and not place.bundled:
        source = hub.parse(place.source)[0] if revision else place.source.removeprefix("hf:")
        found = find(f"hf:{source}", revision, cache_dir, pickled or place.pickled)
        return dataclasses.replace(found, task=found.task or place.task)  # some files name the bare model only
    if revision is not None:
        raise ValueError(f"revision={revision!r} is of a repository on the hub, and {name!r} is none. Leave it out.")
    if isinstance(place, str):
        return _keras_nlp(place.removeprefix("keras-nlp:"))
    if isinstance(place, Entry) and not place.bundled:
        return _sizes(place)
    return _folder(place.folder if isinstance(place, Entry) else place, pickled, cache_dir)


def _sizes(entry: Entry) -> Checkpoint:
    """Return the checkpoint of a model that has sizes but no weights."""
    if entry.tokenizer is None:
        raise no_weights(entry)
    config, task, tokenizers, assign = of_sizes(entry)
    return Checkpoint(config, tokenizers[0], task, assign, settings={"target_tokenizer": lambda: tokenizers[-1]})


def _folder(folder: Path, pickled: bool, cache_dir: str | os.PathLike | None) -> Checkpoint:
    if is_adapter(folder):
        return adapted(folder, find, cache_dir, pickled)
    config, extra = huggingface.read_config(folder)
    assign = partial(huggingface.load_weights, folder=folder, pickled=pickled)
    has_source = config.kind == "encoder_decoder"
    vectors = read_sentence_transformer(folder) if is_sentence_transformer(folder) else {}
    settings = {
        "max_length": lambda: _max_length(config, vectors.get("max_length") or read_max_length(folder)),
        "generation": partial(read_generation, folder, has_source),
        **{name: partial(vectors.get, name) for name in ("pooling", "normalize") if name in vectors},
    }
    if has_source:
        source, target = Tokenizer.pair_from_folder(folder)
        found = _checkpoint(config, extra, source, assign, settings | {"target_tokenizer": lambda: target})
    else:
        found = _checkpoint(config, extra, Tokenizer.from_folder(folder), assign, settings)
    task = SENTENCE_EMBEDDING if vectors and not has_source else found.task
    return dataclasses.replace(found, task=task, check=partial(huggingface.check_size, folder, config, pickled))


def _max_length(config: TransformerConfig, said: float | None) -> int:
    """The longest text of a checkpoint: what it says, up to what the model takes."""
    return int(said) if said and said <= most_tokens(config) else config.max_length


def _keras_nlp(preset: str) -> Checkpoint:
    folder = keras_nlp.preset_folder(preset)
    config, extra = keras_nlp.read_config(folder)
    assign = partial(keras_nlp.load_weights, folder=folder)
    found = _checkpoint(config, extra, keras_nlp.read_tokenizer(folder), assign, {})
    return dataclasses.replace(found, check=partial(keras_nlp.check_size, folder, config))


def _checkpoint(
    config: TransformerConfig, extra: dict[str, Any], tokenizer: Tokenizer, assign: Any, settings: Any
) -> Checkpoint:
    said, settings = extra.get("task") or {}, dict(settings)
    task = said.get("name")
    if not _is_meant_for(task, extra, config.family):
        task, said = task_of(extra["architecture"], config.family), {}
    for option in said.keys() & (find_kind(task).saved_options if said else ()):
        settings[option] = partial(said.get, option)
    said = {name: extra[name] for name in ("labels", "problem", "fault") if name in extra}
    if (architecture := extra["architecture"]) not in FAMILIES[config.family].architectures:
        said["unknown_class"] = architecture or "no class"
    return Checkpoint(config, tokenizer, task, assign, settings=settings, **said)


def _is_meant_for(task: Any, extra: Mapping[str, Any], family: str) -> bool:
    """Whether a folder can be of the task that it says: other programs train it for another one and keep the word."""
    if not is_task_of(task, extra["architecture"], family):
        return False
    return "labels" in find_kind(task).options or len(extra["labels"] or ()) < 2
