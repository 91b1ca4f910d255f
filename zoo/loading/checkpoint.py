"""A checkpoint to load, whatever its source, and the task to load it for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import keras

from keras_transformers.checkpoints.settings.names import architecture_of, may_be_of, task_names
from keras_transformers.checkpoints.stored import Stored
from keras_transformers.checkpoints.weights.loading import check_size, load_weights
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.tasks.contract.kind import LABELLED, Kind, find_kind
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.untrusted import shown


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of the zoo, a folder, the hub or keras-nlp.

    Args:
        config: The model's configuration.
        tokenizer: The model's tokenizer.
        task: The task that it was made for, or None for a bare model.
        stored: Stored checkpoint; None for sizes without weights.
        labels, problem: Labels and problem of a classifier, or None.
        fault: Why the names of the labels cannot be used; empty if they can.
        unknown_class: The class that its config.json names, if it is none of `transformers` that is known here.
        settings: Functions that read its values of other options of a task, by name: `max_length`, `generation`, ...
        own: Names among them that belong to the checkpoint's task, or to tasks that share its head.
        kept: Options of `save_folder` that a task does not use, but writes again.
        weightless: The error message if it has no weights and they are asked for.
    """

    config: TransformerConfig
    tokenizer: Tokenizer
    task: str | None
    stored: Stored | None
    labels: tuple[str, ...] | None = None
    problem: str | None = None
    fault: str = ""
    unknown_class: str = ""
    settings: Mapping[str, Callable[[], Any]] = dataclasses.field(default_factory=dict)
    own: Set[str] = frozenset()
    kept: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    weightless: str = ""

    def check(self) -> Stored:
        """Check that it holds as many weights as a model of its configuration has; return its files.

        Raises:
            ValueError: It holds fewer, or none.
        """
        stored = self._weights()
        check_size(stored)
        return stored

    def assign(self, model: keras.Model, **options: Any) -> tuple[str, ...]:
        """Assign its weights to a model, as `loading.load_weights` does."""
        return load_weights(model, self._weights(), **options)

    def _weights(self) -> Stored:
        if self.stored is None:
            raise ValueError(self.weightless)
        return self.stored

    def asked_for(self, task: str) -> Checkpoint:
        """Return the checkpoint as one made for a task that a user names, if its class is unknown and may be for it."""
        may_be = self.unknown_class and may_be_of(task, self.unknown_class)
        return dataclasses.replace(self, task=task) if may_be else self

    def options(self, names: Iterable[str], task: str | None = None) -> dict[str, Any]:
        """Return the checkpoint's values for options of a task; its labels only for tasks with the same head.

        Args:
            names: Names of the options; options without a value are left out.
            task: Name of the task.

        Raises:
            ValueError: It was made for this task, and the names of its labels cannot be used; or it has a default
                prompt, and the task puts none before texts.
        """
        if self.fault and task == self.task and "labels" in names:
            raise ValueError(self.fault)
        is_own = task == self.task or (task is not None and self.task in find_kind(task).shares_head)
        of_labels = {"labels": self.labels, "problem": self.problem} if is_own else {}
        if is_own and "default_prompt" in self.own and "default_prompt" not in find_kind(task).options:
            self._check_unprompted(task)
        named = self.settings.keys() if is_own else self.settings.keys() - self.own
        settings = {name: self.settings[name]() for name in names if name in named}
        settings |= {name: value for name, value in of_labels.items() if name in names and value is not None}
        if "made_for" in names:
            settings["made_for"] = self.task
        return settings

    def _check_unprompted(self, task: str | None) -> None:
        """Refuse a default prompt for a task that would leave it out."""
        prompts, default = self.settings["prompts"](), self.settings["default_prompt"]()
        if default is not None and prompts[default]:
            raise ValueError(
                f"the checkpoint puts the prompt {shown(prompts[default])} before each text, which {task} does not "
                "do. Remove default_prompt_name from config_sentence_transformers.json, and put it before texts "
                "yourself."
            )


def chosen_kind(name: Any, task: str | None, checkpoint: Checkpoint, has_labels: bool = False) -> Kind:
    """Return the task asked for, else what the checkpoint was made for; where labels are given, one that has labels.

    Raises:
        ValueError: There is no such task, the family has none, or nothing says which.
    """
    if task is not None:
        asked = find_kind(task)
        if checkpoint.config.kind in asked.models:  # else the task says which models it needs
            architecture_of(task, checkpoint.config.family)
        return asked
    kind = None if checkpoint.task is None else find_kind(checkpoint.task)
    if has_labels and (kind is None or "labels" not in kind.options):
        return find_kind(LABELLED)
    if kind is None:
        what = f"names {checkpoint.unknown_class}, not known here" if checkpoint.unknown_class else "is a bare model"
        raise ValueError(f"{name} {what}: give task=, one of {task_names()}.")
    return kind
