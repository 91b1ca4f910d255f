"""What all tasks share: a model, its tokenizer, data sets, training, saving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import keras
import numpy as np

from keras_transformers.checkpoints.huggingface import save_folder
from keras_transformers.checkpoints.names import architecture_of
from keras_transformers.config import TransformerConfig
from keras_transformers.data.pipeline import batches
from keras_transformers.data.rows import Rows
from keras_transformers.data.stream import Stream
from keras_transformers.tasks.answer import check_exportable
from keras_transformers.tasks.objective import AllOutputs
from keras_transformers.tasks.schedule import make_schedule
from keras_transformers.text.tokenizer import Encoded, Tokenizer
from keras_transformers.training.distribute import on_tensorflow, scope
from keras_transformers.training.optimizer import AdamW


class Task:
    """A model with everything around it. Made by `zoo.load`; each task is a small subclass.

    Args:
        config: Sizes and options of the model.
        tokenizer: Text to ids.
        max_length: Longest text in tokens; `config.max_length` when None.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`. With
            them, Keras puts the name of the output before those of metrics: `logits_accuracy`.
        dtype: Name of a Keras dtype policy.

    Attributes:
        model: A plain functional `keras.Model`, compiled.
        tokenizer: The `Tokenizer`.
        config: The `TransformerConfig`.

    Raises:
        ValueError: The tokenizer has more tokens than the model, or `max_length` exceeds the model's.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("encoder",)  # of models that can do it
    new_layers: ClassVar[tuple[str, ...]] = ()  # heads that start afresh when the checkpoint lacks them
    logits: ClassVar[str] = "logits"  # the output that labels, if they are one array, belong to
    labelled: ClassVar[bool] = False  # whether texts come with labels

    def __init__(
        self,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        max_length: int | None = None,
        outputs: Iterable[str] = (),
        dtype: str | None = None,
    ):
        if config.kind not in self.kinds:
            raise ValueError(f"{self.name} needs a model of kind {self.kinds}: received a {config.kind}.")
        if tokenizer.vocabulary_size > config.vocabulary_size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocabulary_size} tokens, the model {config.vocabulary_size}: "
                "they do not belong together."
            )
        if max_length is not None and not 4 <= max_length <= config.max_length:
            raise ValueError(f"max_length must be in [4, {config.max_length}], the model's: received {max_length}.")
        self.config = config
        self.tokenizer = tokenizer
        self.max_length = max_length or config.max_length
        self.outputs = tuple(outputs)
        self.dtype = dtype or keras.config.dtype_policy().name
        self.model = self._build()
        self.compile()

    def _build(self) -> keras.Model:
        raise NotImplementedError

    def _extra(self, backbone: keras.Model) -> dict[str, Any]:
        """The optional outputs."""
        return {name: backbone.output[name] for name in self.outputs}

    def _objective(self) -> Any:
        raise NotImplementedError

    def _losses(self) -> dict[str, keras.losses.Loss]:
        raise NotImplementedError

    def _metrics(self) -> dict[str, list]:
        raise NotImplementedError

    def _labels(self, labels: Any) -> np.ndarray:
        """Labels as the user has them, as numbers."""
        raise ValueError(f"{self.name} takes no labels: they come from the texts. Leave labels out.")

    def _more_inputs(self, token_ids: Any) -> dict[str, Any]:
        """Inputs of the model that follow from the token ids (B, T)."""
        return {}

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Outputs and inputs of the model to what the export answers."""
        raise NotImplementedError

    def _describe(self, row: dict[str, Any]) -> dict[str, Any]:
        """One row of that to what `predict` returns."""
        raise NotImplementedError

    def compile(self, optimizer: keras.optimizers.Optimizer | None = None, **options: Any) -> None:
        """Compile the model with the task's loss and metrics.

        Args:
            optimizer: AdamW with a constant rate of 5e-5 when None.
            **options: For `keras.Model.compile`, such as `jit_compile` or `steps_per_execution`.
        """
        optimizer = optimizer or AdamW(5e-5)
        if self.dtype == "mixed_float16":  # Keras does so itself for a global policy only
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        if on_tensorflow():
            # On CPUs it gains little here, and compiles anew for every length of batch.
            options = {"jit_compile": False} | options
        self.model.compile(optimizer, loss=self._losses(), metrics=self._metrics(), **options)

    def dataset(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        batch_size: int = 32,
        buffer_size: int = 4096,
        **settings: Any,
    ) -> Any:
        """What `task.model.fit` takes.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of strings, (text, label), (text, pair) or
                (text, pair, label), for corpora larger than memory, tokenised on the fly.
            labels: One label a text (see the task); None to predict.
            pairs: The second text of each pair.
            batch_size: Rows, over all replicas.
            buffer_size: Rows that a stream keeps in memory, to shuffle and to sort by length.
            **settings: Of `data.pipeline.batches`: `shuffle` (False for evaluation), `seed` of order and masks,
                `accumulation_steps` of the optimizer, `drop_remainder`, `buckets`.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are no texts, or texts and labels do not fit each other or the task.
        """
        return self._batches(self._source(texts, labels, pairs, buffer_size), batch_size, **settings)

    def _batches(self, source: Any, batch_size: int, **settings: Any) -> Any:
        objective = self._objective()
        if self.outputs:
            objective = AllOutputs(objective, self.logits, self.outputs)
        return batches(source, objective, batch_size, max_length=self.max_length, **settings)

    def _source(self, texts: Any, labels: Any, pairs: Any, buffer_size: int) -> Any:
        if not hasattr(texts, "element_spec"):
            labels = None if labels is None else self._labels(labels)
            return self._rows(self.tokenizer.encode(texts, pairs, max_length=self.max_length), labels)
        if labels is not None or pairs is not None:
            raise ValueError("a tf.data.Dataset brings its labels and pairs along: zip them with the texts.")
        return Stream(texts, partial(self._encode_by, self.text_graph), buffer_size)

    def _rows(self, encoded: list[Encoded], labels: Any = None) -> Rows:
        segments = [row.segment_ids for row in encoded] if self.config.num_segments else None
        return Rows.of([row.ids for row in encoded], segments, labels)

    def _encode_by(self, graph: Any, texts: Any, pairs: Any) -> dict[str, Any]:
        encoded = graph.encode(texts, pairs, max_length=self.max_length)
        return {name: encoded[name] for name in self.model.input if name in encoded}

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
        validation_data: Any = None,
        seed: int = 0,
        dataset_options: dict[str, Any] | None = None,
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
            validation_data: `(texts, labels)` or `(texts, labels, pairs)`, or a data set, evaluated after each epoch.
            seed: Of order and masks.
            dataset_options: For `dataset`.
            compile_options: For `compile`.
            **fit_options: For `keras.Model.fit`, such as `callbacks`, `class_weight`, `verbose`.

        Returns:
            Keras' `History`.

        Raises:
            ValueError: As for `dataset`; no labels; an unknown schedule; a stream, whose number of steps is not known.
        """
        if hasattr(texts, "element_spec"):
            raise ValueError(
                "fit needs the number of steps for its schedule, and a stream has none: use "
                "task.model.fit(task.dataset(stream), epochs=...) with an optimizer of your own in task.compile."
            )
        self._check_labelled(texts, labels)
        settings = {"batch_size": batch_size, "seed": seed, "accumulation_steps": accumulation_steps}
        settings |= ({} if pairs is None else {"pairs": pairs}) | (dataset_options or {})
        dataset = self.dataset(texts, labels, **settings)
        steps = epochs * (fit_options.get("steps_per_epoch") or num_batches(dataset)) // accumulation_steps
        rate = make_schedule(schedule, learning_rate, warmup, steps)
        with scope(getattr(self.model, "distribute_strategy", None)):
            optimizer = AdamW(rate, weight_decay, clip_norm, accumulation_steps, ema_momentum)
            self.compile(optimizer, **(compile_options or {}))
        if isinstance(validation_data, tuple):
            validation_data = self._evaluation(*validation_data, batch_size=batch_size, **(dataset_options or {}))
        # Under a strategy Keras looks at a batch before it trains, which would use up the order of the first epoch.
        start = keras.callbacks.LambdaCallback(lambda epoch, logs: setattr(dataset.position, "epoch", epoch))
        fit_options["callbacks"] = [start, *(fit_options.get("callbacks") or [])]
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
    ) -> dict[str, float]:
        """The task's metrics, over real targets.

        Args:
            texts, labels, pairs: As for `dataset`.
            batch_size: Rows at a time.
            dataset_options: For `dataset`.

        Returns:
            Metric values by name. Keras' `loss`, a mean of batch means, is left out.
        """
        dataset = self._evaluation(texts, labels, pairs, batch_size, **(dataset_options or {}))
        results = self.model.evaluate(dataset, return_dict=True, verbose=0)
        return {name: float(value) for name, value in results.items() if not name.endswith("loss")}

    def _evaluation(
        self, texts: Any, labels: Any = None, pairs: Any = None, batch_size: int = 32, **settings: Any
    ) -> Any:
        self._check_labelled(texts, labels)
        pairs = {} if pairs is None else {"pairs": pairs}
        return self.dataset(texts, labels, batch_size=batch_size, shuffle=False, **pairs, **settings)

    def _check_labelled(self, texts: Any, labels: Any) -> None:
        if self.labelled and labels is None and not hasattr(texts, "element_spec"):
            raise ValueError(f"{self.name} needs labels, one a text, to fit or evaluate: received None.")

    @cached_property
    def text_graph(self) -> Any:
        """The tokenizer as TensorFlow ops."""
        from keras_transformers.text.graph.compile import compile_text

        return compile_text(self.tokenizer.to_json(), self.config.pad_id)

    @cached_property
    def served_model(self) -> keras.Model:
        """What `predict` and `export` compute."""
        return self.model

    @cached_property
    def service(self) -> Any:
        """The traced text functions: what `predict` calls and `export` saves (TensorFlow backend only)."""
        check_exportable()
        from keras_transformers.export import TextService

        return TextService(self.served_model, self.text_graph, self._served, self._more_inputs, self.max_length)

    def _export(self, folder: str, signatures: dict[str, str], **examples: Any) -> None:
        functions = {name: getattr(self.service, function) for name, function in signatures.items()}
        from keras_transformers.export import export  # not before: `service` says what is missing without TensorFlow

        export(folder, self.service.module, functions, examples)

    def save(self, folder: str, dtype: str = "float32") -> None:
        """Write one folder in Hugging Face layout; `zoo.load(folder)` and `transformers` read it.

        Args:
            folder: Replaced, if it is such a folder already; an interrupted save leaves the old one.
            dtype: Of the stored weights: `"float32"`, `"float16"` or `"bfloat16"`.
        """
        architecture = architecture_of(self.name, self.config.family)
        options = self._saved_options()
        save_folder(folder, self.model, self.config, self.tokenizer, architecture=architecture, dtype=dtype, **options)

    def _saved_options(self) -> dict[str, Any]:
        return {}


def num_batches(dataset: Any) -> int:
    """Batches in one pass over what `Task.dataset` made of lists."""
    return int(dataset.cardinality()) if hasattr(dataset, "cardinality") else len(dataset)
