"""A model of extractive question answering small enough to train in a test: who is where, in texts of many people."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tiny

from keras_transformers.families import bert
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers.python_service import PythonService
from keras_transformers.tasks.answers.readers import PythonReader
from keras_transformers.text.strings import decoded
from keras_transformers.text.tokenizer import Tokenizer

PLACES = ("Oslo", "New York", "Rome", "Bonn")
QUESTIONS = [question for _ in PLACES for question in ("Who is it?", "Where is it?")]
CONTEXTS = [text for place in PLACES for text in (f"Ann sat in {place}.", f"He sat in {place}.")]
# "Who" is the first word, "where" is what follows "in".
ANSWERS = [
    (0, context.split()[0]) if "Who" in question else (context.index("in ") + 3, context[context.index("in ") + 3 : -1])
    for question, context in zip(QUESTIONS, CONTEXTS, strict=True)
]
TEXTS = [text for _, text in ANSWERS]
FIT = tiny.FIT | {"epochs": 15, "learning_rate": 1e-2, "pairs": CONTEXTS}


def as_dict(start: int, text: str) -> dict[str, list]:
    """An answer as data sets of Hugging Face have it."""
    return {"text": [text], "answer_start": [start]}


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train([*QUESTIONS, *CONTEXTS], vocabulary_size=80)


def answerer(max_length: int = 24, **options: Any) -> Task:
    keras.utils.set_random_seed(0)
    config = bert(
        tokenizer().vocabulary_size, num_layers=1, num_heads=2, hidden_dim=32, max_length=max_length, dropout=0.0,
        attention_dropout=0.0, initializer_range=0.2,
    )  # fmt: skip
    return Task("question_answering", config, tokenizer(), **options)


class Untraced(PythonService):
    """The functions of a task as they are: tracing them takes seconds."""

    def __init__(self, task: Task):
        answers = task.parts.answers
        super().__init__(answers.model, answers.signatures, PythonReader(answers.setup, bucketed=True))

    def start(self, *arguments: Any) -> Callable[[], dict[str, np.ndarray]]:
        finish = super().start(*arguments)
        return lambda: {name: decoded(column) for name, column in finish().items()}


def untraced(task: Task) -> Task:
    """The task, answering without a trace, by its reader in Python."""
    task.parts.answers.make_service = lambda: Untraced(task)
    return task


def squad(questions: list[str] = QUESTIONS, contexts: list[str] = CONTEXTS, answers: list = ANSWERS) -> dict[str, Any]:
    """The content of a file in the format of SQuAD."""
    paragraphs = [
        {
            "context": context,
            "qas": [
                {
                    "id": f"q{number}",
                    "question": question,
                    "answers": [{"text": answer[1], "answer_start": answer[0]}] if answer else [],
                    "is_impossible": answer is None,
                }
            ],
        }
        for number, (question, context, answer) in enumerate(zip(questions, contexts, answers, strict=True))
    ]
    return {"version": "v2.0", "data": [{"title": "Places", "paragraphs": paragraphs}]}


def write_squad(path: Path, **columns: Any) -> str:
    path.write_text(json.dumps(squad(**columns), ensure_ascii=False), encoding="utf-8")
    return str(path)
