"""Reports of a token classifier: scores by type of entity, or by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras_transformers.tasks.answers.wrong_answers import Answers, Report, Wrong, worst
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.tasks.tokens.token_targets import units_of
from keras_transformers.tasks.tokens.word_source import read_texts, token_source
from keras_transformers.training.metrics.class_scores import (
    class_scores,
    confusions,
    label_scores,
    macro_f1,
    total_scores,
)

Entity = tuple[int, int, str]  # the first word, the last word, the type


class Words(NamedTuple):
    """The words of a text that metrics count, their true classes, and the predicted ones."""

    texts: list[str]
    true: list[int]
    found: list[int]


def word_report(setup: Setup, labels: TokenLabels) -> Callable[..., Report]:
    """Return the report function of a token classifier, over the words that its metrics count.

    Args:
        setup: Setup of the task.
        labels: Labels of the task.
    """
    targets_of = token_source(setup, labels)

    def report(texts: Any, targets: Any, pairs: Any, answers: Answers) -> Report:
        rows = targets_of(texts, targets, None, shuffle=False).labels
        strings = read_texts(texts)[1]
        encoded = setup.tokenizer.encode(strings, max_length=setup.max_length)
        words = []
        for number, (units, answer) in enumerate(zip(units_of(encoded, strings), answers, strict=True)):
            numbers = rows[[number]].tokens()
            of_text = zip([numbers[unit.position] for unit in units], answer["tokens"], strict=True)
            counted = [
                (token["text"], int(true), labels.numbers[token["label"]]) for true, token in of_text if true >= 0
            ]
            words.append(Words(*map(list, zip(*counted, strict=True))) if counted else Words([], [], []))
        measured, wrong = (_of_entities if labels.scheme else _of_tags)(labels, words)
        return {"accuracy": _accuracy(words), **measured, "worst": worst(strings, None, wrong)}

    return report


def _accuracy(words: Sequence[Words]) -> float:
    right = [true == found for row in words for true, found in zip(row.true, row.found, strict=True)]
    return sum(right) / len(right) if right else float("nan")


def entities_of(classes: list[int], labels: TokenLabels) -> list[Entity]:
    """Return the entities of a text by the rules of conlleval, as `entity_metrics` counts them.

    Args:
        classes: Classes of its words.
        labels: Labels of the classes.

    Example:

    >>> entities_of([0, 1, 2, 0, 2], TokenLabels(("O", "B-x", "I-x")))
    [(1, 2, 'x'), (4, 4, 'x')]
    """
    outside, (starts, ends) = len(labels.names), labels.bounds
    before, after = [outside, *classes][: len(classes)], [*classes, outside][1:]
    first = [place for place, pair in enumerate(zip(before, classes, strict=True)) if starts[pair]]
    last = [place for place, pair in enumerate(zip(classes, after, strict=True)) if ends[pair]]
    return [(a, b, labels.parts[classes[a]][1]) for a, b in zip(first, last, strict=True)]


def _of_entities(labels: TokenLabels, words: Sequence[Words]) -> tuple[Report, Wrong]:
    correct, found, true = (Counter[str]() for _ in range(3))
    wrong = {}
    for row, text in enumerate(words):
        right, answered = (set(entities_of(classes, labels)) for classes in (text.true, text.found))
        for counts, entities in ((correct, right & answered), (found, answered), (true, right)):
            counts.update(kind for _, _, kind in entities)
        if right != answered:
            sides = (right - answered, answered - right)
            shown = [[_named(text, entity) for entity in sorted(side)] for side in sides]
            wrong[row] = _mistake(len(right ^ answered), *shown)
    by_type = [[of_type[kind] for kind in labels.types] for of_type in (correct, found, true)]
    scores = class_scores(labels.types, *by_type)
    return {**total_scores(*by_type), "macro_f1": macro_f1(scores), "classes": scores}, wrong


def _named(text: Words, entity: Entity) -> str:
    first, last, kind = entity
    return f"{' '.join(text.texts[first : last + 1])} [{kind}]"


def _of_tags(labels: TokenLabels, words: Sequence[Words]) -> tuple[Report, Wrong]:
    names, wrong = labels.names, {}
    for row, text in enumerate(words):
        others = [(word, a, b) for word, a, b in zip(*text, strict=True) if a != b]
        if others:
            shown = [
                [f"{word} [{names[a]}]" for word, a, _ in others],
                [f"{word} [{names[b]}]" for word, _, b in others],
            ]
            wrong[row] = _mistake(len(others), *shown)
    true = [number for text in words for number in text.true]
    found = [number for text in words for number in text.found]
    scores, table = label_scores(names, true, found), confusions(names, true, found)
    return {"macro_f1": macro_f1(scores), "classes": scores, "confusion": table}, wrong


def _mistake(number: int, label: list[str], predicted: list[str]) -> tuple[float, dict[str, Any]]:
    return number, {"label": label, "predicted": predicted, "wrong": number}
