"""Reports of a model on labelled texts: metrics, scores by class, and the worst predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformers.tasks.answers.wrong_answers import Answers, Report, Wrong, worst
from keras_transformers.tasks.conversations.chat_scores import score_answers
from keras_transformers.tasks.fit.held_out import evaluation_set
from keras_transformers.tasks.inputs.labels import Labels
from keras_transformers.text.chat.learnt_answers import is_conversations
from keras_transformers.training.metrics.class_scores import (
    class_scores,
    confusions,
    label_scores,
    macro_f1,
    total_scores,
)
from keras_transformers.training.metrics.embedding_metrics import spearman

if TYPE_CHECKING:
    from keras_transformers.tasks.task import Task

LEAST = float(np.finfo(np.float32).tiny)  # a probability whose logarithm is finite


def measure(task: Task, texts: Any, labels: Any = None, *, pairs: Any = None, batch_size: int = 32) -> Report:
    """Measure a task on labelled texts, reading each once.

    Use it where the metrics of `Task.evaluate` are not enough. The report depends on the task; for language models and
    pre-training it has the metrics of `evaluate` alone.

    Args:
        task: The task.
        texts, labels, pairs: As for `Task.evaluate`, in memory.
        batch_size: Texts at a time.

    Returns:
        Metrics by name, as from `evaluate`; and, all of it ready for `json.dumps`:
        `classes`: by label, or type of entity, `precision`, `recall`, `f1`, `support` and `predicted`;
        `confusion`: for up to 200 labels `labels`, and `counts`, a row for each true label with the number of
        predictions of each label; for more, `pairs` of labels that are confused: `label`, `predicted` and `count`;
        `worst`: wrong predictions, the most confident ones first, with `text`, `label` (the true one), `predicted`, and
        a number such as the probability or the error.
        Conversations also have `exact_match`, `f1` and `answers` of `conversations.chat_scores.score_answers`.

    Raises:
        ValueError: As from `Task.evaluate`.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("classification", config, tokenizer, labels=["bad", "good"])
    >>> sorted(measure(task, ["a fine film", "a dull film"], ["good", "bad"]))
    ['accuracy', 'classes', 'confusion', 'cross_entropy', 'macro_f1', 'worst']
    """
    if task.parts.report is None:
        measured = task.evaluate(texts, labels, pairs=pairs, batch_size=batch_size)
        return measured | (score_answers(task, texts) if is_conversations(texts) else {})
    if labels is None:
        raise ValueError(f"{task.name} needs labels, one per text, to evaluate: received None.")
    evaluation_set(task, [texts, labels, pairs], {})  # checks them, and warns of texts that are cut
    options = {"batch_size": batch_size, "verbose": "auto", **task.parts.report_options}
    return task.parts.report(texts, labels, pairs, task.predict_stream(texts, pairs, **options))


def label_report(classes: Labels) -> Callable[..., Report]:
    """Return the report function of a classifier or a regression.

    Args:
        classes: The labels.
    """
    reports = {"single_label": _of_classes, "multi_label": _of_sets, "regression": _of_numbers}

    def report(texts: Any, labels: Any, pairs: Any, answers: Answers) -> Report:
        name = "scores" if classes.problem == "regression" else "probabilities"
        rows = (np.fromiter(answer[name].values(), np.float64) for answer in answers)  # (C,) each
        found, wrong = reports[classes.problem](classes, classes.to_numbers(labels), rows)
        return {**found, "worst": worst(texts, pairs, wrong)}

    return report


def _of_classes(classes: Labels, true: np.ndarray, rows: Iterator[np.ndarray]) -> tuple[Report, Wrong]:
    names, true = classes.names, true.astype(np.int64).reshape(-1)
    read = [(row.argmax(), row.max(), row[right]) for row, right in zip(rows, true, strict=True)]  # N * C may be many
    found, sure, given = (np.array(column) for column in zip(*read, strict=True))  # (N,) each
    scores = label_scores(names, true, found)
    wrong = {
        int(row): (
            sure[row],
            {"label": names[true[row]], "predicted": names[found[row]], "probability": float(sure[row])},
        )
        for row in np.flatnonzero(true != found)
    }
    measured = {
        "accuracy": float(np.mean(true == found)),
        "cross_entropy": float(-np.log(np.maximum(given, LEAST)).mean()),
        "macro_f1": macro_f1(scores),
    }
    return {**measured, "classes": scores, "confusion": confusions(names, true, found)}, wrong


def _of_sets(classes: Labels, true: np.ndarray, rows: Iterator[np.ndarray]) -> tuple[Report, Wrong]:
    counts = np.zeros((3, len(classes.names)), np.int64)  # of each label: right predictions, predictions, targets
    wrong, misses = {}, 0
    for row, (probabilities, right) in enumerate(zip(rows, true.astype(bool), strict=True)):  # N * C may be many
        found = probabilities >= 0.5  # (C,)
        counts += right & found, found, right
        missed = np.abs(probabilities - 0.5)[right != found]
        misses += missed.size
        if missed.size:
            shown = {"label": _chosen(classes, right), "predicted": _chosen(classes, found)}
            sure = 0.5 + missed.max()
            wrong[row] = sure, {**shown, "probability": float(sure)}
    scores = class_scores(classes.names, *counts)
    measured = {"binary_accuracy": 1 - misses / true.size, "f1": total_scores(*counts)["f1"]}
    return {**measured, "macro_f1": macro_f1(scores), "classes": scores}, wrong


def _chosen(classes: Labels, row: np.ndarray) -> list[str]:
    return [classes.names[number] for number in np.flatnonzero(row)]


def _of_numbers(classes: Labels, true: np.ndarray, rows: Iterator[np.ndarray]) -> tuple[Report, Wrong]:
    found = np.array([*rows])
    true = true.astype(np.float64).reshape(len(found), -1)  # (N, C)
    errors = np.abs(found - true)
    measured = {"mean_absolute_error": float(errors.mean())}
    if len(classes.names) == 1:
        measured |= _correlations(true[:, 0], found[:, 0])
    of_row = errors.mean(axis=1)
    shown = zip(map(_number, true), map(_number, found), of_row, strict=True)
    wrong = {
        row: (error, {"label": right, "predicted": answer, "error": float(error)})
        for row, (right, answer, error) in enumerate(shown)
        if error
    }
    return measured, wrong


def _number(values: np.ndarray) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else values.tolist()


def _correlations(true: np.ndarray, found: np.ndarray) -> dict[str, float]:
    one, other = true - true.mean(), found - found.mean()
    spread = np.sqrt((one @ one) * (other @ other))
    return {
        "pearson": float(one @ other / spread) if spread else 0.0,
        "spearman": spearman(true.tolist(), found.tolist()),
    }


def similarity_report(texts: Any, labels: Any, pairs: Any, answers: Answers) -> Report:
    """Return the correlation of the cosines of pairs with their scores, and the pairs with the largest errors."""
    true, found = np.asarray(labels, np.float64), np.array([answer["similarity"] for answer in answers])
    errors = np.abs(true - found)
    wrong = {
        row: (error, {"label": float(true[row]), "predicted": float(found[row]), "error": float(error)})
        for row, error in enumerate(errors)
    }
    return {**_correlations(true, found), "worst": worst(texts, pairs, wrong)}


def pair_report(texts: Any, labels: Any, pairs: Any, answers: Answers) -> Report:
    """Return the accuracy over pairs, and the most confident wrong predictions."""
    true, found = np.asarray(labels, np.float64), np.array([answer["probability"] for answer in answers])
    is_wrong = (true > 0) != (found > 0.5)  # as `BinaryAccuracy` has it
    wrong = {
        int(row): (abs(found[row] - 0.5), {"label": float(true[row]), "predicted": float(found[row])})
        for row in np.flatnonzero(is_wrong)
    }
    return {"binary_accuracy": float(1 - is_wrong.mean()), "worst": worst(texts, pairs, wrong)}


def choice_report(texts: Any, labels: Any, pairs: Any, answers: Answers) -> Report:
    """Return the accuracy of the choices, and the most confident wrong ones."""
    wrong = {}
    for row, (right, choices, answer) in enumerate(zip(labels, pairs, answers, strict=True)):
        if answer["choice"] != right:
            probability = answer["probabilities"][answer["choice"]]
            shown = {"label": choices[right], "predicted": choices[answer["choice"]], "probability": probability}
            wrong[row] = probability, shown
    return {"accuracy": 1 - len(wrong) / len(labels), "worst": worst(texts, None, wrong)}
