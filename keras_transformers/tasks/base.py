"""What all tasks share: a model, its tokenizer, data sets, training, saving."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import keras

from keras_transformers.checkpoints.huggingface import save_folder
from keras_transformers.config import TransformerConfig
from keras_transformers.data.pipeline import batches
from keras_transformers.data.rows import Rows
from keras_transformers.data.stream import Stream
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training import schedules
from keras_transformers.training.optimizer import AdamW

SCHEDULES = ("linear", "cosine", "inverse_sqrt", "constant")


class Task:
    """A model with everything around it. Made by `zoo.load`; each task is a small subclass.

    Args:
        config: Sizes and options of the model.
        tokenizer: Text to ids.
        max_length: Longest text in tokens; `config.max_length` when None.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`.
        dtype: Name of a Keras dtype policy.

    Attributes:
        model: A plain functional `keras.Model`, compiled.
        tokenizer: The `Tokenizer`.
        config: The `TransformerConfig`.

    Raises:
        ValueError: The tokenizer has more tokens than the model, or `max_length` exceeds the model's.
    """

    name: ClassVar[str]
    architecture: ClassVar[str]  # the class of Hugging Face `transformers` that reads what `save` writes
    new_layers: ClassVar[tuple[str, ...]] = ()  # heads that start afresh when the checkpoint lacks them

    def __init__(
        self,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        max_length: int | None = None,
        outputs: Iterable[str] = (),
        dtype: str | None = None,
    ):
        if tokenizer.vocabulary_size > config.vocabulary_size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocabulary_size} tokens, the model {config.vocabulary_size}: "
                "they do not belong together."
            )
        if max_length is not None and not 2 < max_length <= config.max_length:
            raise ValueError(f"max_length must be in [3, {config.max_length}], the model's: received {max_length}.")
        self.config = config
        self.tokenizer = tokenizer
        self.max_length = max_length or config.max_length
        self.outputs = tuple(outputs)
        self.dtype = dtype or keras.config.dtype_policy().name
        self.model = self._build()
        self.compile()

    # What a task defines.

    def _build(self) -> keras.Model:
        raise NotImplementedError

    def _objective(self, training: bool) -> Any:
        raise NotImplementedError

    def _losses(self) -> dict[str, keras.losses.Loss]:
        raise NotImplementedError

    def _metrics(self) -> dict[str, list]:
        raise NotImplementedError

    def _labels(self, labels: Any) -> Any:
        return labels

    # What all have.

    def compile(self, optimizer: keras.optimizers.Optimizer | None = None, **options: Any) -> None:
        """Compile the model with the task's loss and metrics.

        Args:
            optimizer: AdamW with a constant rate of 5e-5 when None.
            **options: For `keras.Model.compile`, such as `jit_compile` or `steps_per_execution`.
        """
        # jit_compile is off: on CPUs it gains little here, and compiles anew for every length of batch.
        options = {"jit_compile": False} | options
        self.model.compile(optimizer or AdamW(5e-5), loss=self._losses(), metrics=self._metrics(), **options)

    def dataset(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        accumulation_steps: int = 1,
        drop_remainder: bool = False,
        buffer_size: int = 4096,
    ) -> Any:
        """What `task.model.fit` takes.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of strings, (text, label), (text, pair) or
                (text, pair, label), for corpora larger than memory, tokenised on the fly.
            labels: One label a text (see the task); None to predict.
            pairs: The second text of each pair.
            batch_size: Rows, over all replicas.
            shuffle: Whether each epoch has another order, and another mask; False for evaluation.
            seed: Of order and masks.
            accumulation_steps: Of the optimizer, if it accumulates gradients.
            drop_remainder: Whether to leave out the last, smaller batch.
            buffer_size: Rows that a stream keeps in memory, to shuffle and to sort by length.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are no texts, or texts and labels do not fit each other or the task.
        """
        source = self._source(texts, labels, pairs, buffer_size)
        return batches(
            source,
            self._objective(training=shuffle),
            batch_size,
            max_length=self.max_length,
            seed=seed,
            shuffle=shuffle,
            accumulation_steps=accumulation_steps,
            drop_remainder=drop_remainder,
        )

    def _source(self, texts: Any, labels: Any, pairs: Any, buffer_size: int) -> Any:
        if hasattr(texts, "element_spec"):
            if labels is not None or pairs is not None:
                raise ValueError("a tf.data.Dataset brings its labels and pairs along: zip them with the texts.")
            return Stream(texts, partial(self.text_graph.encode, max_length=self.max_length), buffer_size)
        if isinstance(texts, str):
            raise ValueError("expected a list of texts, received one str: pass [text].")
        texts = list(texts)
        if not texts:
            raise ValueError("received no texts: expected at least one.")
        rows = self.tokenizer.encode(texts, pairs, max_length=self.max_length)
        segments = [row.segment_ids for row in rows] if self.config.num_segments else None
        labels = None if labels is None else self._labels(labels)
        return Rows.of([row.ids for row in rows], segments, labels)

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
        validation_data: tuple | None = None,
        seed: int = 0,
        compile_options: dict[str, Any] | None = None,
        **fit_options: Any,
    ) -> keras.callbacks.History:
        """Fine-tune in one call: warms the learning rate up, and decays it over the steps that it knows.

        Args:
            texts, labels, pairs: As for `dataset`.
            epochs: Passes over the texts.
            batch_size: Rows a step.
            learning_rate: The peak.
            schedule: `"linear"` or `"cosine"` decay to zero, `"inverse_sqrt"`, or `"constant"`.
            warmup: Part of the steps in which the rate rises.
            weight_decay, clip_norm, accumulation_steps, ema_momentum: Of `training.optimizer.AdamW`.
            validation_data: `(texts, labels)` or `(texts, labels, pairs)`, evaluated after each epoch.
            seed: Of order and masks.
            compile_options: For `compile`.
            **fit_options: For `keras.Model.fit`, such as `callbacks`, `class_weight`, `verbose`.

        Returns:
            Keras' `History`.

        Raises:
            ValueError: As for `dataset`; an unknown schedule; or a stream, whose number of steps is not known.
        """
        if hasattr(texts, "element_spec"):
            raise ValueError(
                "fit needs the number of steps for its schedule, and a stream has none: use "
                "task.model.fit(task.dataset(stream), epochs=...) with an optimizer of your own in task.compile."
            )
        settings = {"batch_size": batch_size, "seed": seed, "accumulation_steps": accumulation_steps}
        dataset = self.dataset(texts, labels, pairs=pairs, **settings)
        steps = epochs * num_batches(dataset) // accumulation_steps
        rate = make_schedule(schedule, learning_rate, warmup, steps)
        optimizer = AdamW(rate, weight_decay, clip_norm, accumulation_steps, ema_momentum)
        self.compile(optimizer, **(compile_options or {}))
        if validation_data is not None:
            fit_options["validation_data"] = self._evaluation(*validation_data, batch_size=batch_size)
        return self.model.fit(dataset, epochs=epochs, **fit_options)

    def _evaluation(self, texts: Any, labels: Any = None, pairs: Any = None, batch_size: int = 32) -> Any:
        return self.dataset(texts, labels, pairs=pairs, batch_size=batch_size, shuffle=False)

    def evaluate(
        self, texts: Any, labels: Any = None, *, pairs: Sequence[str] | None = None, batch_size: int = 32
    ) -> dict[str, float]:
        """The task's metrics, over real targets.

        Args:
            texts, labels, pairs: As for `dataset`.
            batch_size: Rows at a time.

        Returns:
            Metric values by name. Keras' `loss`, a mean of batch means, is left out.
        """
        dataset = self._evaluation(texts, labels, pairs, batch_size)
        results = self.model.evaluate(dataset, return_dict=True, verbose=0)
        return {name: float(value) for name, value in results.items() if not name.endswith("loss")}

    @cached_property
    def text_graph(self) -> Any:
        """The tokenizer as TensorFlow ops."""
        from keras_transformers.text.graph import compile_text

        return compile_text(self.tokenizer.to_json())

    def save(self, folder: str, dtype: str = "float32") -> None:
        """Write one folder in Hugging Face layout; `zoo.load(folder)` and `transformers` read it.

        Args:
            folder: Replaced, if it is such a folder already; an interrupted save leaves the old one.
            dtype: Of the stored weights: `"float32"` or `"float16"`.
        """
        save_folder(
            folder, self.model, self.config, self.tokenizer, architecture=self.architecture, dtype=dtype,
            **self._saved_options(),
        )  # fmt: skip

    def _saved_options(self) -> dict[str, Any]:
        return {}


def num_batches(dataset: Any) -> int:
    """Batches in one pass over what `Task.dataset` made of lists."""
    return int(dataset.cardinality()) if hasattr(dataset, "cardinality") else len(dataset)


def make_schedule(name: str, peak: float, warmup: float, steps: int) -> Any:
    """A learning rate for `steps` updates.

    Args:
        name: One of `SCHEDULES`.
        peak: The largest rate.
        warmup: Part of the steps, in [0, 1), in which the rate rises.
        steps: Updates in all.

    Returns:
        A number or a Keras schedule.

    Raises:
        ValueError: The name is unknown, or `warmup` is no part.

    Example:

    >>> round(float(make_schedule("linear", 1e-3, 0.1, 100)(9)), 4)
    0.001
    """
    if name not in SCHEDULES:
        raise ValueError(f"schedule must be one of {SCHEDULES}: received {name!r}.")
    if not 0 <= warmup < 1:
        raise ValueError(f"warmup is a part of the steps, in [0, 1): received {warmup!r}.")
    warmup_steps = math.ceil(warmup * steps)
    if name == "constant":
        return peak
    if name == "inverse_sqrt":
        return schedules.WarmupInverseSqrt(peak, max(1, warmup_steps))
    schedule = {"linear": schedules.WarmupLinear, "cosine": schedules.WarmupCosine}[name]
    return schedule(peak, warmup_steps, max(steps, warmup_steps + 1))
