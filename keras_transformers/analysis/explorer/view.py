"""What a user typed, from the fields of a form or the options of a command to a page."""

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
    """What is to be shown.

    Args:
        text: To read.
        changed: The same with another word, to compare; empty for none.
        pair: A second text, where the task takes one; empty for none.
        without: Heads that are off, as `parse_heads` reads them.
        new_tokens, temperature, seed: As in `Request`.
        first_token: Of a long text, the first token whose numbers are shown.
        among: Texts to search for the text in, one a line, where the task gives vectors; empty for none.
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
        """Return the text, and the changed one if there is one, through a model.

        Raises:
            ValueError: As for `run`, or a head is not written as `parse_heads` reads it.
        """
        request = self.request(task)
        requests = [request, request._replace(text=self.changed).checked()] if self.changed else [request]
        return [run(task, each) for each in requests]

    def request(self, task: Task) -> Request:
        """Return what is to be read of the text, checked."""
        heads = tuple(parse_heads(self.without[:1000], task.config.kind))
        return Request(
            self.text, self.pair or None, heads, int(self.new_tokens), float(self.temperature), int(self.seed)
        ).checked()

    def space(self, task: Task) -> Space | None:
        """Return the search for the text, if there are texts to search in."""
        texts = [line for line in self.among.splitlines() if line.strip()]
        return space_of(task, self.text, texts) if texts else None

    def page(self, task: Task, title: str) -> str:
        """Return a document, as `page` makes it."""
        return page(title, self.runs(task), int(self.first_token), self.space(task))
