"""The parts of a task: records that each task's file fills in, and that `Task` puts together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import keras
import numpy as np

from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.protocols import Objective, Source
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.text.tokenizer import Tokenizer, check_texts
from keras_transformers.training.best_epoch import BestEpoch
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.tensor_types import Tensor

if TYPE_CHECKING:
    from keras_transformers.tasks.contract.scorer import Scorer
    from keras_transformers.text.graph.compile import TextGraph


@dataclass(frozen=True)
class Setup:
    """The common arguments of all tasks, checked.

    Args:
        kind: The kind of task.
        config: Sizes and options of the model.
        tokenizer: Text to ids.
        max_length: Longest text in tokens.
        outputs: Optional outputs of the model.
        dtype: Name of a Keras dtype policy.

    Raises:
        ValueError: The model is of another kind than the task needs, the tokenizer has more tokens than the model, or
            `max_length` exceeds the model's, if it has a bound.
    """

    kind: Kind
    config: TransformerConfig
    tokenizer: Tokenizer
    max_length: int
    outputs: tuple[str, ...]
    dtype: str

    def __post_init__(self):
        kind, config = self.kind, self.config
        if config.kind not in kind.models:
            raise ValueError(f"{kind.name} needs a model of kind {kind.models}: received a {config.kind}.")
        size = config.encoder_vocabulary_size or config.vocabulary_size
        if self.tokenizer.vocabulary_size > size:
            raise ValueError(
                f"the tokenizer has {self.tokenizer.vocabulary_size} tokens, the model {size}: they do not belong "
                "together."
            )
        most = most_tokens(config)
        if not (is_size(self.max_length) and 4 <= self.max_length <= most):
            raise ValueError(
                f"max_length must be in [4, {most}], the model's, and whole: received {self.max_length!r}."
            )
        object.__setattr__(self, "max_length", int(self.max_length))
        check_texts("outputs", self.outputs, is_ordered=False)

    def with_tokenizer(self, tokenizer: Tokenizer) -> Setup:
        """Return the setup with another tokenizer."""
        return replace(self, tokenizer=tokenizer)

    def optional_outputs(self, backbone: keras.Model) -> dict[str, Tensor]:
        """Return the optional outputs of a model, by name."""
        return {name: backbone.output[name] for name in self.outputs}

    @cached_property
    def text_graph(self) -> TextGraph:
        """Return the tokenizer as TensorFlow ops, a `TextGraph`."""
        return self.graph_of(self.tokenizer)

    def graph_of(self, tokenizer: Tokenizer) -> TextGraph:
        """Return a tokenizer as TensorFlow ops, with the model's padding; tasks with the same tokenizer share it."""
        from keras_transformers.text.shared_graph import graph_of

        return graph_of(tokenizer, self.config.fill_id)


class MadeService(NamedTuple):
    """A service, and what it was made from: it is out of date when these change."""

    weights: list[Any]
    settings: Any
    service: Any


class Answers(Protocol):
    """The predictions of a task: `one_pass.OnePass` or `written_answers.Writing`."""

    setup: Setup
    model: keras.Model
    made_service: MadeService | None  # the last one, kept by `services.current_service`

    @property
    def service(self) -> Any:
        """Return the service that `predict` calls, and on TensorFlow `export` saves."""

    def make_service(self) -> Any:
        """Return a service with the current weights."""

    def predict(self, texts: Any, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        """Return one dict a text."""
        ...

    def predict_stream(self, texts: Any, *arguments: Any, **options: Any) -> Iterator[dict[str, Any]]:
        """Yield the same dicts one by one, as texts are read."""
        ...

    def export(self, folder: str | os.PathLike, *arguments: Any, **options: Any) -> None:
        """Write a SavedModel."""
        ...


@dataclass(frozen=True)
class Parts:
    """The parts of a task.

    Args:
        model: A plain functional `keras.Model`: a dict of inputs to a dict of outputs.
        tokenizer: The tokenizer, perhaps with an end token behind texts.
        source: Function from (texts, labels, pairs) and keyword-only options to a source of rows.
        objective: Function that returns an objective for `data.batches.pipeline`.
        losses, metrics: Return the losses and metrics by output; new ones for each `compile`.
        answers: The predictions.
        label_output: The output of the labels, if they are one array.
        label_needed: Description of a row's label, if options of the task decide that it needs one to fit.
        pairs_needed: Whether a text needs a second one to fit, by the options; `kind.needs_pairs`: to predict, too.
        class_weights: Function from a dict of weights by label to an array (C,); None if texts have no classes.
        loss_weights: Weights of the losses by output; None for 1 each.
        label_layer: The layer whose last axis is the labels; None if there is none.
        step_layer: The layer whose axes are all the labels, of steps from one to the next; None if there is none.
        saved_options: The values of `kind.saved_options`.
        scorer: Function from texts, labels and pairs to a `Scorer`, for `evaluate`; None for metrics alone.
        rows_alone: Whether a row's metrics depend on it alone: `evaluate` then batches rows of similar length.
        judged_by: The metric of `label_output` by which the best epoch is chosen.
        report: Function from texts, labels, pairs, predictions, `report_options` to a report for `reports.measure`.
        saved: Function that returns further options of `checkpoints.weights.saving.save_folder`, at each `save`.
        saved_tokenizer: The tokenizer that `save` writes, if not `tokenizer`.
        attributes: Further attributes of the `Task`, by name.
        token_source, token_objective: As `source` and `objective`, for a `TokenFile`; None if it is not learned from.
    """

    model: keras.Model
    tokenizer: Tokenizer
    source: Callable[..., Source]
    objective: Callable[[], Objective]
    losses: Callable[[], dict[str, keras.losses.Loss]]
    metrics: Callable[[], dict[str, list[keras.metrics.Metric]]]
    answers: Answers
    label_output: str = "logits"
    label_needed: str = ""
    pairs_needed: bool = False
    class_weights: Callable[[Mapping[Any, float]], np.ndarray] | None = None
    loss_weights: dict[str, float] | None = None
    label_layer: str | None = None
    step_layer: str | None = None
    saved_options: Mapping[str, Any] = field(default_factory=dict)
    scorer: Callable[[Any, Any, Any], Scorer] | None = None
    rows_alone: bool = True
    judged_by: str = "accuracy"
    report: Callable[..., dict[str, Any]] | None = None
    report_options: Mapping[str, Any] = field(default_factory=dict)
    saved: Callable[[], dict[str, Any]] = dict
    saved_tokenizer: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    token_source: Callable[[Any], TokenBlocks] | None = None
    token_objective: Callable[[], Objective] | None = None

    def best_epoch(self) -> BestEpoch:
        """Return the callback that keeps the best epoch by `judged_by` on the validation data."""
        metric = next(metric for metric in self.metrics()[self.label_output] if metric.name == self.judged_by)
        prefix = f"{self.label_output}_" if len(self.model.output) > 1 else ""
        return BestEpoch(f"val_{prefix}{metric.name}", metric._direction)
