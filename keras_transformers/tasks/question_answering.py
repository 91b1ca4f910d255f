"""Extractive question answering: the span of a context that answers a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras

from keras_transformers.heads import span_head
from keras_transformers.models import encoder
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.row_chunks import Spec, in_chunks
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind, flag
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.context_windows import Windows, check_stride, encode_windows, plan_windows
from keras_transformers.tasks.questions.answer_metrics import MeanSpanCrossEntropy, SpanAccuracy, answer_scores
from keras_transformers.tasks.questions.answer_scores import AnswerScorer
from keras_transformers.tasks.questions.best_answers import (
    SpanOptions,
    best_of_texts,
    best_spans,
    choose_answers,
    describe_answer,
    write_answers,
)
from keras_transformers.tasks.questions.given_answers import AnswerSpans
from keras_transformers.tasks.questions.position_loss import SpanCrossEntropy
from keras_transformers.tasks.questions.question_source import check_answers, check_pairs, span_source
from keras_transformers.tasks.questions.squad import read_squad
from keras_transformers.tasks.reports import worst
from keras_transformers.utils.number_checks import is_number

WINDOWS_AT_A_TIME = 32
MOST = 1e30  # the largest `null_threshold`, a difference of logits
MOST_CANDIDATES = 1000


def question_answering(
    setup: Setup,
    *,
    stride: int = 128,
    max_answer_length: int = 30,
    num_candidates: int = 5,
    no_answer: bool = False,
    null_threshold: float = 0.0,
    max_windows: int = 256,
) -> Parts:
    """Build a model of extractive question answering: it finds the answer to a question in a context.

    Texts are questions, and pairs their contexts. A label is a dict `{"text": [...], "answer_start": [...]}`, a tuple
    (start, text), a list of these, or None if the context has no answer; starts count code points. `fit` learns the
    first of several answers; `evaluate` accepts any of them.

    A context that is too long for the model is read in overlapping windows, each with the whole question. `predict`,
    the export and the answers of `evaluate` read at most `max_windows` of them; `fit` reads all of them. A window
    without the answer, or with a part of it only, has `[CLS]` as its target. The answer is the span with the largest
    sum of logits in any window, as in BERT's evaluation on SQuAD. A question of more than half a window is cut, unless
    its context leaves it more room. If the question or the context is blank, the answer is `""`, with score 0.
    Papers: BERT, Devlin et al. 2018, sections 4.2 and 4.3, https://arxiv.org/abs/1810.04805.

    Args:
        setup: Settings common to all tasks.
        stride: Tokens by which windows overlap; fewer where windows are short.
        max_answer_length: The most tokens of an answer.
        num_candidates: The number of spans that `predict` and the export return besides the answer.
        no_answer: Whether the answer may be `""`, for a context that has none.
        null_threshold: Margin, with `no_answer`, by which the logits of no answer must exceed the best span's.
        max_windows: The most windows of one context that are read to answer.

    Predicts:
        One dict a question of `texts`, read with its context in `pairs`:

        - `answer` (str): a span of the context, of whole tokens; `""` for no answer. White space that belongs to a
          token, as in byte-level tokens with untrimmed offsets, is kept, as in the pipeline of transformers 4.
        - `score` (float): the product of the probabilities of its first and its last token, in their window.
        - `start`, `end` (int): its place in the context, in characters, the end not included.
        - `candidates` (list of dict): up to `num_candidates` spans, the best first, each with these four keys.
        - `truncated` (bool): whether a part of the question or the context was not read.

    Exports:
        `serving_default` takes `question` and `context`, (B,) strings. Places are in code points. It returns:

        - `answer` (B,) string, `score` (B,) float32, `start` and `end` (B,) int32.
        - `candidates` (B, N) string, `candidate_scores` (B, N) float32, `candidate_starts` and `candidate_ends` (B, N)
          int32, for N = `num_candidates`; `""` and 0 where there are fewer.
        - `truncated` (B,) bool.

    Raises:
        ValueError: An option is out of range, or `max_length` is too small for a question and a context.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["where is Ann", "Ann is in Oslo"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("question_answering", config, tokenizer)
    >>> history = task.fit(["Where is Ann?"], [(10, "Oslo")], pairs=["Ann is in Oslo"], epochs=1, verbose=0)
    >>> task.predict(["Where is Ann?"], ["Ann is in Oslo"])[0]["answer"] in "Ann is in Oslo"
    True
    """
    options = SpanOptions(int(num_candidates), int(max_answer_length), no_answer, float(null_threshold))
    windows = plan_windows(setup.tokenizer, setup.max_length, stride)
    max_windows = int(max_windows)
    saved_options = {**options._asdict(), "stride": windows.stride, "max_windows": max_windows}
    model = _model(setup)
    # `best_spans` needs memory for each length, and no span is longer than the text of a window.
    options = options._replace(max_answer_length=min(options.max_answer_length, windows.room))
    signatures = {"serving_default": _signature(model, windows, max_windows, options)}
    from_ids = FromIds(model, setup.config.num_segments, _first_and_last)
    answers = OnePass(setup, model, signatures, describe_answer, from_ids=from_ids)
    return Parts(
        model,
        setup.tokenizer,
        source=span_source(setup, windows),
        objective=lambda: AnswerSpans(setup.config.fill_id),
        losses=lambda: {"logits": SpanCrossEntropy()},
        metrics=lambda: {"logits": [SpanAccuracy(), MeanSpanCrossEntropy()]},
        answers=answers,
        scorer=_scorer(setup, windows, max_windows, options),
        judged_by="span_accuracy",
        report=_report,
        attributes=saved_options,
        saved_options=saved_options,
    )


def read_questions(
    path: str | Path, column: Any = None, labelled: bool = True, encoding: str = "utf-8", errors: str = "strict"
) -> tuple[list, list | None, list]:
    """Read questions, answers and contexts from a file in the format of SQuAD."""
    if column is not None:
        raise ValueError(f"{path} is JSON in the format of SQuAD, which has no column {column!r}: leave it out.")
    found = read_squad(path, labelled, encoding, errors)
    return found.questions, found.answers if labelled else None, found.contexts


def _check_candidates(num_candidates: Any) -> None:
    check_counts(num_candidates=num_candidates)
    if num_candidates > MOST_CANDIDATES:
        raise ValueError(f"num_candidates must be at most {MOST_CANDIDATES}: received {num_candidates}.")


def _check_threshold(null_threshold: Any) -> None:
    if not is_number(null_threshold) or not abs(null_threshold) <= MOST:
        raise ValueError(
            f"null_threshold must be a number from {-MOST:g} to {MOST:g}: received null_threshold={null_threshold!r}."
        )


KIND = Kind(
    "question_answering",
    question_answering,
    models=("encoder",),
    checks={
        "stride": check_stride,
        "max_answer_length": lambda length: check_counts(max_answer_length=length),
        "num_candidates": _check_candidates,
        "no_answer": flag("no_answer"),
        "null_threshold": _check_threshold,
        "max_windows": lambda windows: check_counts(max_windows=windows),
    },
    new_layers=("pooler", "pooler_norm", "qa_outputs"),
    saved_options=("stride", "max_windows", *SpanOptions._fields),
    needs_labels=True,
    takes_pairs=True,
    joins_texts=True,
    needs_pairs=True,
    read=read_questions,
    held_out_by="pairs",
)


def _model(setup: Setup) -> keras.Model:
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]  # (B, T, D), (B, T)
    outputs = {"logits": span_head(setup.config, states, mask, setup.dtype), **setup.optional_outputs(backbone)}
    return keras.Model(backbone.input, outputs, name="question_answering_model")


def _first_and_last(outputs: Tensors) -> Tensors:
    """Return the logits (B, T) of the first and the last token of an answer, as `transformers` names them."""
    logits = outputs["logits"]  # (B, T, 2)
    return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}


def _signature(model: keras.Model, windows: Windows, max_windows: int, options: SpanOptions) -> Signature:
    spans = (1 + options.num_candidates, 2)
    specs = {"numbers": Spec("float32", spans), "places": Spec("int32", spans)}

    def search(chunk: Tensors) -> Tensors:
        logits = model({name: chunk[name] for name in model.input}, training=False)["logits"]  # (W, T, 2)
        return best_spans(logits, chunk, options)

    def read(reader: Reader, questions: Any, contexts: Any) -> Tensors:
        return reader.windows(questions, contexts, windows, max_windows)

    def answer(encoded: Tensors) -> Tensors:
        of_windows = {name: column for name, column in encoded.items() if name not in ("row", "column", "truncated")}
        found = in_chunks(search, of_windows, specs, WINDOWS_AT_A_TIME)
        count = keras.ops.shape(encoded["truncated"])[0]  # B
        best = best_of_texts(found, encoded["row"], encoded["column"], count, options)
        return {**choose_answers(best, options), "truncated": encoded["truncated"]}

    def write(found: Tensors, questions: Any, contexts: Any) -> Tensors:
        return {**write_answers(found, contexts), "truncated": found["truncated"]}

    return Signature(("question", "context"), read, answer, write, windows=True)


def _scorer(setup: Setup, windows: Windows, max_windows: int, options: SpanOptions) -> Callable[..., AnswerScorer]:
    def scorer(texts: Any, labels: Any, pairs: Any) -> AnswerScorer:
        questions, contexts = check_pairs(texts, pairs)
        encoded, _ = encode_windows(setup.tokenizer, questions, contexts, windows)
        return AnswerScorer(encoded, contexts, _right(labels, contexts), max_windows, options)

    return scorer


def _right(labels: Any, contexts: list[str]) -> list[list[str]]:
    return [[text for _, text in row] for row in check_answers(labels, contexts)]


def _report(texts: Any, labels: Any, pairs: Any, found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return exact match and F1, and the wrong answers with the highest scores."""
    answers, right = [*found], _right(labels, pairs)
    predicted = [row["answer"] for row in answers]
    wrong = {}
    for row, (answer, texts_of) in enumerate(zip(answers, right, strict=True)):
        if not answer_scores([answer["answer"]], [texts_of])["f1"]:
            shown = {"label": next(iter(texts_of), ""), "predicted": answer["answer"], "score": answer["score"]}
            wrong[row] = answer["score"], shown
    return {**answer_scores(predicted, right), "worst": worst(texts, pairs, wrong)}
