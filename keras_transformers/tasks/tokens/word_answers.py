"""Predictions of a token classifier: a label for each word of the tokenizer, and entities with their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.layers.attention.masks import true_first
from keras_transformers.layers.core.gather import take_at
from keras_transformers.layers.crf.path_scores import best_path, marginals, unpacked
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.signatures import look_up
from keras_transformers.tasks.tokens.entity_metrics import entity_bounds
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor

COLUMNS = ("label", "start", "end", "score")  # of words and entities
# From an output of the model and the first tokens of words, (B, T) bool, to labels int32 and scores float32, (B, T).
Choose = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def likeliest(logits: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """Return the label of the largest logit of each token, (B, T, C) in all, and its probability."""
    logits = ops.cast(logits, "float32")  # (B, T, C)
    return ops.cast(ops.argmax(logits, axis=-1), "int32"), ops.max(ops.softmax(logits), axis=-1)


def on_best_path(path_scores: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """Return the labels of the best path through the words of a text, and their marginals.

    Args:
        path_scores: (B, T + C + 1, C + 1), the output of a `CRF`.
        first: (B, T) bool, True for the first token of each word.
    """
    paths = unpacked(path_scores, first)
    labels, likely = best_path(paths), marginals(paths)  # (B, T), (B, T, C)
    return labels, ops.sum(ops.one_hot(labels, likely.shape[-1]) * likely, axis=-1)


def label_words(outputs: Tensor, word_ids: Tensor, offsets: Tensor, choose: Choose = likeliest) -> Tensors:
    """Label each word by its first token.

    Args:
        outputs: The model's: logits (B, T, C), or what else `choose` reads.
        word_ids: int32 (B, T), the number of each token's word; -1 for special tokens and padding.
        offsets: int32 (B, T, 2), the place of each token in the text, in code points.
        choose: Function that returns labels and scores.

    Returns:
        `real` (B, T) bool, True for as many places as a row has words; and `label` int32, `start`, `end` int32 and
        `score`, the label's probability, (B, T) each, meaningless at other places.

    Example:

    >>> logits, offsets = np.zeros((1, 3, 2)), np.array([[[0, 0], [0, 3], [3, 5]]])
    >>> words = label_words(logits, np.array([[-1, 0, 0]]), offsets)
    >>> {name: ops.convert_to_numpy(words[name])[0, :1].tolist() for name in ("start", "end", "score")}
    {'start': [0], 'end': [5], 'score': [0.5]}
    """
    padded = ops.pad(word_ids, [[0, 0], [1, 1]], constant_values=-1)  # (B, T + 2)
    first = (word_ids >= 0) & (word_ids != padded[:, :-2])  # (B, T)
    last = (word_ids >= 0) & (word_ids != padded[:, 2:])
    begin, end = true_first(first), true_first(last)  # (B, T) each
    label, score = choose(outputs, first)  # (B, T) each
    return {
        "real": true_places(first),
        "label": take_at(label, begin),
        "start": take_at(offsets[..., 0], begin),
        "end": take_at(offsets[..., 1], end),
        "score": take_at(score, begin),
    }


def find_entities(words: Tensors, labels: TokenLabels) -> Tensors:
    """Find entities in labelled words; a label that cannot begin one by the scheme, as `I-x` after `O`, begins one.

    Args:
        words: Result of `label_words`.
        labels: The labels of the classes.

    Returns:
        `real` (B, T) bool, True for as many places as a row has entities; and `kind`, the number in `labels.types`,
        `start`, `end` int32 and `score`, the mean of the scores of its words, (B, T) each, meaningless at other places.
    """
    classes = ops.where(words["real"], words["label"], len(labels.names))  # (B, T)
    starts, ends = entity_bounds(classes, labels)
    first, last = true_first(starts), true_first(ends)  # (B, T) each
    kinds = ops.take(ops.convert_to_tensor(labels.kinds), classes)  # (B, T), -1 outside of entities
    return {
        "real": true_places(starts),
        "kind": take_at(kinds, first),
        "start": take_at(words["start"], first),
        "end": take_at(words["end"], last),
        "score": _means(ops.where(kinds >= 0, words["score"], 0.0), starts, first, last),
    }


def true_places(flags: Tensor) -> Tensor:
    """Return a mask (B, T) with as many leading True as a row of `flags` (B, T) has True."""
    counts = ops.sum(ops.cast(flags, "int32"), axis=1, keepdims=True)  # (B, 1)
    return ops.arange(ops.shape(flags)[1], dtype="int32") < counts


def _means(scores: Tensor, starts: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Return the mean (B, T) of the scores (B, T) of each entity's words; others have a score of 0."""
    width = ops.shape(first)[1]
    # Words before the first entity are summed with it, words behind an entity with that one: their scores are 0.
    number = ops.maximum(ops.cumsum(ops.cast(starts, "int32"), axis=1) - 1, 0)  # (B, T)
    rows = ops.arange(ops.shape(first)[0], dtype="int32")[:, None]  # (B, 1)
    sums = ops.segment_sum(ops.ravel(scores), ops.ravel(rows * width + number), ops.size(first))  # (B * T,)
    return ops.reshape(sums, ops.shape(first)) / ops.cast(last - first + 1, "float32")


def number_tokens(
    outputs: Tensor, encoded: Mapping[str, Any], labels: TokenLabels, choose: Choose = likeliest
) -> Tensors:
    """Label words and find entities: the numbers of an answer, whose shapes do not depend on what is found.

    Args:
        outputs, choose: As for `label_words`.
        encoded: `word_ids` (B, T) and `offsets` (B, T, 2), as for `label_words`.
        labels: The labels of the C classes.

    Returns:
        For words `token_label`, `token_start`, `token_end` int32 and `token_score` float32, (B, T) each; padding is -1
        as a label, and 0. If labels mark entities, for these also `label`, the number of the type, `start`, `end` and
        `score`. And () int32 `num_tokens` and `num_entities`: the most of a row, at least 1.
    """
    words = label_words(outputs, encoded["word_ids"], encoded["offsets"], choose)
    found = {f"token_{name}": column for name, column in _padded(words, "label").items()}
    found["num_tokens"] = longest_row(words["real"])
    if labels.scheme is None:
        return found
    entities = find_entities(words, labels)
    return {**found, **_padded(entities, "kind"), "num_entities": longest_row(entities["real"])}


def _padded(found: Tensors, label: str) -> Tensors:
    columns = {name: ops.where(found["real"], found[name], 0) for name in ("start", "end", "score")}
    return {**columns, "label": ops.where(found["real"], found[label], -1)}


def longest_row(real: Tensor) -> Tensor:
    """Return the most True values that a row of a mask (B, T) has, at least 1."""
    return ops.max(ops.sum(ops.cast(real, "int32"), axis=1), initial=1)


def answer_tokens(found: Tensors, texts: Any, labels: TokenLabels) -> Tensors:
    """Return the outputs of the export, but for `truncated`.

    Args:
        found: Result of `number_tokens`.
        texts: (B,) strings.
        labels: The labels of the classes.

    Returns:
        For the words of the tokenizer `token`, the span of the text, and `token_label`, (B, W) strings; `token_start`,
        `token_end` int32 and `token_score` float32 (B, W). If labels mark entities, also `entity`, the span of the
        text, and `label`, the type, (B, E) strings; and `start`, `end` and `score` (B, E). Places in a text are in code
        points; padding is `""` and 0.
    """
    words = {f"token_{name}": found[f"token_{name}"][:, : found["num_tokens"]] for name in COLUMNS}
    words["token"] = cut_out(texts, words["token_start"], words["token_end"])
    words["token_label"] = look_up(labels.names, words["token_label"])
    if labels.scheme is None:
        return words
    entities = {name: found[name][:, : found["num_entities"]] for name in COLUMNS}
    entities["entity"] = cut_out(texts, entities["start"], entities["end"])
    entities["label"] = look_up(labels.types, entities["label"])
    return {**words, **entities}


def cut_out(texts: Any, start: Tensor, end: Tensor) -> Any:
    """Cut spans out of texts.

    Args:
        texts: (B,) strings: a TensorFlow tensor, or on other backends any sequence of str.
        start, end: int32 (B, E), in code points.

    Returns:
        (B, E) strings, of the same kind; an array of objects on other backends.

    Example:

    >>> cut_out(["Ann Lee"], np.array([[4, 0]]), np.array([[7, 0]])).shape.as_list()
    [1, 2]
    """
    if on_tensorflow():
        import tensorflow as tf

        # By code points, not `substr`, which would copy the whole text for each span and count from its beginning.
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")  # (B, None), as the tokenizer reads them
        rows = tf.cast(points.row_starts(), start.dtype)[:, None]  # (B, 1)
        places = tf.ragged.range(tf.reshape(rows + start, [-1]), tf.reshape(rows + end, [-1]))  # (B * E, None)
        parts = places.with_values(tf.gather(points.values, places.values))
        return tf.reshape(tf.strings.unicode_encode(parts, "UTF-8"), tf.shape(start))
    places = zip(texts, ops.convert_to_numpy(start).tolist(), ops.convert_to_numpy(end).tolist(), strict=True)
    parts = [[text[a:b] for a, b in zip(starts, ends, strict=True)] for text, starts, ends in places]
    return np.array(parts, object).reshape(start.shape)


def describe_tokens(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `predict` returns for a text, from a row of `answer_tokens`."""
    tokens = records(row, label="token_label", start="token_start", end="token_end", text="token", score="token_score")
    tokens = [token for token in tokens if token["label"]]
    if "entity" not in row:
        return {"tokens": tokens}
    entities = records(row, label="label", start="start", end="end", text="entity", score="score")
    return {"entities": [entity for entity in entities if entity["label"]], "tokens": tokens}


def records(row: Mapping[str, Any], **names: str) -> list[dict[str, Any]]:
    """Return a dict for each place of the columns of a row, by the names that they get."""
    columns = [row[name].tolist() for name in names.values()]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
