"""Metrics of extractive question answering: of token positions, and of the texts of answers."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.tasks.questions.position_loss import span_cross_entropy
from keras_transformers.training.metrics.target_metrics import MeanCrossEntropy, TargetMean
from keras_transformers.utils.text_checks import check_texts

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


@keras.saving.register_keras_serializable("keras_transformers")
class SpanAccuracy(TargetMean):
    """The fraction of rows whose first and last token both have the largest logit.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B, 2) integers, the first and the last token; negative: no target.
        y_pred: (B, T, 2) logits.

    Example:

    >>> metric = SpanAccuracy()
    >>> logits = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> metric.update_state(np.array([[1, 2], [1, 1], [-1, -1]]), np.stack([logits] * 3))
    >>> float(metric.result())
    0.5
    """

    _direction = "up"

    def __init__(self, name: str = "span_accuracy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true, y_pred):
        positions = ops.cast(y_true, "int32")  # (B, 2)
        found = ops.cast(ops.argmax(y_pred, axis=1), "int32")
        return ops.cast(ops.all(ops.equal(positions, found), axis=-1), "float32"), ops.all(positions >= 0, axis=-1)


@keras.saving.register_keras_serializable("keras_transformers")
class MeanSpanCrossEntropy(MeanCrossEntropy):
    """Cross entropy in nats of first and last tokens: the loss as it should be reported.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B, 2) integers, the first and the last token; negative: no target.
        y_pred: (B, T, 2) logits.

    Example:

    >>> metric = MeanSpanCrossEntropy()
    >>> metric.update_state(np.array([[1, 2], [-1, -1]]), np.zeros((2, 4, 2)))
    >>> round(float(metric.result()), 4)  # log(4)
    1.3863
    """

    def per_target(self, y_true, y_pred):
        return span_cross_entropy(y_true, y_pred)


def answer_scores(answers: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return exact match and F1 of answers, in percent, as the evaluation script of SQuAD 2.0 computes them.

    Case, punctuation, English articles and the width of spaces are ignored. F1 compares the words of an answer and a
    reference. Each score takes the best of several references.
    Papers: Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250, and 2018, https://arxiv.org/abs/1806.03822.

    Args:
        answers: One a question; `""` for no answer.
        references: The right answers to each question; an empty list if the text has no answer.

    Returns:
        `exact_match` and `f1`, from 0 to 100.

    Raises:
        ValueError: There are no answers, not as many as references, or the references of a question are no list.

    Example:

    >>> answer_scores(["The Old Bridge", ""], [["old bridge!", "a bridge"], []])
    {'exact_match': 100.0, 'f1': 100.0}
    """
    answers = check_texts("answers", answers)
    references = [check_texts(f"references[{row}]", texts) for row, texts in enumerate(references)]
    if not answers or len(answers) != len(references):
        raise ValueError(
            f"received {len(answers)} answers for {len(references)} lists of references: expected one list for each "
            "answer, and at least one."
        )
    exact = total = 0.0
    for answer, texts in zip(answers, references, strict=True):
        found = _words(answer)
        # A reference without words, of articles and punctuation alone, is left out, as in the script.
        right = [words for words in map(_words, texts) if words] or [[]]
        exact += found in right
        total += max(_f1(found, words) for words in right)
    return {"exact_match": 100.0 * exact / len(answers), "f1": 100.0 * total / len(answers)}


def _words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def _f1(found: list[str], right: list[str]) -> float:
    if not found or not right:
        return float(found == right)
    shared = (Counter(found) & Counter(right)).total()
    return 2.0 * shared / (len(found) + len(right))
