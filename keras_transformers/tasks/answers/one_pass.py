"""Predictions by one forward pass: a function for each signature of an export, and rows of its outputs in Python."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.answers.by_length import Limits, answer_chunks, chunk_sizes, read_chunks, token_counts
from keras_transformers.tasks.answers.progress import Progress, count_of
from keras_transformers.tasks.answers.python_service import PythonService
from keras_transformers.tasks.answers.readers import GraphReader, PythonReader, Tensors
from keras_transformers.tasks.answers.services import Compiling, check_counts, current_service
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.parts import MadeService, Setup
from keras_transformers.tasks.exports.frozen import freeze
from keras_transformers.tasks.inputs.sources import lacks_pairs
from keras_transformers.text.strings import decoded, with_rows
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.workers.distribute import on_tensorflow

Describe = Callable[[Mapping[str, Any]], dict[str, Any]]  # from a row of these to what `predict` returns
NO_EXAMPLES: Mapping[str, list[Any]] = MappingProxyType({})
PADDING = 64  # tokens of padding, about as long to read as one more call of a model: see `benchmarks/embed.py`
CHECKED = partial(check_texts, "texts"), partial(check_texts, "pairs")


class OnePass(Compiling):
    """Predictions for texts, by one forward pass of a model.

    Args:
        setup: Setup of the task.
        model: The model whose weights the signatures use.
        signatures: Functions of the export, by name; of those with as many inputs, `predict` calls the first.
        describe: Function from one row of the outputs to the prediction that `predict` returns for it.
        examples: Values of the inputs to warm an export up with; `["warm up"]` for those that are not given.
        read_columns: Function from texts and pairs, as given by the user, to lists of str.
        labels: Labels of the model, in the order of its probabilities: an export names them.
        from_ids: The outputs for token ids: the signature `ids`, and graphs in other formats; None for neither.
    """

    def __init__(
        self,
        setup: Setup,
        model: keras.Model,
        signatures: Mapping[str, Signature],
        describe: Describe,
        examples: Mapping[str, list[Any]] = NO_EXAMPLES,
        read_columns: tuple[Callable[[Any], list], ...] = CHECKED,
        labels: Sequence[str] = (),
        from_ids: FromIds | None = None,
    ):
        self.setup, self.model, self.signatures = setup, model, dict(signatures)
        self.describe, self.examples, self.read_columns = describe, examples, read_columns
        self.labels, self.from_ids = tuple(labels), from_ids
        self.made_service: MadeService | None = None

    def predict(
        self, texts: Iterable[str], pairs: Iterable[str] | None = None, *, batch_size: int = 32, verbose: Any = "auto"
    ) -> list[dict[str, Any]]:
        """Predict, by the same traced function that `export` saves (on the TensorFlow backend).

        Texts of similar length are read together, which needs less padding; predictions are in the order of the texts.
        For more texts than fit in memory, see `predict_stream`.

        Args:
            texts: Any number of strings.
            pairs: The second text of each pair, where the task takes pairs.
            batch_size: Texts at a time, at most: on a CPU fewer where their lengths differ much.
            verbose: `"auto"`, a progress bar on a terminal for more than some seconds of work; 0, none; 1, a bar; 2, a
                line at the end.

        Returns:
            One dict a text. Its keys depend on the task: `help(task.predict)` names them.

        Raises:
            ValueError: The texts are one str, there are pairs where the task takes none, or not as many as texts.
        """
        return [*self._answers(texts, pairs, batch_size, verbose, growing=False)]

    def ask(
        self, signature: str, columns: Sequence[Any], *, batch_size: int = 32, verbose: Any = "auto"
    ) -> list[dict[str, Any]]:
        """Predict by a signature of this name: as `predict`, for columns of texts."""
        return [*self._ask(signature, columns, batch_size, verbose, growing=False)]

    def predict_stream(
        self, texts: Iterable[str], pairs: Iterable[str] | None = None, *, batch_size: int = 32, verbose: Any = 0
    ) -> Iterator[dict[str, Any]]:
        """Predict texts one by one: for more texts than fit in memory, or to have the first predictions soon.

        Args:
            texts, pairs: As for `predict`; iterators are read some thousands at a time, at first some dozens.
            batch_size, verbose: As for `predict`.

        Returns:
            An iterator over what `predict` returns, in the order of the texts.

        Raises:
            ValueError: As for `predict`; for the texts of an iterator, once they are read.
        """
        return self._answers(texts, pairs, batch_size, verbose, growing=True)

    def _answers(
        self, texts: Any, pairs: Any, batch_size: Any, verbose: Any, growing: bool, describe: Describe | None = None
    ) -> Iterator[dict[str, Any]]:
        columns = [texts] if pairs is None else [texts, pairs]
        return self._ask(self._signature(len(columns)), columns, batch_size, verbose, growing, describe)

    def _ask(
        self,
        name: str,
        columns: Sequence[Any],
        batch_size: Any,
        verbose: Any,
        growing: bool,
        describe: Describe | None = None,
    ) -> Iterator[dict[str, Any]]:
        (batch_size,) = check_counts(batch_size=batch_size)
        progress = Progress(verbose, count_of(columns[0]))
        chunks = read_chunks(columns, self.read_columns, chunk_sizes(batch_size, growing))
        lengths = token_counts(self.setup.tokenizer, self.setup.max_length)
        limits = Limits(batch_size, worthwhile_padding(), self.setup.max_length)
        answer = partial(self._answer, name, batch_size, describe or self.describe)
        return answer_chunks(chunks, answer, lengths, limits, progress)

    def _answer(self, name: str, batch_size: int, describe: Describe, rows: list[tuple]) -> Iterator[dict[str, Any]]:
        """Start to compute the outputs of a signature; return an iterator over the prediction for each row."""
        finish = self.service.start(name, [*map(list, zip(*rows, strict=True))], batch_size)
        return self._described(describe, finish)

    def _described(self, describe: Describe, finish: Callable[[], dict[str, np.ndarray]]) -> Iterator[dict[str, Any]]:
        outputs = finish()
        for values in zip(*outputs.values(), strict=True):
            row = dict(zip(outputs, values, strict=True))
            yield {**describe(row), "truncated": bool(row["truncated"])}

    def _signature(self, count: int) -> str:
        """Return the name of the signature that takes `count` texts a row."""
        for name, signature in self.signatures.items():
            if len(signature.inputs) == count:
                return name
        if count == 1:
            raise lacks_pairs(self.setup.kind)
        raise ValueError(f"{self.setup.kind.name} takes no pairs, and received some. Leave them out.")

    @property
    def service(self) -> TracedService | PythonService:
        """Return the service that runs the signatures: `predict` calls it and, on TensorFlow, `export` saves it."""
        return current_service(self, self.compiled)

    def make_service(self) -> TracedService | PythonService:
        """Return a service with the current weights."""
        if not on_tensorflow():
            return PythonService(self.model, self.signatures, PythonReader(self.setup, bucketed=True))
        if not self.compiled:
            return self.traced_service(self.signatures)
        from keras_transformers.tasks.answers.exported_answers import compiled_service

        return compiled_service(self, self.signatures)

    def export(
        self, folder: str | os.PathLike, *, frozen: bool = False, compiled: bool = False, compute: str | None = None
    ) -> None:
        """Write a SavedModel from strings to predictions, for TF Serving.

        Only core TensorFlow ops are used: neither Keras nor tensorflow-text nor this package is needed to serve it.

        Signatures:
            `serving_default` takes strings, batch first. Names and outputs depend on the task: `help(task.export)`
            lists them.

        Args:
            folder: Folder to write, such as `"serving/sentiment/1"`. It is replaced if it is a SavedModel; an
                interrupted export leaves the old one. Of several workers, the chief writes it.
            frozen: Whether weights are constants of the graph, except tables of embeddings. On a CPU with oneDNN, one
                text takes about three quarters of the time; the server needs memory for more copies of the weights, and
                more time for its first answer.
            compiled: Whether XLA computes the answer to a single text of up to 512 tokens. The text is padded to one of
                a few lengths; the first one of each length takes seconds more, for which there are warm-up requests.
                Beside each signature is the same without XLA, `serving_default_uncompiled`. `similarity` and
                `zero_shot` do not use XLA. Not with `frozen`.
            compute: `"int8"` to round matrices and the table of tokens to 8 bits, and the activations before each
                product: the folder is less than a third as large, and with `compiled` single texts take less time.
                XLA computes the products; beside each signature is the same without XLA, as above. None for the dtype
                of the model. Not with `frozen`.

        Raises:
            ValueError: The backend is not TensorFlow, or the folder holds something else; with `frozen`, the weights
                take more than 1 GiB; with `compiled`, the size of an answer depends on the text, or inputs are lists.
        """
        from keras_transformers.tasks.answers.exported_answers import export_answers

        export_answers(self, folder, frozen, compiled, compute)

    def traced_service(
        self, signatures: Mapping[str, Signature], padded: bool = False, frozen: bool = False
    ) -> TracedService:
        """Return a service on TensorFlow; `padded` as for a `GraphReader`, the others as for a `TracedService`."""
        return TracedService(self.model, signatures, self.graph_reader(padded), frozen)

    def graph_reader(self, padded: bool = False) -> GraphReader:
        """Return the reader of the task in TensorFlow ops; `padded` as for a `GraphReader`."""
        return GraphReader(self.setup.text_graph, self.setup.max_length, padded=padded)


@cache
def worthwhile_padding() -> float:
    """Return the most tokens of padding in a batch of texts, as in `Limits`.

    On a CPU, a row takes about as long in a batch as alone, so that little padding is worth it. There is no limit where
    a program is compiled for each number of rows (JAX), nor on accelerators, which read many rows at once.
    """
    if not on_tensorflow():
        return math.inf
    import tensorflow as tf

    devices = tf.config.list_logical_devices()
    return PADDING if all(device.device_type == "CPU" for device in devices) else math.inf


class TracedService:
    """A reader and signatures as TensorFlow functions, traced once.

    Args:
        model: The model whose weights the signatures use.
        signatures: Functions to trace, by name.
        read: The reader that they call.
        frozen: Whether the weights are constants: see `frozen.freeze`.

    Attributes:
        module: The weights and tables, to be saved; without the functions, which are saved as signatures.
        scope: Function that returns the scope that graphs of the model are traced in.
        signatures: `tf.function`s of (B,) strings, by name.
    """

    def __init__(
        self, model: keras.Model, signatures: Mapping[str, Signature], read: GraphReader, frozen: bool = False
    ):
        import tensorflow as tf

        self.module = tf.Module()
        self.module.graph = read.graph
        # The variables, not the model: a compiled model refers to its optimizer, which would be saved too.
        self.scope: Callable[[], AbstractContextManager]
        variables, self.scope = freeze(model.variables) if frozen else (model.variables, nullcontext)
        self.module.weights = [variable.value for variable in variables]
        kept = tf.saved_model.experimental.TrackableResource  # tables in layers of a user's own model
        self.module.tables = [part for part in tf.train.TrackableView(model).descendants() if isinstance(part, kept)]
        self.signatures = {name: _traced(signature, read, self.scope) for name, signature in signatures.items()}
        self.traces: dict[str, Any] = {}

    def start(
        self, name: str, columns: Sequence[Sequence], batch_size: int | None = None
    ) -> Callable[[], dict[str, np.ndarray]]:
        """Return a function that computes what `run` returns: TensorFlow does so when it is called, not ahead."""
        return partial(self.run, name, columns)

    def run(self, name: str, columns: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
        """Return the outputs of a signature by name, as arrays; strings in them are `str`."""
        import tensorflow as tf

        if name not in self.traces:
            # TensorFlow warns when many functions are called for the first time, but not when they are traced.
            self.traces[name] = self.signatures[name].get_concrete_function()
        answer = self.traces[name](*(tf.constant(column, tf.string) for column in columns))
        return {name: decoded(column.numpy()) for name, column in answer.items()}


def _traced(signature: Signature, read: GraphReader, scope: Callable[[], AbstractContextManager]) -> Any:
    """Return a `tf.function` of a signature, traced in a scope: all inputs are strings, of one batch size if rows."""
    import tensorflow as tf

    def run(first: Any, *others: Any) -> Tensors:
        rows = len(others) - signature.shared
        named = dict(zip(signature.inputs[1:], others[:rows], strict=False))
        named = with_rows(named, tf.size(first), signature.inputs[0])
        with scope():
            return signature.run(read, first, *named.values(), *others[rows:])

    ranks = zip(signature.inputs, signature.ranks, strict=False)
    specs = [tf.TensorSpec([None] * rank, tf.string, name=name) for name, rank in ranks]
    return tf.function(run, input_signature=specs, autograph=False)
