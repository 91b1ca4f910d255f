"""Files of conversations, as `finetune` and `evaluate` find them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.data.sources.conversations import holds_conversations
from keras_transformers.text.files.packed import kind_of
from keras_transformers.text.files.records import SEPARATED, is_table, objects

CONVERSATIONS = "messages"  # the column of texts that stands for conversations in any layout


def learned_from(
    train: Path | None, messages: Path | None, text: str | int, task: str | None, default: str, named: Mapping[str, Any]
) -> tuple[Path | None, str | int, str]:
    """Return the training file, the column of its texts, and the task: a file of conversations says all three.

    Args:
        train, messages, text, task: Options of the command.
        default: The task, if nothing says it.
        named: Options on columns, None for those that are not given.
    """
    if messages is None:
        return train, text, task or default
    if train is not None:
        raise ValueError(f"received --train {train} and --messages {messages}: give one of them.")
    if given := [f"--{name.replace('_', '-')}" for name, value in named.items() if value is not None]:
        raise ValueError(f"--messages has no columns of texts and labels: received {', '.join(given)}. Leave them out.")
    from keras_transformers.checkpoints.settings.names import task_names
    from keras_transformers.tasks.contract.kind import find_kind

    of_messages = [name for name in task_names() if find_kind(name).takes_messages]
    if task not in (None, *of_messages):
        raise ValueError(f"--messages is for --task {', '.join(of_messages)}: received --task {task}. Leave it out.")
    return messages, CONVERSATIONS, task or of_messages[0]


def of_messages(path: Path, text: Any, is_named: bool, **reading: str) -> bool:
    """Return whether a file holds conversations: the user says so, or its first record does and has no column text.

    Args:
        path: The file.
        text: Column of the texts.
        is_named: Whether the user named any column.
        **reading: Encoding and errors.
    """
    if text == CONVERSATIONS or is_named or not is_table(path) or kind_of(path) in SEPARATED:
        return text == CONVERSATIONS
    _, first = next(objects(path, **reading), (0, {}))
    return text not in first and holds_conversations(first)
