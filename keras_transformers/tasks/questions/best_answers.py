"""Answers of extractive question answering: the best spans over all windows of a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from keras import ops

from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.layers.core.gather import take_at
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.tokens.word_answers import cut_out
from keras_transformers.utils.tensor_types import Tensor

IMPOSSIBLE = NEVER / 2  # sums of logits above it are those of real spans


class SpanOptions(NamedTuple):
    """Options of how answers are chosen from spans."""

    num_candidates: int
    max_answer_length: int  # in tokens
    no_answer: bool
    null_threshold: float


def best_spans(logits: Tensor, windows: Tensors, options: SpanOptions) -> Tensors:
    """Find the best spans of each window, and the score of having no answer.

    Args:
        logits: (W, T, 2), of first and last tokens.
        windows: `sequence_ids`, `word_ids` (W, T) and `offsets` (W, T, 2), as a `Reader` gives them.
        options: Options of the task.

    Returns:
        `numbers`, float32 (W, 1 + N, 2): the sum of a span's logits, `NEVER` if there are fewer spans, and its score,
        the product of two probabilities among the tokens of the context and `[CLS]`. And `places`, int32 (W, 1 + N, 2):
        start and end of the span in the context. Number 0 is `[CLS]`, which means no answer.

    Example:

    >>> windows = {"sequence_ids": np.array([[-1, 0, 1]]), "word_ids": np.array([[-1, 0, 0]])}
    >>> windows["offsets"] = np.array([[[0, 0], [0, 3], [0, 4]]])
    >>> found = best_spans(np.zeros((1, 3, 2)), windows, SpanOptions(1, 30, False, 0.0))
    >>> ops.convert_to_numpy(found["numbers"])[0].tolist(), ops.convert_to_numpy(found["places"])[0].tolist()
    ([[0.0, 0.25], [0.0, 0.25]], [[0, 0], [0, 4]])
    """
    is_word, is_context = windows["word_ids"] >= 0, windows["sequence_ids"] == 1  # (W, T) each
    asked = ops.any(is_word & ~is_context, axis=1, keepdims=True)  # (W, 1), False for an empty question
    is_context = is_word & is_context & asked
    is_first = ops.arange(ops.shape(logits)[1]) == 0  # (T,)

    logits = ops.where((is_context | is_first)[..., None], ops.cast(logits, "float32"), NEVER)  # (W, T, 2)
    probabilities = ops.softmax(logits, axis=1)
    total, first, last = _best_pairs(ops.where(is_context[..., None], logits, NEVER), options)  # (W, N) each

    score = take_at(probabilities[..., 0], first) * take_at(probabilities[..., 1], last)  # (W, N)
    places = take_at(windows["offsets"][..., 0], first), take_at(windows["offsets"][..., 1], last)
    null = ops.stack([ops.sum(logits[:, 0], axis=-1), ops.prod(probabilities[:, 0], axis=-1)], axis=-1)  # (W, 2)
    return {
        "numbers": ops.concatenate([null[:, None], ops.stack([total, score], axis=-1)], axis=1),
        "places": ops.pad(ops.stack(places, axis=-1), [[0, 0], [1, 0], [0, 0]]),
    }


def _best_pairs(logits: Tensor, options: SpanOptions) -> tuple[Tensor, Tensor, Tensor]:
    """Return the N largest sums of the logits of a first and a last token, (W, N), and these tokens.

    The search is exact: it compares all spans of at most L tokens, a band of (W, T, L) sums.
    """
    length, count = options.max_answer_length, options.num_candidates
    width = ops.shape(logits)[1]
    last = ops.arange(width, dtype="int32")[:, None] + ops.arange(length, dtype="int32")  # (T, L)
    ends = ops.pad(logits[..., 1], [[0, 0], [0, length]], constant_values=2 * NEVER)  # (W, T + L)

    sums = logits[..., :1] + ops.take(ends, last, axis=1)  # (W, T, L)
    sums = ops.reshape(sums, (-1, width * length))
    sums = ops.pad(sums, [[0, 0], [0, count]], constant_values=4 * NEVER)  # at least N sums, spans first
    total, best = ops.top_k(sums, count)  # (W, N) each
    first, more = best // length, best % length

    real = total > IMPOSSIBLE
    return ops.where(real, total, NEVER), ops.where(real, first, 0), ops.where(real, first + more, 0)


def best_of_texts(found: Tensors, row: Tensor, column: Tensor, count: Any, options: SpanOptions) -> Tensors:
    """Find the best spans of each text among the spans of its windows.

    Windows overlap, so that several may have found the same span: the best one counts. Windows without the answer give
    a high score to no answer, so the score of no answer is the lowest one of all windows.

    Args:
        found: Result of `best_spans`.
        row: int32 (W,), the number of each window's text; ascending. Windows with number B are not read.
        column: int32 (M,), from 0 to M - 1, for the most windows M of a text, or more.
        count: The number of texts, B.
        options: Options of the task.

    Returns:
        `start`, `end` int32, `total` and `score` float32, (B, N) each, 0 where there are fewer spans; and `null_total`,
        `null_score` (B,), of no answer.
    """
    sizes = ops.segment_sum(ops.ones_like(row), row, count + 1)[:-1]  # (B,)
    real = column < sizes[:, None]  # (B, M)
    window = ops.where(real, (ops.cumsum(sizes) - sizes)[:, None] + column, 0)
    numbers, places = (ops.take(found[name], window, axis=0) for name in ("numbers", "places"))  # (B, M, 1 + N, 2)

    null = ops.where(real[..., None], numbers[:, :, 0], -NEVER)  # (B, M, 2)
    worst = ops.argmin(null[..., 0], axis=1)[:, None]  # (B, 1)
    null = take_at(null, worst)[:, 0]  # (B, 2)

    flat = (-1, ops.shape(real)[1] * options.num_candidates)
    total = ops.where(real[..., None], numbers[:, :, 1:, 0], NEVER)  # (B, M, N)
    columns = {"total": total, "score": numbers[:, :, 1:, 1], "start": places[:, :, 1:, 0], "end": places[:, :, 1:, 1]}
    best = _distinct({name: ops.reshape(value, flat) for name, value in columns.items()}, options.num_candidates)
    return best | {"null_total": null[:, 0], "null_score": null[:, 1]}


def _distinct(spans: Tensors, count: int) -> Tensors:
    """Return the best spans (B, N) of (B, K), no two with the same place; zeros where there are fewer."""
    total, picked = spans["total"], []
    for _ in range(count):
        best = ops.argmax(total, axis=1)[:, None]  # (B, 1)
        pick = {name: take_at(values, best) for name, values in (spans | {"total": total}).items()}
        same = (spans["start"] == pick["start"]) & (spans["end"] == pick["end"])  # (B, K)
        total = ops.where(same, NEVER, total)
        picked.append({name: ops.where(pick["total"] > IMPOSSIBLE, value, 0) for name, value in pick.items()})
    return {name: ops.concatenate([pick[name] for pick in picked], axis=1) for name in spans}


def choose_answers(best: Tensors, options: SpanOptions) -> Tensors:
    """Return the places of each text's answer, followed by its candidates, the best first.

    Args:
        best: Result of `best_of_texts`.
        options: Options of the task.

    Returns:
        `score` float32, `start` and `end` int32, (B, 1 + N) each. No answer, and padding of candidates, is 0.
    """
    start, end, score = best["start"], best["end"], best["score"]  # (B, N) each
    has_spans = end[:, :1] > 0  # (B, 1)
    is_null = ~has_spans
    if options.no_answer:
        is_null |= (best["null_total"][:, None] - best["total"][:, :1]) > options.null_threshold
    null_score = ops.where(has_spans, best["null_score"][:, None], 0.0)

    return {
        "score": ops.concatenate([ops.where(is_null, null_score, score[:, :1]), score], axis=1),  # (B, 1 + N)
        "start": ops.concatenate([ops.where(is_null, 0, start[:, :1]), start], axis=1),
        "end": ops.concatenate([ops.where(is_null, 0, end[:, :1]), end], axis=1),
    }


def write_answers(chosen: Tensors, contexts: Any) -> Tensors:
    """Return the outputs of the export, but for `truncated`.

    Args:
        chosen: Result of `choose_answers`.
        contexts: (B,) strings.

    Returns:
        `answer`, a span of the context, `score`, `start` and `end`, (B,) each; and `candidates` strings,
        `candidate_scores`, `candidate_starts` and `candidate_ends`, (B, N) each, the best first. Places are in code
        points. No answer, and padding of candidates, is `""` and 0.
    """
    columns = {name: chosen[name] for name in ("score", "start", "end")}  # (B, 1 + N) each
    columns["answer"] = cut_out(contexts, chosen["start"], chosen["end"])
    candidates = {"answer": "candidates"} | {name: f"candidate_{name}s" for name in ("score", "start", "end")}
    return {
        **{name: column[:, 0] for name, column in columns.items()},
        **{candidates[name]: column[:, 1:] for name, column in columns.items()},
    }


def describe_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `predict` returns for a question, from a row of `write_answers`."""
    names = ("candidates", "candidate_scores", "candidate_starts", "candidate_ends")
    candidates = zip(*(row[name].tolist() for name in names), strict=True)
    keys = ("answer", "score", "start", "end")
    return {
        "answer": str(row["answer"]),
        "score": float(row["score"]),
        "start": int(row["start"]),
        "end": int(row["end"]),
        "candidates": [dict(zip(keys, candidate, strict=True)) for candidate in candidates if candidate[0]],
    }
