"""From a name to a checkpoint: of the zoo, a folder, the hub or keras-nlp."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats import NOTHING, find_stored
from keras_transformers.checkpoints.peft import is_adapter
from keras_transformers.checkpoints.settings.cross_encoder import (
    is_cross_encoder,
    named_activation,
    read_cross_encoder,
)
from keras_transformers.checkpoints.settings.generation_config import keep_generation, read_generation
from keras_transformers.checkpoints.settings.names import FAMILIES, is_task_of, task_of
from keras_transformers.checkpoints.settings.sentence_layers import layer_tensors
from keras_transformers.checkpoints.settings.sentence_modules import is_sentence_transformer, transformer_folder
from keras_transformers.checkpoints.settings.sentence_transformers import TASK as SENTENCE_EMBEDDING
from keras_transformers.checkpoints.settings.sentence_transformers import model2vec_options, read_sentence_transformer
from keras_transformers.checkpoints.settings.sparse_encoder import is_sparse_encoder, read_sparse_encoder
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.tasks.contract.kind import Kind, check_task_options, find_kind
from keras_transformers.text.folder.kept_files import TASK
from keras_transformers.text.folder.tokenizer_folder import read_max_length
from keras_transformers.utils.untrusted import warn_user
from zoo.loading.adapter import adapted
from zoo.loading.checkpoint import Checkpoint
from zoo.loading.place import stands_for
from zoo.loading.weightless import no_weights, tokenizers_of_sizes
from zoo.registry.entry import Entry

NO_MODULES: Mapping[str, Any] = {}
OF_CLASSIFIER = ("labels", "problem", "fault")


def find(
    name: str | os.PathLike,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    given: UserOptions = NOTHING,
) -> Checkpoint:
    """Return the checkpoint for a name; download it if needed.

    Args:
        name, revision, cache_dir: As for `zoo.load`.
        given: The user's information about the checkpoint.

    Raises:
        ValueError: There is none, or it cannot be read.
    """
    place = stands_for(name)
    if isinstance(place, str) and place.startswith("hf:"):
        repo, pinned = hub.parse(place)
        if pinned and revision not in (None, pinned):
            raise ValueError(f"received {place!r} and revision={revision!r}: expected one revision. Leave one out.")
        return _folder(hub.download(repo, revision or pinned, cache_dir, pickled=given.pickled), given, cache_dir)
    if isinstance(place, Entry) and place.source and not place.bundled:
        source = hub.parse(place.source)[0] if revision else place.source.removeprefix("hf:")
        found = find(f"hf:{source}", revision, cache_dir, given._replace(pickled=given.pickled or place.pickled))
        return _of_entry(place, found)
    if revision is not None:
        raise ValueError(
            f"revision={revision!r} is for a repository on the hub, and {name!r} is not one. Leave it out."
        )
    if isinstance(place, str):
        from keras_transformers.checkpoints.formats import keras_hub  # of a preset only

        return _of_stored(find_stored(keras_hub.preset_folder(place), given))
    if isinstance(place, Entry) and not place.bundled:
        return _sizes(place, given)
    return _folder(place.folder if isinstance(place, Entry) else place, given, cache_dir)


def _sizes(entry: Entry, given: UserOptions) -> Checkpoint:
    """Return the checkpoint of a model that has sizes but no weights."""
    if given._replace(pickled=False, task=None) != NOTHING:
        raise ValueError(f"{entry.name!r} specifies its tokenizer and heads: received {given}. Leave them out.")
    source, target = tokenizers_of_sizes(entry)
    settings = {"target_tokenizer": lambda: target}
    return Checkpoint(entry.sizes[0], source, entry.task, None, settings=settings, weightless=no_weights(entry))


def _folder(place: Path, given: UserOptions, cache_dir: str | os.PathLike | None) -> Checkpoint:
    if is_adapter(place):
        return adapted(place, find, cache_dir, given)
    stored = find_stored(transformer_folder(place), given)
    if not is_sentence_transformer(place):
        return _of_stored(stored, model2vec_options(stored.values) if stored.config.mixer == "none" else NO_MODULES)
    if layers := layer_tensors(place, given.pickled):
        stored = dataclasses.replace(stored, tensors=partial(_joined, stored.tensors, layers))
    width = stored.config.output_dim
    if is_cross_encoder(place):
        return _of_stored(stored, read_cross_encoder(place, stored.values, stored.extra["labels"], width))
    task = {} if stored.config.kind == "encoder_decoder" else {"task": SENTENCE_EMBEDDING}
    read = read_sparse_encoder(place) if is_sparse_encoder(place) else read_sentence_transformer(place, width)
    return _of_stored(stored, read | task)


def _joined(tensors: Callable[[], list[Tensor]], more: list[Tensor]) -> list[Tensor]:
    return [*tensors(), *more]


def _of_entry(entry: Entry, found: Checkpoint) -> Checkpoint:
    """Return the checkpoint of an entry with what its files do not say."""
    task = found.task or entry.task  # some files name the bare model only
    if entry.options and task != entry.task:  # such as a language model that ranks
        options = {name: partial(entry.options.get, name) for name in entry.options}
        return dataclasses.replace(
            found, task=entry.task, settings={**found.settings, **options}, own=found.own | {*options}
        )
    return dataclasses.replace(found, task=task, settings={**found.settings, **_prompts(entry, found)})


def _prompts(entry: Entry, found: Checkpoint) -> dict[str, Callable[[], Any]]:
    """Return the prompts of an entry as settings, if its checkpoint names none."""
    has_own = "prompts" in found.settings and found.settings["prompts"]()
    return {} if has_own or not entry.prompts else {"prompts": lambda: dict(entry.prompts)}


def tell_assumed(checkpoint: Checkpoint) -> None:
    """Warn of what is assumed where the files of a checkpoint do not say all."""
    if checkpoint.stored is not None and checkpoint.stored.assumed:
        warn_user(
            f"{checkpoint.stored.source}, of {checkpoint.stored.writer}, lacks some settings: "
            f"{'; '.join(checkpoint.stored.assumed)}.",
        )


def _of_stored(stored: Stored, modules: Mapping[str, Any] = NO_MODULES) -> Checkpoint:
    """Return the checkpoint of files that are read; `modules` are the settings of sentence-transformers."""
    folder, config = stored.folder, stored.config
    has_source = config.kind == "encoder_decoder"
    source, target = stored.tokenizers()
    own = modules.keys() - {"max_length", "task", *OF_CLASSIFIER}
    settings: dict[str, Callable[[], Any]] = {
        "max_length": lambda: _max_length(config, modules.get("max_length") or read_max_length(folder)),
        "generation": partial(read_generation, folder, has_source, stored.values),
        **{name: partial(modules.get, name) for name in own},
        **({"target_tokenizer": lambda: target} if has_source else {}),
    }
    task, of_task = _made_for(stored.extra, config.family)
    if of_task:
        settings |= _task_options(find_kind(task), of_task, folder / "config.json")
    if activation := None if modules else named_activation(stored.values, folder / "config.json"):
        settings["activation"] = lambda: activation
    said = {**stored.extra, **modules}
    facts: dict[str, Any] = {name: said[name] for name in OF_CLASSIFIER if name in said}
    if (architecture := stored.extra["architecture"]) not in FAMILIES[config.family].architectures:
        facts["unknown_class"] = architecture or "no class"
    kept = {"generation": generation} if (generation := keep_generation(folder)) else {}
    task = modules.get("task", task)
    return Checkpoint(config, source, task, stored=stored, settings=settings, own=own, kept=kept, **facts)


def _task_options(kind: Kind, stored: Mapping[str, Any], path: Path) -> dict[str, Callable[[], Any]]:
    """Return functions that check and return the options that a config.json stores for its task, by name."""
    if unknown := sorted(stored.keys() - {"name", *kind.saved_options}):
        warn_user(
            f"{path} stores options in {TASK} that {kind.name} does not keep there: {unknown}. They are left out."
        )

    def checked(option: str) -> Any:
        try:
            check_task_options(kind.name, {option: stored[option]})
        except ValueError as error:
            raise ValueError(f"{path}, in {TASK}: {error}") from None
        return stored[option]

    return {option: partial(checked, option) for option in stored.keys() & kind.saved_options}


def _max_length(config: TransformerConfig, stored: float | None) -> int:
    """Return the longest text of a checkpoint in tokens: as stored, but no more than the model takes."""
    return int(stored) if stored and stored <= most_tokens(config) else config.max_length


def _made_for(extra: Mapping[str, Any], family: str) -> tuple[str | None, Mapping[str, Any]]:
    """Return the task that a checkpoint was made for, or None; and the values of the task's options that it stores."""
    stored = extra.get("task") or {}
    if _is_meant_for(stored.get("name"), extra, family):
        return stored["name"], stored
    return task_of(extra["architecture"], family), {}


def _is_meant_for(task: Any, extra: Mapping[str, Any], family: str) -> bool:
    """Return whether a folder can be of the task that it names.

    A folder that another program has trained for another task since may still name the first one.
    """
    if not is_task_of(task, extra["architecture"], family):
        return False
    return "labels" in find_kind(task).options or len(extra["labels"] or ()) < 2
