"""Export a user's own model as a SavedModel that takes text, as the export of a task does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.tasks.answers.label_answers import likeliest_signatures, name_labels, number_labels
from keras_transformers.tasks.answers.named_model import NamedModel
from keras_transformers.tasks.answers.one_pass import TracedService
from keras_transformers.tasks.answers.readers import GraphReader, Tensors
from keras_transformers.tasks.answers.services import check_exportable
from keras_transformers.tasks.answers.signatures import Answer, Signature, as_computed, text_signatures
from keras_transformers.tasks.inputs.labels import Labels, make_labels
from keras_transformers.text.string_checks import check_length, check_tokenizer, padding_of
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.lora import merged
from keras_transformers.training.workers.distribute import is_chief
from keras_transformers.utils.keras_private import operation_of, strategy_of
from keras_transformers.utils.untrusted import MOST_LETTERS

TRIED = ["warm up", "a", "it"]  # texts to inspect the outputs of a model with
CLOSE = 1e-2  # how far from 1 a sum of probabilities may be, in half precision too


def export_text(
    model: keras.Model,
    tokenizer: Tokenizer,
    folder: str | os.PathLike,
    *,
    labels: Sequence[str] | int | None = None,
    problem: str | None = None,
    from_logits: bool = True,
    max_length: int | None = None,
    pad_id: int | None = None,
) -> None:
    """Write a SavedModel from strings to the predictions of any model, for TF Serving: as `Task.export`.

    Signatures: `serving_default` takes `text`; `pair`, where the model has `segment_ids`, `text` and `text_pair`: all
    (B,) strings. Both return the model's outputs under their names, and `truncated` (B,) bool. With `labels`, the
    output of the classifier is replaced by, for a single label, `label` (B,) and `probabilities` (B, C); for
    multi-label, `labels` (B, C), empty where a label does not apply, and `probabilities`; for regression, `scores`
    (B, C). Only core TensorFlow ops are used, if the model uses no others: neither Keras nor this
    package is needed to serve it. A model that takes strings, with `Tokenize`, has `model.export` for that.

    Args:
        model: Functional or sequential, with inputs (B, T) named `token_ids` and perhaps `segment_ids` and
            `padding_mask`; or with one input of any name, of token ids. Where T is fixed, rows are padded to it.
        tokenizer: The tokenizer that the model was trained with.
        folder: Folder to write, such as `"serving/own/1"`. It is replaced if it is a SavedModel; an interrupted export
            leaves the old one. Of several workers, the chief writes it.
        labels: Names of the classes, or their number, if the model is a classifier: its one output, or the one named
            `logits` (without `from_logits`, `probabilities`), has shape (B, C). None to export the outputs as they are,
            without softmax.
        problem: `"single_label"`, the default, `"multi_label"` or `"regression"`.
        from_logits: Whether that output is logits, and probabilities are their softmax (multi-label: sigmoid). False
            for a model that ends in an activation, whose output is exported as it is.
        max_length: Longest text in tokens; longer ones are cut. Needed if neither the inputs nor `LearnedPositions` in
            the model limit it.
        pad_id: The id that rows are padded with; None for the tokenizer's.

    Raises:
        ValueError: Model and tokenizer do not fit each other, an argument is none of the above, the model returns
            probabilities where logits are expected or the reverse, the backend is not TensorFlow, or the folder holds
            something else.

    Example:

    >>> import tempfile
    >>> import tensorflow as tf
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"), keras.layers.Embedding(60, 8, mask_zero=True),
    ...     keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2),
    ... ])
    >>> folder = tempfile.mkdtemp()
    >>> export_text(model, tokenizer, folder, labels=["negative", "positive"], max_length=32)
    >>> answer = tf.saved_model.load(folder).signatures["serving_default"](text=tf.constant(["a fine film"]))
    >>> sorted(answer)
    ['label', 'probabilities', 'truncated']
    """
    check_exportable("Save the model with model.save")
    check_tokenizer("export_text", tokenizer)
    check_target(folder, marker="saved_model.pb")
    named = NamedModel(model)
    read = _reader(named, tokenizer, max_length, pad_id)
    _check_largest_id(named, read, max(tokenizer.vocabulary_size - 1, read.graph.pad_id))
    if labels is None and problem is not None:
        raise ValueError(f"problem={problem!r} needs labels: received None.")
    classes = None if labels is None else make_labels(labels, problem)
    answer = _as_they_are if classes is None else _labelled(named, read, classes, from_logits)
    write = as_computed if classes is None else partial(name_labels, classes)
    takes_pairs = "segment_ids" in named.input
    signatures = text_signatures(takes_pairs, named, answer, write)
    signatures |= {} if classes is None else likeliest_signatures(takes_pairs, named, answer, classes)
    if is_chief(strategy_of(model)):
        _write(named, read, signatures, folder, () if classes is None else classes.names)


def _write(
    named: NamedModel,
    read: GraphReader,
    signatures: Mapping[str, Signature],
    folder: str | os.PathLike,
    labels: Sequence[str],
) -> None:
    from keras_transformers.tasks.exports.saved_model import export

    with merged(named.model):
        service = TracedService(named.model, signatures, read)
        export(folder, service.module, service.signatures, labels=labels)


def _reader(named: NamedModel, tokenizer: Tokenizer, max_length: int | None, pad_id: int | None) -> GraphReader:
    from keras_transformers.text.shared_graph import graph_of

    graph = graph_of(tokenizer, padding_of(tokenizer, pad_id))
    longest = named.longest
    max_length = longest if max_length is None else max_length
    check_length(graph, max_length, pairs="segment_ids" in named.input)
    if max_length is None:
        raise ValueError("the model does not specify the maximum length of a text: pass max_length, in tokens.")
    if longest and max_length > longest:
        raise ValueError(f"max_length must be at most {longest}, the most tokens of the model: received {max_length}.")
    return GraphReader(graph, int(max_length), named.length)


def _as_they_are(outputs: Tensors, inputs: Tensors) -> Tensors:
    """Return the outputs, cast from half precision, which not all clients know, to float32."""
    return {
        name: ops.cast(value, "float32") if keras.backend.is_float_dtype(value.dtype) else value
        for name, value in outputs.items()
    }


def _labelled(named: NamedModel, read: GraphReader, classes: Labels, from_logits: bool) -> Answer:
    """Return the function that makes labels of a classifier's outputs, after a check of these outputs."""
    expected = "logits" if from_logits else "probabilities"
    name = expected if expected in named.output else next(iter(named.output))
    if len(named.output) > 1 and name != expected:
        raise ValueError(
            f"labels are for the model's one output, or that named {expected!r}: received {sorted(named.output)}."
        )
    _check_shape(named.output[name].shape, len(classes.names))
    if classes.problem != "regression":
        _check_scale(_tried(named, read)[name].astype("float32"), classes.problem == "single_label", from_logits)
        if from_logits and _is_sigmoid(operation_of(named.output[name])):
            raise ValueError("the model ends in a sigmoid and gives probabilities already: pass from_logits=False.")

    def answer(outputs: Tensors, inputs: Tensors) -> Tensors:
        others = _as_they_are({other: value for other, value in outputs.items() if other != name}, inputs)
        labelled = number_labels(classes, outputs[name], from_logits)
        if taken := sorted(others.keys() & labelled.keys()):
            raise ValueError(f"outputs of the model have the names of the answer's: {taken}. Rename them.")
        return {**others, **labelled}

    return answer


def _is_sigmoid(operation: Any) -> bool:
    return getattr(operation, "activation", None) is keras.activations.sigmoid or type(operation).__name__ == "Sigmoid"


def _check_shape(shape: tuple[int | None, ...], count: int) -> None:
    if len(shape) != 2 or shape[1] != count:
        one = ". A model with one sigmoid has one label: problem='multi_label'" if shape[-1] == 1 else ""
        raise ValueError(f"{count} labels need an output (batch, {count}): received one of shape {shape}{one}.")


def _check_scale(scores: np.ndarray, is_single: bool, from_logits: bool) -> None:
    """Refuse a softmax of probabilities, and logits as probabilities: nothing else would show the mistake."""
    are_shares = (scores >= 0).all() and (scores <= 1 + CLOSE).all()
    if is_single:
        are_shares &= (np.abs(scores.sum(-1) - 1) < CLOSE).all()
    if is_single and are_shares and from_logits:
        raise ValueError("the model gives probabilities already, rows that sum to 1: pass from_logits=False.")
    if not are_shares and not from_logits:
        told = [round(float(score), 3) for score in scores[0]]
        raise ValueError(
            f"from_logits=False is for a model that gives probabilities: this one gives, for example, {told}."
        )


def _check_largest_id(named: NamedModel, read: GraphReader, largest: int) -> None:
    import tensorflow as tf

    try:
        _tried(named, read, token_ids=largest)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            f"the model fails on the largest id of tokenizer and padding, {largest}: they do not belong together, or "
            f"an embedding has too few rows ({str(error)[:MOST_LETTERS]})."
        ) from error


def _tried(named: NamedModel, read: GraphReader, **numbers: int) -> dict[str, np.ndarray]:
    """Return the model's outputs for `TRIED`; `numbers` replace whole columns of the tokenizer."""
    import tensorflow as tf

    encoded = read(tf.constant(TRIED))
    encoded |= {name: tf.fill(tf.shape(encoded[name]), number) for name, number in numbers.items()}
    outputs = named({name: encoded[name] for name in named.input})
    return {name: ops.convert_to_numpy(value) for name, value in outputs.items()}
