"""Answers by one pass on JAX: those of TensorFlow's graphs, from few programs, with the weights of the moment."""

from __future__ import annotations

import json

import keras
import pytest
import questions
import tiny
from arrays import randomize
from processes import run_on_jax

from keras_transformers.tasks import Task

TEXTS = ["a fine film", "", "a dull day " * 9, "song", "a fine", "a [MASK] film", "[MASK] [MASK] day [MASK]"]
TURNED = TEXTS[::-1]
CASES = [
    ("classification", {"labels": ["a", "b", "c"]}, None),
    ("classification", {"labels": ["a", "b"], "problem": "multi_label"}, TURNED),
    ("classification", {"labels": ["a"], "problem": "regression", "outputs": ["attention_scores"]}, None),
    ("token_classification", {"labels": ["O", "B-x", "I-x"]}, None),
    ("token_classification", {"labels": ["NOUN", "VERB"]}, None),
    ("sentence_embedding", {"outputs": ["hidden_states"]}, None),
    ("sentence_embedding", {"pooling": "first", "normalize": False}, TURNED),
    ("ranking", {}, TURNED),
    ("question_answering", {"max_windows": 3, "stride": 2}, [8 * f"{text} film. " for text in TURNED]),
    ("multiple_choice", {}, [["film", "day"], ["a"], ["a song", "b", "c"], ["day"], ["x", "y"], ["a b"], ["", "c"]]),
    ("masked_lm", {}, None),
    ("pretraining", {}, None),
]
SCRIPT = """
import tiny
from arrays import randomize
from keras_transformers.tasks import Task

def written(answers):
    return json.dumps(answers, default=lambda array: array.tolist())

cases, texts = json.loads(sys.argv[2])
answers = []
for name, options, pairs in cases:
    task = Task(name, tiny.config(), tiny.tokenizer(), **options)
    randomize(task.model)
    answers.append(written(task.predict(texts, pairs, batch_size=3)))
    (program,) = [each for each in task.service.programs.values() if each.num_programs]
    assert program.num_programs <= 4, name  # one length, three rows or one, and numbers of gaps or windows
    before = program.num_programs
    task.model.set_weights([0.5 * weight for weight in task.model.get_weights()])
    assert written(task.predict(texts, pairs, batch_size=3)) != answers[-1], name
    assert program.num_programs == before, name  # new weights need no new program
print(json.dumps([json.loads(answer) for answer in answers]))
"""


def flat(answer) -> tuple[list[float], list]:
    """The floats of an answer, and everything else, in order."""
    leaves = keras.tree.flatten(json.loads(json.dumps(answer, default=lambda array: array.tolist())))
    return [leaf for leaf in leaves if isinstance(leaf, float)], [
        leaf for leaf in leaves if not isinstance(leaf, float)
    ]


@pytest.mark.slow
def test_answers_of_all_tasks_on_jax():
    answers = json.loads(run_on_jax(SCRIPT, json.dumps([CASES, TEXTS])))
    for (name, options, pairs), found in zip(CASES, answers, strict=True):
        task = Task(name, tiny.config(), tiny.tokenizer(), **options)
        randomize(task.model)
        expected = task.predict(TEXTS, pairs, batch_size=3)
        for one, other in zip(found, expected, strict=True):
            (floats, others), (expected_floats, expected_others) = flat(one), flat(other)
            assert floats == pytest.approx(expected_floats, abs=1e-5), name
            assert others == expected_others, name


@pytest.mark.integration
def test_rows_are_rounded_up_but_for_whole_batches(monkeypatch):
    task, read = tiny.classifier(), []
    service = questions.Untraced(task)
    reader = service.reader
    monkeypatch.setattr(service, "reader", lambda texts, pairs=None: read.append(len(texts)) or reader(texts, pairs))
    for batch_size, count in [(None, 3), (None, 4), (3, 3), (6, 5), (8, 5), (6, 1)]:
        assert len(service.start("serving_default", [TEXTS[:count]], batch_size)()["label"]) == count
    assert read == [4, 4, 3, 6, 8, 1]


@pytest.mark.integration
def test_several_batches_are_started_before_the_first_is_waited_for(monkeypatch):
    task, events = questions.untraced(tiny.classifier()), []
    service = task.service
    begin = service.start

    def start(*arguments):
        events.append("start")
        finish = begin(*arguments)
        return lambda: events.append("finish") or finish()

    monkeypatch.setattr(service, "start", start)
    task.predict(TEXTS[:3], batch_size=1)
    assert events == ["start"] * 3 + ["finish"] * 3
