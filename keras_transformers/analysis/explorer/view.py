"""The view that a user asks for by the fields of the form or the options of the command, and its page."""

from __future__ import annotations

from typing import NamedTuple

from keras_transformers.analysis.attention.ablation import parse_heads
from keras_transformers.analysis.explorer.page import page
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.run import Run, run
from keras_transformers.analysis.explorer.space import Space, space_of
from keras_transformers.tasks import Task

SENTENCE = "The cat sat on the mat because it was warm."
EXAMPLES = {
    "masked_lm": "He {mask} the door and went into the room.",
    "pretraining": "He {mask} the door and went into the room.",
    "causal_lm": "It was a dark night, and",
    "seq2seq_lm": "The cat danced.",
}
AMONG = """A cat was sleeping in the sun.
The dog ran after the ball.
She made tea in the kitchen.
It was cold outside, and it snowed.
The train was an hour late.
He read a book by the fire.
Kittens like warm places.
The meeting begins at nine."""


class View(NamedTuple):
    """The fields of the form.

    Args:
        text: The text to read.
        changed: The text with another word, to compare; empty for none.
        pair: A second text, if the task takes one; empty for none.
        without: Heads that are switched off, as `parse_heads` reads them.
        new_tokens, temperature, seed: As in `Request`.
        first_token: First token to show values for, in a long text.
        among: Texts to search in, one per line, if the task returns vectors; empty for none.
    """

    text: str
    changed: str = ""
    pair: str = ""
    without: str = ""
    new_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0
    first_token: int = 0
    among: str = ""

    @classmethod
    def of(cls, task: Task) -> View:
        """Return an example for a task."""
        text = EXAMPLES.get(task.name, SENTENCE)
        if "{mask}" in text:
            text = text.format(mask=task.tokenizer.id_to_token(task.tokenizer.mask_id))
        among = AMONG if "embed" in task.parts.attributes else ""
        return cls(text, pair=SENTENCE if task.kind.needs_pairs else "", among=among)

    def runs(self, task: Task) -> list[Run]:
        """Return the run of the text, and of the changed text if there is one.

        Raises:
            ValueError: As for `run`, or a head is not written as `parse_heads` reads it.
        """
        request = self.request(task)
        requests = [request, request._replace(text=self.changed).checked()] if self.changed else [request]
        return [run(task, each) for each in requests]

    def request(self, task: Task) -> Request:
        """Return the checked request for the text."""
        heads = tuple(parse_heads(self.without[:1000], task.config.kind))
        return Request(
            self.text, self.pair or None, heads, int(self.new_tokens), float(self.temperature), int(self.seed)
        ).checked()

    def space(self, task: Task) -> Space | None:
        """Return the search results for the text, or None if there are no texts to search in."""
        texts = [line for line in self.among.splitlines() if line.strip()]
        return space_of(task, self.text, texts) if texts else None

    def page(self, task: Task, title: str) -> str:
        """Return the document, as `page` builds it."""
        return page(title, self.runs(task), int(self.first_token), self.space(task))
