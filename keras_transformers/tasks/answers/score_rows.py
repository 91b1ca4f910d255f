"""Rows of texts to score: which of their tokens are kept, and which are scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformers.data.batches.batching import bucket
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.generation import prompts
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.end_token import tokens_around
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.tensor_types import Tensor

NOTHING_ADDED = "The continuation adds no token to the prompt."
NOTHING_SCORED = "No token of the text has another one before it: there is nothing to score."
TOO_LONG = "The continuation, with a token before it, exceeds the {max_length} tokens of the model."
PROBLEMS = (NOTHING_ADDED, NOTHING_SCORED, TOO_LONG, prompts.EMPTY, prompts.NOTHING)


class RowFacts(NamedTuple):
    """The facts of a model by which rows are laid out.

    Args:
        lead: Tokens before a text.
        always: Whether every text gets them; otherwise only a continuation without a prompt.
        max_length: Tokens of a row, at most.
        is_target: Whether the rows are targets, which are continuations without a prompt: an encoder reads the texts.
        fill_id: Id that rows are padded with.
    """

    lead: tuple[int, ...]
    always: bool
    max_length: int
    is_target: bool
    fill_id: int

    @classmethod
    def of(cls, setup: Setup, target: Tokenizer) -> RowFacts:
        """Return the facts of a task, whose targets, or texts, `target` reads."""
        config, before = setup.config, tokens_around(target)[0]
        if config.kind == "encoder_decoder":
            lead = (prompts.decoder_start_id(config), *before)
            return cls(lead, True, prompts.longest_text(config, setup.max_length), True, config.fill_id)
        begin = prompts.begin_id(config)
        lead = tuple(before) or (() if begin is None else (begin,))
        return cls(lead, bool(before), setup.max_length, False, config.fill_id)


class Plan(NamedTuple):
    """A plan of B rows: the tokens of each."""

    has_lead: Tensor  # boolean (B,), whether the row begins with the lead
    kept: Tensor  # int32 (B,), tokens of the text that are kept, from its end
    num_scored: Tensor  # int32 (B,), tokens that are scored, the last ones; 0 beside a problem
    problem: Tensor  # int32 (B,), number in `PROBLEMS`; -1 for none
    truncated: Tensor  # boolean (B,), whether tokens were cut


def plan_rows(facts: RowFacts, count: Tensor, given: Tensor, alone: Tensor) -> Plan:
    """Return a plan.

    Args:
        facts: Facts of the model.
        count: int32 (B,), tokens of prompt and continuation.
        given: int32 (B,), tokens of the prompt, which are not scored.
        alone: Boolean (B,), whether there is no continuation: the text itself is scored.
    """
    has_lead = ops.logical_or(ops.logical_and(ops.logical_not(alone), given == 0), facts.always)
    has_lead = ops.logical_and(has_lead, bool(facts.lead))
    room = facts.max_length - ops.where(has_lead, len(facts.lead), 0)
    kept = ops.minimum(count, room)
    most = ops.where(has_lead, kept, kept - 1)  # tokens with another one before them
    wanted = ops.where(alone, most, count - given)

    problem = ops.where(count > room, PROBLEMS.index(TOO_LONG), PROBLEMS.index(prompts.EMPTY))
    problem = ops.where(wanted > most, problem, -1)
    nothing = ops.where(alone, PROBLEMS.index(NOTHING_SCORED), PROBLEMS.index(NOTHING_ADDED))
    problem = ops.where(wanted < 1, nothing, problem)
    return Plan(has_lead, kept, ops.where(problem < 0, wanted, 0), problem, count > room)


class PythonRows:
    """A reader of rows in Python; sizes are rounded up to buckets.

    Args:
        facts: Facts of the model.
        setup: Setup of the task.
        target: Tokenizer of the rows.
    """

    def __init__(self, facts: RowFacts, setup: Setup, target: Tokenizer):
        self.facts, self.setup, self.target = facts, setup, target

    def __call__(self, texts: Sequence[str], continuations: Sequence[str]) -> dict[str, Any]:
        """Return the rows of B texts and their continuations, "" for none, as `GraphRows` does."""
        if self.facts.is_target:
            source, cut, is_blank = self._sources(texts)
            whole, given = self._ids(continuations), np.zeros(len(texts), np.int32)
            alone = np.zeros(len(texts), bool)
        else:
            alone = np.array([not continuation for continuation in continuations])
            whole = self._ids([text + more for text, more in zip(texts, continuations, strict=True)])
            prompt_texts = [text.rstrip() if more else "" for text, more in zip(texts, continuations, strict=True)]
            given = np.array([len(ids) for ids in self._ids(prompt_texts)], np.int32)
        plan = plan_rows(self.facts, np.array([len(ids) for ids in whole], np.int32), given, alone)
        plan = Plan(*(ops.convert_to_numpy(column) for column in plan))
        if self.facts.is_target:
            problem = np.where(is_blank, PROBLEMS.index(prompts.NOTHING), plan.problem)
            plan = plan._replace(problem=problem, truncated=cut)
        return self._padded(whole, plan) | (source if self.facts.is_target else {})

    def _padded(self, whole: list[list[int]], plan: Plan) -> dict[str, Any]:
        ids = [
            [*(self.facts.lead if has_lead else ()), *row[len(row) - kept :]] or [self.facts.fill_id]
            for row, has_lead, kept in zip(whole, plan.has_lead, plan.kept, strict=True)
        ]
        rows = Ragged.of(ids)
        width = bucket(int(rows.lengths.max()), self.facts.max_length)
        columns = bucket(int(plan.num_scored.max()) + 1, self.facts.max_length + 1)
        return {
            "token_ids": rows.padded(width, self.facts.fill_id),
            "lengths": rows.lengths.astype(np.int32),
            "columns": np.arange(columns, dtype=np.int32),
            **{name: getattr(plan, name) for name in ("num_scored", "problem", "truncated")},
        }

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [row.ids for row in self.target.encode(texts, special_tokens=False)]

    def _sources(self, texts: Sequence[str]) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        """Return the inputs of the encoder, which texts were cut, and which are blank."""
        from keras_transformers.generation.python_text import SourceReader

        reader = SourceReader(self.setup.config, self.setup.tokenizer, self.setup.max_length)
        read = reader(texts, np.zeros(len(texts), np.int32))
        return read.source, read.truncated, read.error != ""
