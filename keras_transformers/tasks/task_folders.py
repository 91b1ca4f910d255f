"""Folders in Hugging Face layout that a task writes: with its weights, or with graphs for other programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.weights.saving import Graphs, save_folder
from keras_transformers.tasks.contract.forwarded import check_process
from keras_transformers.training.lora import merged


def save_task(
    task: Any, folder: str | os.PathLike, dtype: str, files: Mapping[str, str] | None, graphs: Graphs | None = None
) -> None:
    """Write a task in Hugging Face layout: see `Task.save`.

    Args:
        task: A `Task`.
        folder, dtype, files: As for `Task.save`.
        graphs: As for `save_folder`.
    """
    check_process(task.process)
    parts = task.parts
    tokenizer = parts.tokenizer if parts.saved_tokenizer is None else parts.saved_tokenizer
    options = {"architecture": architecture_of(task.name, task.config.family), "dtype": dtype, **parts.saved()}
    options |= {"max_length": task.max_length, "task": {"name": task.name, **parts.saved_options}, "files": files}
    with merged(task.model):
        save_folder(folder, task.model, task.config, tokenizer, graphs=graphs, **options)
