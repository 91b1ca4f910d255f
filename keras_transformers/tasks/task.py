"""A task: a model with its tokenizer, training objective and predictions. `zoo.load` makes one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, final

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.tasks.contract.forwarded import check_process, described, of_answers
from keras_transformers.tasks.contract.kind import check_task_options, find_kind
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.fit.evaluation import evaluate
from keras_transformers.tasks.fit.fit_options import check_options, divide_options
from keras_transformers.tasks.fit.fitting import Recipe, fit
from keras_transformers.tasks.fit.held_out import evaluation_set
from keras_transformers.tasks.fit.label_outputs import full_objective, with_row_weights
from keras_transformers.tasks.inputs.sources import divided, has_nothing_to_learn, kept, tell_untyped
from keras_transformers.tasks.inputs.token_files import parts_for
from keras_transformers.tasks.task_exports import export_method
from keras_transformers.tasks.task_folders import save_task
from keras_transformers.text.tokenizer import Tokenizer, check_texts
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.loss_scale import LossScaleOptimizer
from keras_transformers.training.optimizers.schedules import make_schedule
from keras_transformers.training.workers.distribute import adapt_fit, check_backend, on_tensorflow
from keras_transformers.training.workers.tpu_batches import batch_shapes
from keras_transformers.utils.keras_private import strategy_of
from keras_transformers.utils.late_values import building


@final
class Task:
    """A model with its tokenizer, training objective and predictions. Each task has a file `tasks/<name>.py`.

    Args:
        name: One of `checkpoints.settings.names.task_names()`, such as `"classification"` or `"causal_lm"`.
        config, tokenizer: Sizes and options of the model; text to ids.
        max_length: Longest text in tokens; `config.max_length` when None.
        outputs: Optional outputs of the model: `"hidden_states"`, `"all_hidden_states"`, `"attention_scores"`. Keras
            then puts the name of an output before the names of its metrics: `logits_accuracy`.
        dtype: Name of a Keras dtype policy.
        **options: Options of the task, the keyword-only arguments of the function in its file: such as `labels`,
            `problem` of `tasks.classification`, or `generation` of `tasks.causal_lm`.

    Attributes:
        model: A plain functional `keras.Model`, compiled.
        tokenizer, config, max_length: The `Tokenizer`, the `TransformerConfig`, and the longest text in tokens.
        compiled: Whether XLA computes single predictions and generated texts in this process; False, and can be set.
        options, kind: The options that were given, and properties of the task, such as `needs_labels`.

    Raises:
        ValueError: An option is unknown or out of range, or the tokenizer or `max_length` exceeds the model's size.

    Example:

    >>> from keras_transformers.families import bert
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("classification", config, tokenizer, labels=["negative", "positive"])
    >>> task.predict(["a fine film"])[0]["label"] in task.labels
    True
    """

    def __init__(
        self,
        name: str,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        max_length: int | None = None,
        outputs: Iterable[str] = (),
        dtype: str | None = None,
        **options: Any,
    ):
        check_backend()
        self.name, self.kind, self.process = name, (kind := find_kind(name)), os.getpid()
        check_task_options(name, options)
        max_length = config.max_length if max_length is None else max_length
        outputs = tuple(check_texts("outputs", outputs, is_ordered=False))
        setup = Setup(kind, config, tokenizer, max_length, outputs, dtype or keras.config.dtype_policy().name)
        tell_untyped(setup)
        self.config, self.max_length, self.outputs, self.dtype = config, setup.max_length, setup.outputs, setup.dtype
        with building():
            self.options, self.parts = options, kind.make(setup, **options)
        self.model, self.tokenizer = self.parts.model, self.parts.tokenizer
        self.compile()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that not every task has, such as `labels` or `align`."""
        parts = self.__dict__.get("parts")
        if name == "service" and parts is not None:
            return parts.answers.service  # the property raised: this raises its error again
        if parts is None or name not in parts.attributes:
            raise AttributeError(f"the task has no attribute {name!r}.")
        return parts.attributes[name]

    def __dir__(self) -> list[str]:
        missing = set() if self.kind.writes_text else {"generate", "generation", "score", "score_stream", "stream"}
        return sorted({*super().__dir__(), *self.parts.attributes} - missing)

    def __reduce__(self):
        raise TypeError("a Task is neither copied nor pickled: write it with save(folder), read it with zoo.load.")

    def compile(self, optimizer: keras.optimizers.Optimizer | None = None, **options: Any) -> None:
        """Compile the model with the task's loss and metrics.

        Args:
            optimizer: AdamW with a constant rate of 5e-5 when None.
            **options: For `keras.Model.compile`, such as `jit_compile`, `steps_per_execution` or `metrics`.
        """
        check_process(self.process)
        parts, optimizer = self.parts, optimizer or AdamW(5e-5)
        defaults = dict[str, Any](loss=parts.losses(), metrics=parts.metrics(), loss_weights=parts.loss_weights)
        if self.dtype == "mixed_float16" and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            optimizer = LossScaleOptimizer(optimizer)  # Keras does it for a global policy only, with its own class
        if on_tensorflow():
            adapt_fit(self.model)
            defaults["jit_compile"] = False  # XLA gains little on CPUs, and compiles again for each length
        self.model.compile(optimizer, **(defaults | options))

    def dataset(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        batch_size: int | None = 32,
        batch_tokens: int | None = None,
        class_weight: dict[Any, float] | None = None,
        sample_weight: Sequence[float] | None = None,
        **settings: Any,
    ) -> Any:
        """Return batches for `task.model.fit`.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of strings, (text, label), (text, pair) or
                (text, pair, label), for corpora larger than memory, tokenised on the fly. If the task has labels, the
                last of several strings is the label. Pre-training takes documents, a language model also a `TokenFile`.
            labels: One label a text; for a language model, the target text of each text. None to predict, in the order
                of the texts unless `shuffle=True` is given.
            pairs: The second text of each pair.
            batch_size: Rows, over all replicas.
            batch_tokens: Instead, at most so many rows times their padded length; texts of similar length are batched.
            class_weight, sample_weight: As for `fit` (Keras' own support neither accumulation nor further outputs).
            **settings: Options of `data.batches.pipeline.batches`: `shuffle` (False for evaluation), `seed`, `buckets`,
                `accumulation_steps`, `drop_remainder`, `pad_remainder`, `steps_per_epoch`; options of the task:
                `buffer_size` (rows of a stream in memory), `packing`, `short_probability`, `whole` (refuse cut texts).

        Returns:
            A `tf.data.Dataset`, or on JAX a `keras.utils.PyDataset`. A warning tells how many texts were cut.

        Raises:
            ValueError: There are no texts, texts and labels do not fit each other or the task, or a setting is unknown.
        """
        check_process(self.process)
        parts = parts_for(self.name, self.parts, texts, labels, pairs)
        source_options, settings = divided(self.name, parts.source, settings)
        if pairs is not None and not (self.kind.takes_pairs or self.kind.takes_documents):
            raise ValueError(f"{self.name} takes no pairs, and received some. Leave them out.")
        if has_nothing_to_learn(self.kind, parts, texts, labels):
            settings.setdefault("shuffle", False)  # predictions of `model.predict` are in the order of the texts
        source = parts.source(texts, labels, pairs, **source_options)
        objective = full_objective(self.name, parts, self.outputs, class_weight)
        source, objective = with_row_weights(self.kind, source, objective, sample_weight)
        longest = getattr(source, "max_length", self.max_length)  # span corruption shortens longer blocks
        size = None if batch_tokens else batch_size
        settings = batch_shapes(strategy_of(self.model), size, settings)
        return batches(source, objective, size, batch_tokens=batch_tokens, max_length=longest, **settings)

    def fit(
        self,
        texts: Any = None,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        epochs: int = 3,
        batch_size: int = 32,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 5e-5,
        schedule: str = "linear",
        warmup: float = 0.1,
        weight_decay: float = 0.01,
        accumulation_steps: int = 1,
        class_weight: dict[Any, float] | None = None,
        sample_weight: Sequence[float] | None = None,
        validation_data: Any = None,
        validation_split: float = 0.0,
        seed: int = 0,
        resume: str | os.PathLike | None = None,
        **options: Any,
    ) -> keras.callbacks.History:
        """Fine-tune in one call. A second call starts from the weights, with a new optimizer and schedule.

        Args:
            texts, labels, pairs: As for `dataset`, but no stream.
            epochs, batch_size: Passes over the texts, and rows a step.
            learning_rate: The peak; or a schedule of Keras, a function of the number of updates, which replaces
                `schedule` and `warmup`. A callback that sets the rate needs a number and `schedule="constant"`.
            schedule: `"linear"` or `"cosine"` decay to zero, `"inverse_sqrt"`, or `"constant"`, which has no warm-up.
            warmup: Share of the steps in which the rate rises.
            weight_decay, accumulation_steps: As for `AdamW`.
            class_weight: Weight of a text in the loss by its label, a name or number; 1 for labels that are left out.
            sample_weight: Weight of each text in the loss, a number of at least 0.
            validation_data: `(texts, labels)` or `(texts, labels, pairs)`, a dict of these, texts alone where the task
                needs no labels, or a data set; evaluated after each epoch.
            validation_split: Instead, the share of the texts, from the end, that is held out and evaluated.
            seed: Random seed (shuffling, masking).
            resume: Folder in which `Resume` saves the run; the same call continues an interrupted run in it.
            **options: Options of `AdamW` (`clip_norm`, `ema_momentum`, `beta_1`, `beta_2`, `epsilon`, `no_decay`), and
                of `keras.Model.fit` (`callbacks`, `verbose`, `shuffle`, `initial_epoch`, `steps_per_epoch`,
                `validation_steps`, `validation_freq`, `validation_batch_size`); or dicts: `dataset_options` for
                `dataset` (validation data are used whole in any case), `compile_options` for `compile`, and
                `optimizer_options` for `AdamW`.

        Returns:
            Keras' `History`.

        Raises:
            ValueError: As for `dataset`; there are no labels; texts are a stream, whose number of steps is unknown; an
                option is unknown or out of range; weights or validation data do not fit the task; a callback sets a
                rate that follows a schedule. All are raised before `compile` and the first step.
        """
        check_process(self.process)
        divided = divide_options(options)
        rows = {"texts": texts, "labels": labels, "pairs": pairs, "sample_weight": sample_weight}
        settings = {"batch_size": batch_size, "seed": seed, "class_weight": class_weight}
        settings["accumulation_steps"] = accumulation_steps
        optimizer = {"weight_decay": weight_decay, "accumulation_steps": accumulation_steps, **divided.optimizer}
        rate = partial(make_schedule, schedule, learning_rate, warmup)
        recipe = Recipe(settings, divided.dataset, optimizer, divided.compile, rate, resume)
        return fit(self, rows, epochs, recipe, (validation_data, validation_split), divided.fit)

    def evaluate(
        self,
        texts: Any,
        labels: Any = None,
        *,
        pairs: Sequence[str] | None = None,
        batch_size: int = 32,
        dataset_options: dict[str, Any] | None = None,
        verbose: Any = "auto",
    ) -> dict[str, float | list[float]]:
        """Compute the task's metrics over texts with labels.

        Args:
            texts, labels, pairs: As for `dataset`.
            batch_size, verbose: As for `OnePass.predict`.
            dataset_options: Options of `dataset`; no text is left out in any case.

        Returns:
            Metrics by name, lists for metrics of several values. Keras' `loss`, a mean of batch means, is left out.
        """
        check_options(dataset_options)
        rows = [*map(kept, (texts, labels, pairs))]  # read twice: by the data set, and the scorer
        dataset = evaluation_set(self, rows, {"batch_size": batch_size} | (dataset_options or {}))
        return evaluate(self.model, dataset, self.parts.scorer and self.parts.scorer(*rows), verbose)

    __repr__ = described
    predict = of_answers("predict", "Predict: `help(task.predict)` tells what a task returns.", "Returns", "Predicts")
    predict_stream = of_answers("predict_stream", "Predict texts one by one, as `predict` does.")
    generate = of_answers("generate", "Generate texts, if the task does: `Writing.generate`.")
    stream = of_answers("stream", "Generate one text piece by piece: `Writing.stream`.")
    score = of_answers("score", "Score texts, if the task generates them: `ScoredWriting.score`.")
    score_stream = of_answers("score_stream", "Score texts one by one, as `score` does.")
    chat = of_answers("chat", "Answer a conversation: `ChatWriting.chat`.")
    export = property(export_method, doc="Write a SavedModel, or ONNX: `help(task.export)` tells how.")
    service = of_answers("service", "What `predict` calls and `export` saves.")
    generation = of_answers("generation", "Default settings of generation, a dict; they can be set.", is_set=True)
    compiled = of_answers("compiled", "Whether XLA computes answers in this process: see `Compiling`.", is_set=True)

    def save(self, folder: str | os.PathLike, dtype: str = "float32", files: Mapping[str, str] | None = None) -> None:
        """Write a folder in Hugging Face layout, which `zoo.load` and `transformers` read.

        Args:
            folder: Replaced if it holds a saved task and nothing else; an interrupted save leaves the old one.
            dtype: Dtype of the stored weights: `"float32"`; `"float16"` or `"bfloat16"` for half the size;
                `"float8_e4m3fn"` for about a quarter, with 4 significant bits for the numbers of matrices.
            files: Further texts by their path, such as a model card: `{"README.md": card.sealed(text)}`.

        Raises:
            ValueError: The folder holds something else, or it is the working directory or the home folder.
        """
        save_task(self, folder, dtype, files)
