"""Rows of texts to score as TensorFlow ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.generation import prompts
from keras_transformers.generation.serving.graph_text import SourceReader
from keras_transformers.tasks.answers.score_rows import PROBLEMS, Plan, RowFacts, plan_rows
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.graph.compile import TextGraph
from keras_transformers.text.graph.streams.streams import keep
from keras_transformers.text.strings import BLANK


class GraphRows:
    """A reader of rows.

    Args:
        facts: Facts of the model.
        setup: Setup of the task.
        graph: Tokenizer of the rows.
    """

    def __init__(self, facts: RowFacts, setup: Setup, graph: TextGraph):
        self.facts, self.graph = facts, graph
        if facts.is_target:
            self.sources = SourceReader(setup.config, setup.text_graph, setup.max_length)

    def __call__(self, texts: tf.Tensor, continuations: tf.Tensor) -> dict[str, Any]:
        """Return the rows of texts (B,) and their continuations (B,), "" for none.

        Returns:
            int32 `token_ids` (B, T), `lengths`, `num_scored`, `problem` (B,), `columns` (M,), from 0 to the most scored
            tokens of a row; bool `truncated` (B,); and the inputs of an encoder.
        """
        if self.facts.is_target:
            read = self.sources(texts, tf.zeros_like(texts, tf.int32), tf.fill(tf.shape(texts), ""))
            whole, alone = self.graph.tokenize(continuations), tf.zeros_like(texts, tf.bool)
            plan = plan_rows(self.facts, _lengths(whole), tf.zeros_like(texts, tf.int32), alone)
            problem = tf.where(read.error != "", PROBLEMS.index(prompts.NOTHING), plan.problem)
            return self._padded(whole, plan._replace(problem=problem, truncated=read.truncated)) | read.source
        alone = continuations == ""
        whole = self.graph.tokenize(tf.strings.join([texts, continuations]))
        # Whitespace at the end of a prompt belongs to the continuation, as most tokens begin with it.
        given = tf.strings.regex_replace(texts, f"{BLANK}$", "", replace_global=False)
        given = _lengths(self.graph.tokenize(tf.where(alone, "", given)))
        return self._padded(whole, plan_rows(self.facts, _lengths(whole), given, alone))

    def _padded(self, whole: tf.RaggedTensor, plan: Plan) -> dict[str, tf.Tensor]:
        count, row = _lengths(whole), whole.value_rowids()
        place = tf.range(tf.size(whole.values)) - tf.cast(tf.gather(whole.row_splits, row), tf.int32)
        kept: Any = keep(whole, place >= tf.gather(count - plan.kept, row))

        has_lead = tf.cast(plan.has_lead, tf.int32)
        lead = tf.tile(tf.constant(self.facts.lead, tf.int32), [tf.reduce_sum(has_lead)])
        lead = tf.RaggedTensor.from_row_lengths(lead, has_lead * len(self.facts.lead), validate=False)
        rows = tf.concat([lead, kept.with_row_splits_dtype(tf.int32)], 1)
        lengths = tf.maximum(_lengths(rows), 1)
        token_ids = tf.pad(rows.to_tensor(self.facts.fill_id), [[0, 0], [0, 1]], constant_values=self.facts.fill_id)
        return {
            "token_ids": token_ids[:, : tf.reduce_max(tf.concat([lengths, [1]], 0))],
            "lengths": lengths,
            "columns": tf.range(tf.reduce_max(tf.concat([plan.num_scored, [0]], 0)) + 1),
            **{name: getattr(plan, name) for name in ("num_scored", "problem", "truncated")},
        }


def _lengths(ids: tf.RaggedTensor) -> tf.Tensor:
    return tf.cast(ids.row_lengths(), tf.int32)
