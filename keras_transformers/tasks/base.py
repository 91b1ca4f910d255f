"""What all tasks share: a model, its tokenizer, data sets, training, saving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, ClassVar

import keras
import numpy as np

from keras_transformers.checkpoints.huggingface import save_folder
from keras_transformers.checkpoints.names import architecture_of
from keras_transformers.config import TransformerConfig
from keras_transformers.data.pipeline import batches
from keras_transformers.data.rows import Rows, tell_cut
from keras_transformers.data.stream import Stream
from keras_transformers.tasks.answer import check_exportable
from keras_transformers.tasks.fitting import Fitting
from keras_transformers.tasks.objective import AllOutputs, WithClassWeights
from keras_transformers.text.tokenizer import Encoded, Tokenizer, check_texts
from keras_transformers.training.lora import merged


class Task(Fitting):
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
    from_checkpoint: ClassVar[tuple[str, ...]] = ()  # arguments that a checkpoint has values for
    logits: ClassVar[str] = "logits"  # the output that labels, if they are one array, belong to

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
        size = config.encoder_vocabulary_size or config.vocabulary_size
        if tokenizer.vocabulary_size > size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocabulary_size} tokens, the model {size}: they do not belong together."
            )
        if max_length is not None and not 4 <= max_length <= config.max_length:
            raise ValueError(f"max_length must be in [4, {config.max_length}], the model's: received {max_length}.")
        self.config = config
        self.tokenizer = tokenizer
        self.max_length = max_length or config.max_length
        self.outputs = tuple(check_texts("outputs", outputs))
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

    def _class_weights(self, weights: dict[Any, float]) -> np.ndarray:
        """What each class counts."""
        raise ValueError(
            f"class_weight is for texts of one class each: received one for {self.name}. Leave it out, or train on a "
            "data set of your own that has sample weights."
        )

    def _more_inputs(self, token_ids: Any) -> dict[str, Any]:
        """Inputs of the model that follow from the token ids (B, T)."""
        return {}

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Outputs and inputs of the model to what the export answers."""
        raise NotImplementedError

    def _describe(self, row: dict[str, Any]) -> dict[str, Any]:
        """One row of that to what `predict` returns."""
        raise NotImplementedError

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
                (text, pair, label), for corpora larger than memory, tokenised on the fly. Where the task has labels,
                the last of several strings is the name of one.
            labels: One label a text (see the task); None to predict.
            pairs: The second text of each pair.
            batch_size: Rows, over all replicas.
            buffer_size: Rows that a stream keeps in memory, to shuffle and to sort by length.
            **settings: Of `data.pipeline.batches`: `shuffle` (False for evaluation), `seed` of order and masks,
                `accumulation_steps` of the optimizer, `drop_remainder`, `buckets`, `batch_tokens` in place of
                `batch_size`; and `class_weight`, as for `fit` (that of `task.model.fit` is Keras' own, which knows
                neither accumulation nor further outputs).

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels). A warning says how
            many texts were cut to `max_length`.

        Raises:
            ValueError: There are no texts, or texts and labels do not fit each other or the task.
        """
        return self._batches(self._source(texts, labels, pairs, buffer_size), batch_size, **settings)

    def _batches(
        self,
        source: Any,
        batch_size: int | None,
        batch_tokens: int | None = None,
        class_weight: dict[Any, float] | None = None,
        **settings: Any,
    ) -> Any:
        objective = self._objective()
        if self.outputs:
            objective = AllOutputs(objective, self.logits, self.outputs)
        if class_weight is not None:
            objective = WithClassWeights(objective, self.logits, self._class_weights(class_weight))
        size = None if batch_tokens else batch_size
        return batches(source, objective, size, batch_tokens=batch_tokens, max_length=self.max_length, **settings)

    def _source(self, texts: Any, labels: Any, pairs: Any, buffer_size: int) -> Any:
        if self._is_stream(texts, labels, pairs):
            read_labels = self._labels if self.labelled else None
            return Stream(texts, partial(self._encode_by, self.text_graph), buffer_size, read_labels)
        labels = None if labels is None else self._labels(labels)
        encoded = self.tokenizer.encode(texts, pairs, max_length=self.max_length)
        tell_cut([row.truncated for row in encoded], self.max_length)
        return self._rows(encoded, labels)

    @staticmethod
    def _is_stream(texts: Any, labels: Any, pairs: Any = None) -> bool:
        """Whether texts are a `tf.data.Dataset`; a `ValueError` if something is given beside one."""
        stream = hasattr(texts, "element_spec")
        if stream and (labels is not None or pairs is not None):
            raise ValueError("a tf.data.Dataset brings its labels and pairs along: zip them with the texts.")
        return stream

    def _rows(self, encoded: list[Encoded], labels: Any = None) -> Rows:
        segments = [row.segment_ids for row in encoded] if self.config.num_segments else None
        return Rows.of([row.ids for row in encoded], segments, labels)

    def _encode_by(self, graph: Any, texts: Any, pairs: Any) -> dict[str, Any]:
        encoded = graph.encode(texts, pairs, max_length=self.max_length)
        return {name: encoded[name] for name in (*self.model.input, "truncated") if name in encoded}

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
        return self._make_service()

    def _make_service(self) -> Any:
        check_exportable()
        from keras_transformers.export import TextService

        return TextService(self.served_model, self.text_graph, self._served, self._more_inputs, self.max_length)

    def _export(self, folder: str, signatures: dict[str, str], **examples: Any) -> None:
        with self._exported_service() as service:
            functions = {name: getattr(service, function) for name, function in signatures.items()}
            from keras_transformers.export import export  # not before: the service says what is missing

            export(folder, service.module, functions, examples)

    @contextmanager
    def _exported_service(self) -> Iterator[Any]:
        """The service, or where the model has adapters (LoRA) another one, traced with these merged."""
        with merged(self.model) as has_adapters:
            yield self._make_service() if has_adapters else self.service

    def save(self, folder: str, dtype: str = "float32") -> None:
        """Write one folder in Hugging Face layout; `zoo.load(folder)` and `transformers` read it.

        What `zoo.load` takes from it: configuration, weights, tokenizer, labels, `max_length`, and how texts are
        generated.

        Args:
            folder: Replaced, if a save has written all that it holds; an interrupted save leaves the old one.
            dtype: Of the stored weights: `"float32"`, `"float16"` or `"bfloat16"`.

        Raises:
            ValueError: The folder holds something else, or it is the working directory or the home folder.
        """
        architecture = architecture_of(self.name, self.config.family)
        options = self._saved_options()
        with merged(self.model):
            save_folder(
                folder,
                self.model,
                self.config,
                self._saved_tokenizer(),
                architecture=architecture,
                dtype=dtype,
                max_length=self.max_length,
                **options,
            )

    def _saved_tokenizer(self) -> Any:
        return self.tokenizer

    def _saved_options(self) -> dict[str, Any]:
        return {}
