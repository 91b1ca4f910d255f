"""Sources of rows from texts and labels as given by users, and the checks that tasks share."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.data.sources.rows import Rows, tell_cut
from keras_transformers.data.sources.text_stream import Stream
from keras_transformers.tasks.contract.kind import Kind, keyword_names
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.folder.kept_files import CONFIG, INPUTS, WITH_TYPES
from keras_transformers.utils.text_checks import check_texts

Write = Callable[[Any, Any], tuple[Any, Any]]


def text_source(
    setup: Setup, read_labels: Callable[[Any], np.ndarray] | None = None, write: Write | None = None
) -> Callable[..., Rows | Stream]:
    """Return the source of a task that learns from texts, or pairs of texts, one per row.

    Args:
        setup: Setup of the task.
        read_labels: Function from labels as given by the user to numbers; None if the task takes no labels.
        write: Function from texts and their pairs to what the model reads in their place, in Python and TensorFlow.

    Returns:
        A `Parts.source`.
    """

    def source(texts: Any, labels: Any, pairs: Any, *, buffer_size: int = 4096) -> Rows | Stream:
        if is_stream(texts, labels, pairs):
            # The graph is built now: built while `Stream` traces, its tables would belong to that trace.
            return Stream(texts, partial(encode, setup.text_graph), buffer_size, read_labels)
        if read_labels is None and labels is not None:
            raise ValueError(f"{setup.kind.name} takes no labels: they come from the texts. Leave labels out.")
        if pairs is None and setup.kind.needs_pairs:
            raise lacks_pairs(setup.kind)
        if write is not None:
            texts, pairs = write(check_texts("texts", texts), None if pairs is None else check_texts("pairs", pairs))
        encoded = setup.tokenizer.encode(texts, pairs, max_length=setup.max_length)
        tell_cut([row.truncated for row in encoded], setup.max_length)
        numbers = None if read_labels is None or labels is None else read_labels(labels)
        return rows_of(encoded, setup.config, numbers)

    def encode(graph: Any, texts: Any, pairs: Any) -> dict[str, Any]:
        texts, pairs = (texts, pairs) if write is None else write(texts, pairs)
        encoded = graph.encode(texts, pairs, max_length=setup.max_length)
        if not setup.config.num_segments:
            del encoded["segment_ids"]
        return encoded

    return source


def lacks_pairs(kind: Kind) -> ValueError:
    """Return the error for texts without pairs, of a task that needs pairs."""
    return ValueError(f"{kind.name} takes pairs: received texts alone. Pass the second text of each as pairs=.")


def is_stream(texts: Any, labels: Any, pairs: Any = None) -> bool:
    """Return whether texts are a `tf.data.Dataset`; raise a `ValueError` if labels or pairs are given beside one."""
    stream = hasattr(texts, "element_spec")
    if stream and (labels is not None or pairs is not None):
        raise ValueError("a tf.data.Dataset brings its labels and pairs along: zip them with the texts.")
    return stream


def rows_of(encoded: Sequence[Encoded], config: TransformerConfig, labels: Any = None) -> Rows:
    """Return rows of encoded texts, with segments if the model has them."""
    segments = [row.segment_ids for row in encoded] if config.num_segments else None
    return Rows.of([row.ids for row in encoded], segments, labels)


def tell_untyped(setup: Setup) -> None:
    """Warn of pairs whose texts have one segment for no other reason than the tokenizer's class."""
    num_segments = setup.config.num_segments
    if setup.kind.joins_texts and num_segments > 1 and (name := setup.tokenizer.untyped_by):
        warnings.warn(
            f"both texts of a pair get segment 0, as in transformers 5: {CONFIG} has no {INPUTS}, and its class, "
            f"{name}, gives no token_type_ids. The model has {num_segments} segments, and version 4 of transformers "
            f"gave the second text segment 1. If the model was trained that way, write {json.dumps(INPUTS)}: "
            f"{json.dumps(WITH_TYPES)} into {CONFIG}; else {json.dumps(INPUTS)}: {json.dumps(WITH_TYPES[::2])}.",
            stacklevel=2,
        )


def is_ready(data: Any) -> bool:
    """Return whether the data are a data set of batches for the model, not of texts."""
    spec = getattr(data, "element_spec", None)
    first = spec[0] if isinstance(spec, tuple) and spec else spec
    is_rows = isinstance(first, dict) and all(getattr(part, "shape", None) == () for part in first.values())
    return isinstance(data, keras.utils.PyDataset) or (isinstance(first, dict) and not is_rows)


def check_given(texts: Any) -> None:
    """Raise a `ValueError` for None, or a data set of batches, in place of texts."""
    if texts is None:
        raise ValueError("expected texts, and what belongs to them: received None. Texts are the first argument.")
    if is_ready(texts):
        raise ValueError(
            "expected texts, and what belongs to them: received a data set of batches. Give that to task.model: "
            "task.model.fit(dataset), task.model.evaluate(dataset) or task.model.predict(dataset)."
        )


def kept(values: Any) -> Any:
    """Return values that can be read twice: a list of the values of an iterator."""
    return list(values) if isinstance(values, Iterator) else values


def check_labelled(kind: Kind, texts: Any, labels: Any, label_needed: str = "") -> None:
    """Raise a `ValueError` if a task needs labels and there are none; a stream or a file of tokens contains them."""
    brings_labels = hasattr(texts, "element_spec") or isinstance(texts, TokenFile)
    if (kind.needs_labels or label_needed) and labels is None and not brings_labels:
        each = label_needed and f" (each {label_needed})"
        raise ValueError(f"{kind.name} needs labels, one per text{each}, to fit or evaluate: received None.")


def has_nothing_to_learn(kind: Kind, parts: Parts, texts: Any, labels: Any) -> bool:
    """Return whether a task that learns from labels is given texts alone."""
    is_pair = isinstance(getattr(texts, "element_spec", None), tuple)  # a stream with labels or pairs
    learns_from_labels = bool(kind.needs_labels or parts.label_needed) and not isinstance(texts, TokenFile)
    return learns_from_labels and labels is None and not is_pair


def check_learnable(kind: Kind, parts: Parts, texts: Any, labels: Any, pairs: Any) -> None:
    """Raise a `ValueError` if texts lack the labels or the pairs that the task needs to fit and evaluate."""
    check_labelled(kind, texts, labels, parts.label_needed)
    if parts.pairs_needed and pairs is None and not hasattr(texts, "element_spec"):
        raise lacks_pairs(kind)


def divided(name: str, source: Callable, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the settings of a data set into settings of the task's source and settings of `pipeline.batches`.

    Args:
        name: Name of the task.
        source: Source of the task.
        settings: Settings of both; one may belong to both.

    Raises:
        ValueError: A setting belongs to neither.
    """
    of_source, of_batches = keyword_names(source), keyword_names(batches) - {"max_length", "batch_tokens"}
    if unknown := sorted(settings.keys() - of_source - of_batches):
        known = ", ".join(sorted(of_source | of_batches))
        raise ValueError(f"dataset has no setting {', '.join(unknown)}; for {name} it has {known}.")
    for_source, for_batches = (
        {key: settings[key] for key in settings.keys() & names} for names in (of_source, of_batches)
    )
    return for_source, for_batches
