"""From a name to a checkpoint: of the zoo, a folder, the hub or keras-nlp."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.formats import NOTHING, find_stored, keras_hub
from keras_transformers.checkpoints.names import FAMILIES, is_task_of, task_of
from keras_transformers.checkpoints.peft import is_adapter
from keras_transformers.checkpoints.settings.generation_config import keep_generation, read_generation
from keras_transformers.checkpoints.settings.sentence_transformers import TASK as SENTENCE_EMBEDDING
from keras_transformers.checkpoints.settings.sentence_transformers import (
    is_sentence_transformer,
    read_sentence_transformer,
)
from keras_transformers.checkpoints.stored import Said, Stored
from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.tasks.parts import find_kind
from keras_transformers.text.folder.tokenizer_folder import read_max_length
from keras_transformers.utils.untrusted import warn_user
from zoo._adapter import adapted
from zoo._checkpoint import Checkpoint
from zoo._entry import Entry
from zoo._place import stands_for
from zoo._sizes import no_weights, tokenizers_of_sizes


def find(
    name: str | os.PathLike,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    said: Said = NOTHING,
) -> Checkpoint:
    """Return the checkpoint that a name stands for, downloaded if need be; `said` is what the user says of it."""
    place = stands_for(name)
    if isinstance(place, str) and place.startswith("hf:"):
        repo, pinned = hub.parse(place)
        if pinned and revision not in (None, pinned):
            raise ValueError(f"received {place!r} and revision={revision!r}: expected one revision. Leave one out.")
        return _folder(hub.download(repo, revision or pinned, cache_dir, pickled=said.pickled), said, cache_dir)
    if isinstance(place, Entry) and place.source and not place.bundled:
        source = hub.parse(place.source)[0] if revision else place.source.removeprefix("hf:")
        found = find(f"hf:{source}", revision, cache_dir, said._replace(pickled=said.pickled or place.pickled))
        return dataclasses.replace(found, task=found.task or place.task)  # some files name the bare model only
    if revision is not None:
        raise ValueError(f"revision={revision!r} is of a repository on the hub, and {name!r} is none. Leave it out.")
    if isinstance(place, str):
        return _of_stored(find_stored(keras_hub.preset_folder(place), said))
    if isinstance(place, Entry) and not place.bundled:
        return _sizes(place, said)
    return _folder(place.folder if isinstance(place, Entry) else place, said, cache_dir)


def _sizes(entry: Entry, said: Said) -> Checkpoint:
    """Return the checkpoint of a model that has sizes but no weights."""
    if said._replace(pickled=False) != NOTHING:
        raise ValueError(f"{entry.name!r} says its tokenizer and heads itself: received {said}. Leave them out.")
    source, target = tokenizers_of_sizes(entry)
    settings = {"target_tokenizer": lambda: target}
    return Checkpoint(entry.sizes[0], source, entry.task, None, settings=settings, weightless=no_weights(entry))


def _folder(place: Path, said: Said, cache_dir: str | os.PathLike | None) -> Checkpoint:
    if is_adapter(place):
        return adapted(place, find, cache_dir, said)
    return _of_stored(find_stored(place, said))


def tell_assumed(checkpoint: Checkpoint) -> None:
    """Warn of what the files of a checkpoint do not say, and what is taken for it."""
    if checkpoint.stored is not None and checkpoint.stored.assumed:
        warn_user(
            f"{checkpoint.stored.source}, of {checkpoint.stored.writer}, does not say all: "
            f"{'; '.join(checkpoint.stored.assumed)}.",
        )


def _of_stored(stored: Stored) -> Checkpoint:
    folder, config = stored.folder, stored.config
    has_source = config.kind == "encoder_decoder"
    vectors = read_sentence_transformer(folder) if is_sentence_transformer(folder) else {}
    source, target = stored.tokenizers()
    settings: dict[str, Callable[[], Any]] = {
        "max_length": lambda: _max_length(config, vectors.get("max_length") or read_max_length(folder)),
        "generation": partial(read_generation, folder, has_source, stored.values),
        **{name: partial(vectors.get, name) for name in ("pooling", "normalize") if name in vectors},
        **({"target_tokenizer": lambda: target} if has_source else {}),
    }
    task, said = _made_for(stored.extra, config.family)
    for option in said.keys() & (find_kind(task).saved_options if said else ()):
        settings[option] = partial(said.get, option)
    if vectors and not has_source:
        task = SENTENCE_EMBEDDING
    facts = {name: stored.extra[name] for name in ("labels", "problem", "fault") if name in stored.extra}
    if (architecture := stored.extra["architecture"]) not in FAMILIES[config.family].architectures:
        facts["unknown_class"] = architecture or "no class"
    kept = {"generation": generation} if (generation := keep_generation(folder)) else {}
    return Checkpoint(config, source, task, stored=stored, settings=settings, kept=kept, **facts)


def _max_length(config: TransformerConfig, said: float | None) -> int:
    """Return the longest text of a checkpoint: what it says, up to what the model takes."""
    return int(said) if said and said <= most_tokens(config) else config.max_length


def _made_for(extra: Mapping[str, Any], family: str) -> tuple[str | None, Mapping[str, Any]]:
    """Return the task that a checkpoint was made for, or None; and what it says of the task's options."""
    said = extra.get("task") or {}
    if _is_meant_for(said.get("name"), extra, family):
        return said["name"], said
    return task_of(extra["architecture"], family), {}


def _is_meant_for(task: Any, extra: Mapping[str, Any], family: str) -> bool:
    """Return whether a folder can be of the task that it says: other programs keep the word for another one."""
    if not is_task_of(task, extra["architecture"], family):
        return False
    return "labels" in find_kind(task).options or len(extra["labels"] or ()) < 2
