"""Adapters of `peft`: the checkpoint of the base model, with the adapter merged."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.peft import CONFIG, Adapter, adapt, is_adapter, read_adapter
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.text.tokenizer import Tokenizer
from zoo.loading.checkpoint import Checkpoint
from zoo.registry.entry import is_known


def adapted(
    folder: Path, find: Callable[..., Checkpoint], cache_dir: str | os.PathLike | None, given: UserOptions
) -> Checkpoint:
    """Return the checkpoint of an adapter's base, with the adapter merged.

    Args:
        folder: Folder of the adapter.
        find: Function that returns the checkpoint for a name.
        cache_dir: As for `zoo.load`.
        given: The user's information about the base.

    Raises:
        ValueError: As for `read_adapter`; or the base cannot be found, has no weights in Hugging Face layout, or is an
            adapter too.
    """
    adapter = read_adapter(folder, given.pickled)
    base, stored = _find_base(folder, adapter, find, cache_dir, given)
    family = FAMILIES[base.config.family]
    task = adapter.task or base.task
    stored = adapt(stored, adapter)
    found = dataclasses.replace(base, stored=stored, config=stored.config, task=task)
    if base.config.kind != "encoder_decoder" and (folder / "tokenizer.json").is_file():
        found = dataclasses.replace(found, tokenizer=Tokenizer.from_folder(folder))
    head = adapter.tensors.get(f"{family.weights.get('classifier')}.weight")
    if head is None or len(base.labels or ()) == head.shape[0]:
        return found
    labels = tuple(f"LABEL_{index}" for index in range(head.shape[0]))  # peft does not keep their names
    problem = "regression" if len(labels) == 1 else "single_label"
    return dataclasses.replace(found, labels=labels, problem=problem, fault="")


def _find_base(
    folder: Path,
    adapter: Adapter,
    find: Callable[..., Checkpoint],
    cache_dir: str | os.PathLike | None,
    given: UserOptions,
) -> tuple[Checkpoint, Stored]:
    """Return the checkpoint of an adapter's base, and its files."""
    place: str | Path = adapter.base
    try:
        if Path(adapter.base).is_dir():
            place = Path(adapter.base)
        elif not is_known(adapter.base):
            place = hub.download(adapter.base, adapter.revision, cache_dir, pickled=given.pickled)
        if isinstance(place, Path) and is_adapter(place):
            raise ValueError(f"{place} is an adapter itself: expected a whole model. Merge it first.")
        base = find(place, None, cache_dir, given)
    except ValueError as error:
        raise ValueError(
            f"{folder} holds an adapter of peft for {adapter.base!r}, its base, which cannot be loaded: {error} The "
            f"base is what {CONFIG} names as base_model_name_or_path: a folder, a name of the zoo, or of the hub."
        ) from error
    if base.stored is None:
        raise ValueError(f"{folder}: the base {adapter.base!r} has no folder of weights: expected one to merge with.")
    return base, base.stored
