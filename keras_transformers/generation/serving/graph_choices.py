"""Choices that each request brings, as TensorFlow ops: the signature `choose`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.request import Request
from keras_transformers.generation.serving.columns import TEXT, squeezed, tiled
from keras_transformers.generation.serving.graph_text import Writer, first_error, stop_bytes
from keras_transformers.generation.serving.service import GenerationService
from keras_transformers.generation.state import BEYOND, Written
from keras_transformers.generation.text_choices import NO_ID, ChoiceReader
from keras_transformers.text.graph.compile import TextGraph
from keras_transformers.text.strings import with_rows

CHOICES = tf.TensorSpec([None, None], tf.string, name="choices")
NONE = "choices holds no text for this row."
EQUAL = "Two choices are equal."
UNWRITTEN = "A choice cannot be written: the tokenizer spells it in another way."
TOO_LONG = "A choice exceeds the {room} tokens that the model takes beside a prompt and the end."
TOO_FEW = "There are fewer choices than sequences."


class GraphChoices:
    """The reader of the choices of each row, in the graph.

    Args:
        reader: The reader in Python.
        graph: The same tokenizer.
        room: Tokens of a choice, at most.
    """

    def __init__(self, reader: ChoiceReader, graph: TextGraph, room: int):
        self.reader, self.graph, self.room = reader, graph, room
        (self.before,) = reader.ids_behind("", [reader.anchor]) if reader.anchor else ([],)
        self.write = Writer(reader.spelling, begins=True)

    def __call__(self, choices: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the ids, int32 (B, n, L), and the errors, string (B,), of choices (B, n), empty for none."""
        is_choice = choices != ""  # (B, n)
        flat = tf.reshape(choices, [-1])
        ids = self.graph.tokenize(tf.strings.join([self.reader.anchor, flat])).to_tensor(NO_ID)  # (B * n, W)
        size = len(self.before)
        ids = tf.pad(ids, [[0, 0], [0, size + 1]], constant_values=NO_ID)
        is_behind = tf.reduce_all(ids[:, :size] == tf.constant(self.before, tf.int32), 1)
        ids = ids[:, size:]
        length = tf.reduce_sum(tf.cast(ids != NO_ID, tf.int32), 1)  # (B * n,)

        known = tf.maximum(ids, 0)
        spelled = self.write(Written(known, length, length, tf.fill(tf.shape(length), BEYOND), tf.zeros_like(length)))
        is_right = tf.reshape(is_behind & (spelled == flat) & (length > 0), tf.shape(choices)) | ~is_choice

        lead = tf.tile(tf.constant([self.reader.lead], tf.int32), [tf.size(flat), 1])
        ids = tf.concat([lead, ids], 1)
        ids = tf.reshape(ids, tf.concat([tf.shape(choices), tf.shape(ids)[1:]], 0))  # (B, n, L)
        fits = tf.reshape(length, tf.shape(choices)) + len(self.reader.lead) <= self.room
        error = self._errors(choices, is_choice, is_right, fits | ~is_choice)
        return tf.where((is_choice & (error == "")[:, None])[:, :, None], ids, NO_ID), error

    def _errors(self, choices: tf.Tensor, is_choice: tf.Tensor, is_right: tf.Tensor, fits: tf.Tensor) -> tf.Tensor:
        """Return the errors of rows, from checks of choices, boolean (B, n) each."""
        equal = (choices[:, :, None] == choices[:, None]) & is_choice[:, :, None]  # (B, n, n)
        has_equal = tf.reduce_sum(tf.cast(equal, tf.int32), [1, 2]) > tf.reduce_sum(tf.cast(is_choice, tf.int32), 1)
        error = first_error(tf.fill(tf.shape(choices)[:1], ""), ~tf.reduce_any(is_choice, 1), NONE)
        error = first_error(error, has_equal, EQUAL)
        error = first_error(error, ~tf.reduce_all(is_right, 1), UNWRITTEN)
        return first_error(error, ~tf.reduce_all(fits, 1), TOO_LONG.format(room=self.room))


def choose_signature(
    service: GenerationService, reader: GraphChoices, defaults: Request, sequences: int, decoding: Decoding
) -> Any:
    """Return the signature `choose`, from texts (B,) and choices (B, n), padded by empty ones, to one of them each.

    Args:
        service: Service that generates.
        reader: Reader of choices.
        defaults: The request, one row.
        sequences: Texts for each prompt.
        decoding: Decoding options.
    """

    def choose(text, choices):
        rows = tf.size(text)
        ids, error = reader(with_rows({"choices": choices}, rows)["choices"])
        counts = tf.reduce_sum(tf.cast(ids != NO_ID, tf.int32), 2)  # (B, n)
        if decoding.num_beams > 1:
            error = first_error(error, tf.reduce_sum(tf.cast(counts > 0, tf.int32), 1) < sequences, TOO_FEW)
        longest = tf.reduce_max(tf.pad(counts, [[0, 0], [0, 1]]), 1)  # (B,)
        request = tiled(defaults, rows)._replace(
            choices=ids, max_new_tokens=longest + 1, stop=stop_bytes(tf.fill([rows, 1], ""))[0]
        )
        return squeezed(service.run(text, error, sequences, request, decoding), sequences)

    return tf.function(choose, input_signature=[TEXT, CHOICES], autograph=False)
