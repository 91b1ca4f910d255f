"""The metrics of a task before and after its weights are rounded, computed by the program that reads the file."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from numbers import Real
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.tasks.contract.from_ids import COLUMNS
from keras_transformers.tasks.exports.graph_checks import Program
from keras_transformers.tasks.exports.int8 import Int8Weights
from keras_transformers.tasks.inputs.sources import kept
from keras_transformers.utils.untrusted import shown

LOWER_IS_BETTER = ("mean_absolute_error", "mean_squared_error", "cross_entropy", "perplexity")
ROWS = "texts", "labels", "pairs"
JUDGES = "spearman", "f1"  # scores of `evaluate` that a task is judged by before its metrics
MOST = 0.01  # of a loss by default: a point


class Loss(NamedTuple):
    """Metrics of a model before and after its weights are rounded."""

    before: dict[str, float]
    after: dict[str, float]
    judged_by: str

    @property
    def loss(self) -> float:
        """Return by how much the metric got worse: a difference, or for errors a share of what it was."""
        before, after = self.before[self.judged_by], self.after[self.judged_by]
        if self.judged_by.endswith(LOWER_IS_BETTER):
            return (after - before) / max(before, 1e-12)
        return before - after

    def describe(self) -> str:
        """Return a table of the metrics in Markdown."""
        rows = [f"| {name} | {self.before[name]:.4f} | {self.after[name]:.4f} |" for name in self.before]
        return "\n".join(["| metric | float32 | rounded |", "|---|---|---|", *rows])

    def check(self, most: float) -> None:
        """Raise a `ValueError` if the loss is more than `most`."""
        if not self.loss <= most:  # NaN is more, too
            raise ValueError(
                f"rounding changes {self.judged_by} from {self.before[self.judged_by]:.4f} to "
                f"{self.after[self.judged_by]:.4f}, a loss of {self.loss:.4f}, and max_loss is {most:g}: nothing was "
                "written. Give a larger max_loss, or do not round."
            )


def checked_data(task: Any, data: Any, most: Any) -> list[Any] | None:
    """Return texts, labels and pairs that can be read twice, or None for no measure.

    Args:
        task: A `Task`.
        data: `(texts, labels)` or `(texts, labels, pairs)`, or a dict of these; None for no measure.
        most: The largest loss; None where it is not given.

    Raises:
        ValueError: A task cannot be measured on the data, or there is a largest loss without data.
    """
    if most is None:
        most = MOST
    elif data is None:
        raise ValueError("max_loss is a limit for what validation_data measures: give both, or leave it out.")
    if isinstance(most, bool) or not isinstance(most, Real) or math.isnan(most) or most < 0:
        raise ValueError(f"max_loss is a number of at least 0, 0.01 for a point: received {shown(most)}.")
    if data is None:
        return None
    is_known = {*data} <= {*ROWS} and "texts" in data if isinstance(data, dict) else isinstance(data, (tuple, list))
    if not is_known or not 1 <= len(data) <= 3:
        raise ValueError(
            f"validation_data is (texts, labels) or (texts, labels, pairs), or a dict of these: received {shown(data)}."
        )
    if more := sorted({*task.model.input} - {*COLUMNS.values()}):
        raise ValueError(f"{task.name} is not measured by token ids alone: it needs {more}. Leave validation_data out.")
    rows = data if isinstance(data, dict) else dict(zip(ROWS, data, strict=False))
    return [kept(rows.get(name)) for name in ROWS]


def rounding_loss(task: Any, scopes: Iterable[AbstractContextManager], data: list[Any]) -> Loss:
    """Return the metrics of a task in two scopes, where other programs or other weights compute.

    Args:
        task: A `Task`.
        scopes: The one in float32, and the rounded one: see `computed_by` and `with_int8`.
        data: Result of `checked_data`.
    """
    before, after = (_measured(task, scope, data) for scope in scopes)
    names = [name for judge in (*JUDGES, task.parts.judged_by) for name in before if name.endswith(judge)]
    return Loss(before, after, [*names, *before][0])


def _measured(task: Any, scope: AbstractContextManager, data: list[Any]) -> dict[str, float]:
    texts, labels, pairs = data
    with scope:
        found = task.evaluate(texts, labels, pairs=pairs, verbose=0)
    return {name: float(value) for name, value in found.items() if np.ndim(value) == 0}


@contextlib.contextmanager
def with_int8(model: keras.Model, config: TransformerConfig, max_length: int) -> Iterator[None]:
    """Let a model compute with matrices of 8 bits in `evaluate`."""
    with Int8Weights(model, config, max_length).in_use():
        model.test_function = model.predict_function = None  # traced with the other weights
        try:
            yield
        finally:
            model.test_function = model.predict_function = None


@contextlib.contextmanager
def computed_by(model: keras.Model, program: Program, rank: int) -> Iterator[None]:
    """Let a program, whose inputs have `rank` axes, compute the outputs of a model in `evaluate`."""

    def call(inputs: Mapping[str, Any], training: Any = None, mask: Any = None) -> dict[str, Any]:
        columns = {name: np.asarray(inputs[ours], "int32") for name, ours in COLUMNS.items() if ours in inputs}
        lead = columns["input_ids"].shape[: 1 - rank]  # (B,), or (B, C) where texts are in groups of C
        rows = {name: column.reshape(-1, *column.shape[len(lead) :]) for name, column in columns.items()}
        found = _as_outputs(program(rows))
        return {name: ops.convert_to_tensor(value.reshape(*lead, *value.shape[1:])) for name, value in found.items()}

    eager, model.run_eagerly = model.run_eagerly, True
    model.call, model.test_function, model.predict_function = call, None, None
    try:
        yield
    finally:
        del model.call
        model.run_eagerly, model.test_function, model.predict_function = eager, None, None


def _as_outputs(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs of a task's model from those that have the names of `transformers`."""
    if "start_logits" in found:
        return {"logits": np.stack([found["start_logits"], found["end_logits"]], axis=-1)}  # (B, T, 2)
    if "sentence_embedding" in found:
        return {"embedding": found["sentence_embedding"]}
    return {"logits": found["logits"]}
