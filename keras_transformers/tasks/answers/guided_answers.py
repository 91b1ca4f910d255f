"""Answers that match a regular expression or a JSON schema: token by token in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keras import ops

from keras_transformers.generation.guided import Grammar
from keras_transformers.generation.prompts import check_answer
from keras_transformers.generation.request import Request
from keras_transformers.generation.stream import pieces_of
from keras_transformers.tasks.answers.services import check_compiled
from keras_transformers.tasks.answers.writing_setup import WritingSetup
from keras_transformers.training.workers.distribute import on_tensorflow

REFUSED = ("choices", "stop", "num_beams", "num_sequences", "prompt_lookup", "draft", "min_new_tokens")
NEUTRAL: tuple[Any, ...] = (None, 1, (), [])


def make_grammar(
    writing: WritingSetup, pattern: str | None, json_schema: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> Grammar | None:
    """Return the grammar of a call; None if it has none.

    Args:
        writing: The task's answers.
        pattern, json_schema: As for `Grammar`.
        options: Options of the call by name, of which some are refused beside a grammar.

    Raises:
        ValueError: As for `Grammar`, or an option contradicts it.
    """
    if on_tensorflow():
        check_compiled(writing.compiled, options.get("prompt_lookup"), options.get("draft"))
    if pattern is None and json_schema is None:
        return None
    if given := [name for name in REFUSED if options.get(name) not in NEUTRAL]:
        name = "json_schema" if pattern is None else "pattern"
        raise ValueError(
            f"{name} is followed token by token, by one text: received {', '.join(given)} too. Leave it out."
        )
    if on_tensorflow() and writing.compiled:
        raise ValueError("a grammar is followed token by token, in Python: set task.compiled = False.")
    return Grammar(writing.setup.config, writing.spelling, pattern, json_schema)


def answer_guided(service: Any, texts: list[str], request: Request, form: str, grammar: Grammar) -> dict[str, list]:
    """Return the outputs for texts as lists, by name, as `answer` of a service does.

    Args:
        service: Service that generates.
        texts: B texts.
        request: Request of B rows.
        form: Form of the texts.
        grammar: Grammar of the new texts.
    """
    state, rows, columns = service.begin(texts, request, form)
    guide = grammar.guide(len(state.finished))
    for each in guide.states(service, state, rows):
        state = each
    new = [content.decode("utf-8", "replace") for content in service.contents(state)]
    score, count = (ops.convert_to_numpy(column).tolist() for column in (state.score, state.num_new))
    written = {"generated_text": new, "score": score, "num_tokens": count}
    written = {name: column[: len(texts)] for name, column in written.items()}
    return {**written, **columns, "error": guide.told(columns["error"])}


def stream_guided(service: Any, text: str, request: Request, form: str, grammar: Grammar) -> Iterator[str]:
    """Yield one text piece by piece, as `stream` of a service does.

    Args:
        service, request, form, grammar: As for `answer_guided`.
        text: The prompt.

    Raises:
        ValueError: No text can be generated.
    """
    state, rows, columns = service.begin([text], request, form)
    check_answer(columns["truncated"][0], columns["error"][0], service.readers[form].max_length)
    guide = grammar.guide(len(state.finished))
    return pieces_of((service.contents(each)[0] for each in guide.states(service, state, rows)), 0)
