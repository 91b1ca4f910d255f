"""Fitting and measuring: what all tasks do alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from keras_transformers.tasks.schedule import make_schedule
from keras_transformers.training.distribute import on_tensorflow, scope, take_uneven_batches
from keras_transformers.training.loss_scale import LossScaleOptimizer
from keras_transformers.training.optimizer import AdamW


class Fitting:
    """The part of `Task` that trains and evaluates its `model` on what its `dataset` makes."""

    name: ClassVar[str]
    labelled: ClassVar[bool] = False  # whether texts come with labels
    model: keras.Model
    dtype: str

    def compile(self, optimizer: keras.optimizers.Optimizer | None = None, **options: Any) -> None:
        """Compile the model with the task's loss and metrics.

        Args:
            optimizer: AdamW with a constant rate of 5e-5 when None.
            **options: For `keras.Model.compile`, such as `jit_compile`, `steps_per_execution` or `metrics`.
        """
        optimizer = optimizer or AdamW(5e-5)
        if self.dtype == "mixed_float16" and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            optimizer = LossScaleOptimizer(optimizer)  # Keras does so itself for a global policy only, and with its own
        if on_tensorflow():
            take_uneven_batches(self.model)
            # On CPUs it gains little here, and compiles anew for every length of batch.
            options = {"jit_compile": False} | options
        self.model.compile(optimizer, **({"loss": self._losses(), "metrics": self._metrics()} | options))

    def fit(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        epochs: int = 3,
        batch_size: int = 32,
        learning_rate: float = 5e-5,
        schedule: str = "linear",
        warmup: float = 0.1,
        weight_decay: float = 0.01,
        clip_norm: float | None = 1.0,
        accumulation_steps: int = 1,
        ema_momentum: float | None = None,
        class_weight: dict[Any, float] | None = None,
        validation_data: Any = None,
        seed: int = 0,
        dataset_options: dict[str, Any] | None = None,
        optimizer_options: dict[str, Any] | None = None,
        compile_options: dict[str, Any] | None = None,
        **fit_options: Any,
    ) -> keras.callbacks.History:
        """Fine-tune in one call: warms the learning rate up, and decays it over the steps that it knows.

        A second call goes on from the weights, with a new optimizer and schedule.

        Args:
            texts, labels, pairs: As for `dataset`, but no stream.
            epochs: Passes over the texts.
            batch_size: Rows a step.
            learning_rate: The peak.
            schedule: `"linear"` or `"cosine"` decay to zero, `"inverse_sqrt"`, or `"constant"`, which has no warm-up.
            warmup: Part of the steps in which the rate rises.
            weight_decay, clip_norm, accumulation_steps, ema_momentum: Of `training.optimizer.AdamW`.
            class_weight: What a text counts in the loss by its label, a name or number; 1 for those left out.
            validation_data: `(texts, labels)` or `(texts, labels, pairs)`, or a data set, evaluated after each epoch.
            seed: Of order and masks.
            dataset_options: For `dataset`; validation leaves no text out and keeps their order, whatever they say.
            optimizer_options: More of `AdamW`, such as `beta_2` and `epsilon`.
            compile_options: For `compile`.
            **fit_options: For `keras.Model.fit`, such as `callbacks`, `verbose`.

        Returns:
            Keras' `History`.

        Raises:
            ValueError: As for `dataset`; no labels; an unknown schedule; a stream, whose number of steps is not known;
                `class_weight` where texts have no class, or several.
        """
        _check_has_length(texts)
        self._check_labelled(texts, labels)
        settings = {"batch_size": batch_size, "seed": seed, "accumulation_steps": accumulation_steps}
        given = {"pairs": pairs, "class_weight": class_weight}  # which not every task takes
        settings |= {name: value for name, value in given.items() if value is not None} | (dataset_options or {})
        dataset = self.dataset(texts, labels, **settings)
        steps = epochs * (fit_options.get("steps_per_epoch") or num_batches(dataset)) // accumulation_steps
        rate = make_schedule(schedule, learning_rate, warmup, steps)
        with scope(getattr(self.model, "distribute_strategy", None)):
            own = (rate, weight_decay, clip_norm, accumulation_steps, ema_momentum)
            self.compile(AdamW(*own, **(optimizer_options or {})), **(compile_options or {}))
        if isinstance(validation_data, tuple):
            validation_data = self._evaluation(*validation_data, batch_size=batch_size, options=dataset_options)
        fit_options["callbacks"] = [_order_by_epoch(dataset), *(fit_options.get("callbacks") or [])]
        # The data set shuffles by itself; Keras would warn, or on JAX shuffle the batches once more.
        return self.model.fit(dataset, epochs=epochs, validation_data=validation_data, shuffle=False, **fit_options)

    def evaluate(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        batch_size: int = 32,
        dataset_options: dict[str, Any] | None = None,
    ) -> dict[str, float | list[float]]:
        """The task's metrics, over real targets.

        Args:
            texts, labels, pairs: As for `dataset`.
            batch_size: Rows at a time.
            dataset_options: For `dataset`; no text is left out and their order is kept, whatever they say.

        Returns:
            Metric values by name; a list for a metric with several, such as `F1(average=None)`. Keras' `loss`, a mean
            of batch means, is left out.
        """
        dataset = self._evaluation(texts, labels, pairs, batch_size, dataset_options)
        results = self.model.evaluate(dataset, return_dict=True, verbose=0)
        return {name: np.asarray(value).tolist() for name, value in results.items() if not name.endswith("loss")}

    def _evaluation(
        self, texts: Any, labels: Any = None, pairs: Any = None, batch_size: int = 32, options: Any = None
    ) -> Any:
        """A data set of all texts, once and in their order."""
        self._check_labelled(texts, labels)
        settings = {"batch_size": batch_size, **({} if pairs is None else {"pairs": pairs}), **(options or {})}
        every = {"shuffle": False, "drop_remainder": False, "accumulation_steps": 1, "class_weight": None}
        return self.dataset(texts, labels, **(settings | every))

    def _check_labelled(self, texts: Any, labels: Any) -> None:
        if self.labelled and labels is None and not hasattr(texts, "element_spec"):
            raise ValueError(f"{self.name} needs labels, one a text, to fit or evaluate: received None.")


def _check_has_length(texts: Any) -> None:
    if hasattr(texts, "element_spec"):
        raise ValueError(
            "fit needs the number of steps for its schedule, and a stream has none: use "
            "task.model.fit(task.dataset(stream), epochs=...) with an optimizer of your own in task.compile."
        )


def _order_by_epoch(dataset: Any) -> keras.callbacks.Callback:
    """The order of an epoch follows from its number, wherever `fit` starts."""
    return keras.callbacks.LambdaCallback(lambda epoch, logs: setattr(dataset.position, "epoch", epoch))


def num_batches(dataset: Any) -> int:
    """Batches in one pass over what `Task.dataset` made of lists."""
    return int(dataset.cardinality()) if hasattr(dataset, "cardinality") else len(dataset)
