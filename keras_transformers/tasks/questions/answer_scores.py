"""Exact match and F1 of answers, from the logits of a model that is evaluated on windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.data.batches.pipeline import longest_first
from keras_transformers.tasks.answers.readers import places_of
from keras_transformers.tasks.inputs.context_windows import columns_of, first_windows
from keras_transformers.tasks.questions.answer_metrics import answer_scores
from keras_transformers.tasks.questions.best_answers import SpanOptions, best_of_texts, best_spans, choose_answers
from keras_transformers.text.encoded import Encoded

TEXTS = 256  # texts whose windows are compared at a time


class AnswerScorer:
    """The `Scorer` of question answering: scores of the answers that `predict` would return.

    Args:
        encoded: Encoded windows in the order of the questions.
        contexts: The context of each question.
        right: The texts of the right answers to each question.
        max_windows: The most windows of a context that are read to answer.
        options: Options of the task.
    """

    def __init__(
        self,
        encoded: Sequence[Encoded],
        contexts: list[str],
        right: list[list[str]],
        max_windows: int,
        options: SpanOptions,
    ):
        self.encoded, self.contexts, self.right = encoded, contexts, right
        self.max_windows, self.options = max_windows, options
        self.order = longest_first(np.array([len(window.ids) for window in encoded]))  # of the data set
        self.found: list[dict[str, np.ndarray]] = []
        self.done = 0

    def add(self, inputs: Any, labels: Any, outputs: Any) -> None:
        """Find the best spans of the next windows."""
        logits = outputs["logits"]  # (W, T, 2)
        numbers = self.order[self.done : self.done + len(logits)]
        self.done += len(logits)
        places = places_of([self.encoded[number] for number in numbers], logits.shape[1])
        found = best_spans(logits, places, self.options)
        self.found.append({name: ops.convert_to_numpy(column) for name, column in found.items()})

    def result(self) -> dict[str, float]:
        """Return `exact_match` and `f1`, in percent."""
        back = np.argsort(self.order)
        found = {name: np.concatenate([part[name] for part in self.found])[back] for name in self.found[0]}
        rows = np.array([window.row for window in self.encoded], np.int32)
        answers = []
        for begin in range(0, len(self.contexts), TEXTS):
            contexts = self.contexts[begin : begin + TEXTS]
            own = slice(*np.searchsorted(rows, [begin, begin + TEXTS]))
            columns = {"row": rows[own] - begin, **{name: column[own] for name, column in found.items()}}
            answers += self._answers(columns, contexts)
        return answer_scores(answers, self.right)

    def _answers(self, columns: dict[str, np.ndarray], contexts: list[str]) -> list[str]:
        first = first_windows({**columns, "truncated": np.zeros(len(contexts), bool)}, self.max_windows)
        column = columns_of(first["row"], len(contexts))
        best = best_of_texts(first, first["row"], column, len(contexts), self.options)
        answers = choose_answers(best, self.options)
        places = (ops.convert_to_numpy(answers[name][:, 0]).tolist() for name in ("start", "end"))
        return [context[start:end] for context, start, end in zip(contexts, *places, strict=True)]
