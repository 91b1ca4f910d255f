"""A run that continues the training of a model on the user's text, with half the learning rate of a new model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.corpus_run import CorpusRun
from zoo.scratch.kept_plan import Plan
from zoo.scratch.new_models import MODELS
from zoo.scratch.new_vocabulary import check_sentinels
from zoo.scratch.origin import Origin
from zoo.scratch.run_plan import ending_of, make_plan, suited_rows, with_rows
from zoo.scratch.run_settings import FurtherSettings

if TYPE_CHECKING:
    from keras_transformers.tasks import Task

PASSES = 3.0  # over the text, where nothing says how long to train
# Of the peak of a new model of this width. Measured on 300 kB of Shakespeare, perplexity of held-out text with a
# quarter, half and all of it: gpt_mini_en (172 before) 36.9, 31.7, 29.7 after 60 steps, 28.1, 26.4, 27.0 after 200,
# where all of it learns the text by heart; mini_bert_en (151 before) 77.3, 62.9, 56.3 after 60.
RATE = 0.5


class FurtherRun(CorpusRun):
    """A run that continues the training of a model on text.

    Args:
        settings: The user's settings.

    Raises:
        ValueError: As for `Origin`; a new token is in the vocabulary; or rows are longer than the model takes.
    """

    remedies: ClassVar[Mapping[str, str]] = {
        "size": "Give fewer --epochs, or more text.",
        "unknown": "Add the important ones with --add-tokens FILE, or train a new model with a new vocabulary.",
        "lost": "That is how this model reads; a new model (--model) may have another vocabulary.",
    }

    def __init__(self, settings: FurtherSettings):
        self.start, self.new_tokens = Origin(settings.start), list(settings.add_tokens)
        self.wanted, family = MODELS[self.start.learns.like], self.start.config.family
        self.model = "lstm" if family == "recurrent" else family
        most = self.start.most_tokens
        if (settings.max_length or 0) > most:
            raise ValueError(
                f"{settings.start} takes {most} tokens at most: received --max-length {settings.max_length}."
            )
        self.max_length = settings.max_length or min(self.wanted.max_length, most)
        tokenizer = self.tokenizer  # what it lacks, and its new tokens, are checked before the text is read
        if self.start.learns.hides_spans:
            check_sentinels(tokenizer, self.max_length, f"the tokenizer of {settings.start}")
        super().__init__(settings)
        self.check_amount()

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, with the new tokens."""
        tokenizer = self.start.checkpoint.tokenizer
        return tokenizer.with_tokens(self.new_tokens) if self.new_tokens else tokenizer

    @property
    def end_id(self) -> int | None:
        """Return the token behind each document."""
        return self.start.end_id

    def task(self, size: tuple[int, int, int], dropout: float, dtype: str) -> Task:
        """Return the trained model, with rows for the new tokens."""
        from keras_transformers.tasks.new_tokens import add_tokens
        from zoo.loading.load import load

        settings = self.settings
        task = load(
            self.start.name, self.start.learns.name, dtype=dtype, max_length=self.max_length, dropout=dropout,
            strategy=self.strategy, seed=settings.seed,
        )  # fmt: skip
        return add_tokens(task, self.new_tokens) if self.new_tokens else task

    def restore(self, task: Task, plan: Plan) -> None:
        """Give the task the dropout and the longest text of the model that it was."""
        sizes = {name: getattr(task.config, name) for name in ("vocabulary_size", "encoder_vocabulary_size")}
        task.config = dataclasses.replace(self.start.config, **sizes)
        task.max_length = self.start.max_length

    def new_plan(self, rows: int, held_out_rows: int) -> Plan:
        """Return a plan for the model, with what it has on held-out text before any step."""
        settings, config = self.settings, self.start.config
        size = (config.num_layers, config.num_heads, config.hidden_dim)
        task, title = self.task(size, 0.0, self.dtype), ", before any step"
        before = self.held_out_figures(task, title) if settings.hours is None else {}
        measured = self.time_left.measure(self.measured, task, size)
        rows_a_step = suited_rows(settings, measured, self.replicas)
        candidate = with_rows(measured, rows_a_step, partial(self.measured, task, size), self.time_left)
        if not before:  # on as much of the text as there is time for, and with the weights that have not changed
            final_rows = ending_of(settings, candidate, held_out_rows)[0]
            before = self.held_out_figures(self.task(size, 0.0, self.dtype), title, final_rows)
        if not any((settings.hours, settings.steps, settings.epochs)):
            settings = dataclasses.replace(settings, epochs=PASSES)
        rate = settings.learning_rate or RATE * self.wanted.learning_rate(config.hidden_dim)
        settings = dataclasses.replace(settings, learning_rate=rate)
        plan = make_plan(settings, candidate, rows, held_out_rows, self.max_length, self.time_left)
        return dataclasses.replace(plan, start_perplexity=before["perplexity"])

    def facts(self) -> dict[str, str]:
        """Return what the model was, and what becomes of it."""
        facts = {"started from": self.start.name, "licence of the start": self.start.licence}
        facts["result"] = self.start.result
        if self.new_tokens:
            facts["new tokens"] = f"{len(self.new_tokens):,}: {', '.join(self.new_tokens[:5])}" + (
                ", ..." if len(self.new_tokens) > 5 else ""
            )
        return facts

    def notes(self) -> list[str]:
        """Return the warning that an output layer is not trained yet."""
        if self.start.has_head:
            return []
        return [
            f"{self.start.name} has no output layers of a masked language model: they start afresh, so that the "
            "perplexity before any step is no better than a guess, and a part of the training goes to them."
        ]

    def finetune_options(self) -> str:
        """Return the task that the model was made for, if it is another."""
        from keras_transformers.tasks.contract.kind import LABELLED

        made_for = self.start.made_for_another
        return f" --task {made_for}" if made_for not in (None, LABELLED) else ""
