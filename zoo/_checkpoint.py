"""A checkpoint: what can be loaded, whatever it came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras

from keras_transformers.checkpoints.loading import check_size, load_weights
from keras_transformers.checkpoints.names import may_be_of
from keras_transformers.checkpoints.stored import Stored
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Something to load from.

    Args:
        config: Of the model that it holds.
        tokenizer: Its tokenizer.
        task: What it was made for, or None for a bare model.
        stored: Its files; None if it has sizes only.
        labels, problem: Of a classifier, or None.
        fault: Why the names of the labels cannot be used; empty if they can.
        unknown_class: What its config.json names, if that is no class of `transformers` that is known here.
        settings: Reads what it says of other options of a task, by their names: `max_length`, `generation`, ...
        kept: Options of `save_folder` for tasks that do not use what a file says, but write it again.
        weightless: What to say to who asks for weights, if it has none.
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
        """Give its weights to a model: see `loading.load_weights`."""
        return load_weights(model, self._weights(), **options)

    def _weights(self) -> Stored:
        if self.stored is None:
            raise ValueError(self.weightless)
        return self.stored

    def asked_for(self, task: str) -> Checkpoint:
        """Return the checkpoint as one for the task that a user names, if its class is unknown and may be of that."""
        is_of = self.unknown_class and may_be_of(task, self.unknown_class)
        return dataclasses.replace(self, task=task) if is_of else self

    def options(self, names: Iterable[str], task: str | None = None) -> dict[str, Any]:
        """Return options of a task, of these names, as far as the checkpoint has values; labels only of its own.

        Raises:
            ValueError: They are of its own task, and their names cannot be used.
        """
        if self.fault and task == self.task and "labels" in names:
            raise ValueError(self.fault)
        said = {"labels": self.labels, "problem": self.problem} if task == self.task else {}
        settings = {name: self.settings[name]() for name in names if name in self.settings}
        settings |= {name: value for name, value in said.items() if name in names and value is not None}
        return settings | ({"made_for": self.task} if "made_for" in names else {})
