"""From a name to a checkpoint: of the zoo, a folder, the hub or keras-nlp."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints import hub, huggingface, keras_nlp
from keras_transformers.checkpoints.generation_config import keep_generation, read_generation
from keras_transformers.checkpoints.names import FAMILIES, is_task_of, task_of
from keras_transformers.checkpoints.peft import is_adapter
from keras_transformers.checkpoints.sentence_transformers import TASK as SENTENCE_EMBEDDING
from keras_transformers.checkpoints.sentence_transformers import is_sentence_transformer, read_sentence_transformer
from keras_transformers.config import TransformerConfig
from keras_transformers.config_limits import most_tokens
from keras_transformers.tasks.parts import find_kind
from keras_transformers.text.folder import read_max_length
from keras_transformers.text.tokenizer import Tokenizer
from zoo._adapter import adapted
from zoo._entry import Entry
from zoo._place import stands_for
from zoo._sizes import no_weights, of_sizes


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
        kept: Options of `save_folder` for tasks that do not use what a file says, but write it again.
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
    kept: Mapping[str, Any] = dataclasses.field(default_factory=dict)
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
    kept = {"generation": generation} if (generation := keep_generation(folder)) else {}
    return dataclasses.replace(
        found, task=task, kept=kept, check=partial(huggingface.check_size, folder, config, pickled)
    )


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
