"""Text to text as TensorFlow functions: what `generate` calls is what `export` saves."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.decode import Choices, Decoder, advance
from keras_transformers.generation.knobs import KNOBS, out_of_range
from keras_transformers.generation.projection import Projection
from keras_transformers.generation.prompt import start_prompts
from keras_transformers.generation.stop import StopStrings, byte_table
from keras_transformers.models.decoder import prefill, step
from keras_transformers.text.graph.streams import keep

ERRORS = [
    "",
    *[f"{name} must be in [{knob.low:g}, {knob.high:g}]." for name, knob in KNOBS.items()],
    "max_new_tokens leaves no room for a prompt: the model takes {max_length} tokens in all.",
    "The prompt is empty, and the model has no token that texts begin with.",
]
NO_ROOM, EMPTY = len(ERRORS) - 2, len(ERRORS) - 1
TEXT, COUNT = tf.TensorSpec([None], tf.string, name="text"), tf.TensorSpec([], tf.int32)
KNOB_SPECS = {name: tf.TensorSpec([None], knob.dtype, name=name) for name, knob in KNOBS.items()}
STOP = tf.TensorSpec([None, None], tf.string, name="stop")
WANTED = {
    **KNOB_SPECS,
    "stop": STOP,
    "bias_ids": tf.TensorSpec([None, None], tf.int32),
    "bias_values": tf.TensorSpec([None, None], tf.float32),
}


class GenerationService:
    """A causal language model that takes prompts and gives their continuations.

    Args:
        config: Of the model.
        model: A model made from `models.decoder`, with a `language_model_head` where it is not tied.
        graph: The tokenizer as TensorFlow ops.
        token_bytes: What each token adds to a text.
        max_length: Tokens of prompt and text together, at most.

    Attributes:
        module: The weights and tables, to be saved.
    """

    def __init__(
        self, config: TransformerConfig, model: keras.Model, graph: Any, token_bytes: Sequence[bytes], max_length: int
    ):
        self.config, self.graph, self.max_length = config, graph, max_length
        self.prefill, self._step = prefill(model), step(config, model)
        self.projection = Projection(config, model)
        ends = set(config.eos_ids)
        spelled = [b"" if number in ends else content for number, content in enumerate(token_bytes)]
        spelled += [b""] * (config.vocabulary_size - len(spelled))  # a model may have more rows than tokens
        self.pieces = tf.constant(spelled)
        self.decoder = Decoder(
            self._one_step, self.projection, config.eos_ids, config.pad_id, tf.constant(byte_table(spelled))
        )
        self.run = tf.function(self.generate, input_signature=[TEXT, COUNT, WANTED], autograph=False)
        self.errors = tf.constant([error.format(max_length=max_length) for error in ERRORS])
        self.module = tf.Module()
        self.module.graph = graph
        self.module.weights = [variable.value for variable in model.variables]
        self.module.projection = self.projection.matrix

    def _one_step(self, token_ids: tf.Tensor, places: tf.Tensor, cache: Any) -> tuple[tf.Tensor, Any]:
        outputs = self._step({"token_ids": token_ids, "cache_positions": places, "cache": cache})
        return outputs["hidden_states"][:, 0], outputs["cache"]

    def start(self, text: tf.Tensor, sequences: tf.Tensor, wanted: dict[str, Any]) -> tuple[dict, Choices, dict]:
        """The state after the first token of each text, how it goes on, and what to say of each row beside the text."""
        knobs = {name: wanted[name] for name in KNOBS}
        wrong = out_of_range(knobs) + 1
        knobs = {name: tf.where(wrong > 0, tf.cast(KNOBS[name].neutral, x.dtype), x) for name, x in knobs.items()}
        prompts, lengths, truncated, wrong = self._prompts(text, knobs["max_new_tokens"], wrong)
        limit = tf.where(wrong > 0, lengths, tf.minimum(lengths + knobs["max_new_tokens"], self.max_length))
        repeated = {name: tf.repeat(x, sequences, axis=0) for name, x in {**wanted, **knobs}.items()}
        stops = _stop_bytes(repeated["stop"])
        number = tf.tile(tf.range(sequences), tf.shape(lengths)[:1])
        choices = Choices(
            {name: repeated[name] for name in KNOBS}, stops, repeated["bias_ids"], repeated["bias_values"], number
        )
        state = start_prompts(self.decoder, self.prefill, prompts, lengths, limit, choices, sequences)
        return state, choices, {"truncated": truncated, "error": tf.gather(self.errors, wrong)}

    def _prompts(self, text: tf.Tensor, new: tf.Tensor, wrong: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Ids (B, P) and lengths of the prompts; too long ones lose their beginning, so that the new tokens fit in."""
        special = sum(len(what) for what, _ in self.graph.template.single if isinstance(what, list))
        room = self.max_length - new - special
        wrong = tf.where((wrong == 0) & (room < 1), NO_ROOM, wrong)
        room = tf.maximum(room, 1)
        ids = self.graph.tokenize(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        place = tf.range(tf.size(ids.values)) - tf.cast(tf.gather(ids.row_splits, ids.value_rowids()), tf.int32)
        ids = keep(ids, place >= tf.gather(lengths - room, ids.value_rowids()))
        encoded = self.graph.template(ids, None, self.max_length, self.config.pad_id)
        count = tf.reduce_sum(tf.cast(encoded["padding_mask"], tf.int32), 1)
        first = self.config.bos_id if self.config.bos_id is not None else next(iter(self.config.eos_ids), None)
        if first is None:
            wrong = tf.where((wrong == 0) & (count == 0), EMPTY, wrong)
        begin = (count == 0)[:, None] & (tf.range(tf.shape(encoded["token_ids"])[1]) == 0)
        prompts = tf.where(begin, first or 0, encoded["token_ids"])
        return prompts, tf.maximum(count, 1), lengths > room, wrong

    def finish(self, state: dict[str, Any], sequences: tf.Tensor) -> dict[str, tf.Tensor]:
        """Texts, their scores and numbers of tokens, each (B, n)."""
        text = tf.strings.unicode_transcode(self._content(state), "UTF-8", "UTF-8", errors="replace")
        columns = {"generated_text": text, "score": state["score"], "num_tokens": state["new"]}
        return {name: tf.reshape(column, [-1, sequences]) for name, column in columns.items()}

    def _content(self, state: dict[str, Any]) -> tf.Tensor:
        """The bytes of each text, before its stop string."""
        places = tf.range(tf.shape(state["token_ids"])[1])
        begin = state["lengths"] - state["new"]
        is_new = (places >= begin[:, None]) & (places < state["lengths"][:, None])
        pieces = tf.where(is_new, tf.gather(self.pieces, state["token_ids"]), "")
        kept = state["kept_bytes"]
        return tf.strings.substr(tf.strings.reduce_join(pieces, 1), tf.zeros_like(kept), kept)

    def generate(self, text: tf.Tensor, sequences: tf.Tensor, wanted: dict[str, Any]) -> dict[str, tf.Tensor]:
        """Prompts to their continuations.

        Args:
            text: string (B,).
            sequences: int32, n texts for each prompt.
            wanted: The `KNOBS`, each (B,); `stop`, string (B, n), empty for none; `bias_ids` and `bias_values`, int32
                and float32 (B, n), -1 for no token.

        Returns:
            `generated_text`, `score` (the sum of the log-probabilities) and `num_tokens`, each (B, n); `truncated`,
            whether the prompt was cut at its beginning, and `error`, empty when all is well, both (B,).
        """
        state, choices, about = self.start(text, sequences, wanted)
        state = advance(self.decoder, state, choices, self.max_length)
        return {**self.finish(state, sequences), **about}

    def answer(self, texts: Sequence[str], sequences: int, wanted: dict[str, np.ndarray]) -> dict[str, list]:
        """Answers to texts as lists, by name; those of a row are lists with `sequences` > 1."""
        self.projection.refresh()
        columns = self.run(tf.constant(texts, tf.string), sequences, _tensors(wanted))
        if sequences == 1:
            columns = {name: x[:, 0] if x.shape.rank == 2 else x for name, x in columns.items()}
        return {name: _decoded(column.numpy()).tolist() for name, column in columns.items()}

    def stream(self, text: str, wanted: dict[str, np.ndarray]) -> Iterator[str]:
        """One text, as it grows."""
        self.projection.refresh()
        state, choices, about = self._start(tf.constant([text]), 1, _tensors(wanted))
        if error := about["error"].numpy()[0].decode():
            raise ValueError(f"the text cannot be continued: {error}")
        # What may yet turn out to be the beginning of a stop string is held back.
        held = max([len(string) - 1 for string in wanted["stop"][0]], default=0)
        decoder, sent, finished = codecs.getincrementaldecoder("utf-8")("replace"), 0, False
        while not finished:
            finished = bool(state["finished"].numpy()[0])
            content = self._content(state).numpy()[0]
            until = len(content) if finished else max(sent, len(content) - held)
            if piece := decoder.decode(content[sent:until], finished):
                yield piece
            sent = until
            if not finished:
                state = self._advance(state, choices)

    @cached_property
    def _start(self) -> Any:
        return tf.function(self.start, input_signature=[TEXT, COUNT, WANTED], autograph=False)

    @cached_property
    def _advance(self) -> Any:
        return tf.function(
            lambda state, choices: advance(self.decoder, state, choices, 1), autograph=False, reduce_retracing=True
        )

    def signatures(self, defaults: dict[str, np.ndarray], sequences: int) -> dict[str, Any]:
        """What an export answers: `serving_default`, and `generate`, which takes the knobs as inputs.

        Args:
            defaults: The request of `serving_default`, one row.
            sequences: Texts for each prompt.
        """

        def answer(text, stop, **knobs):
            none = tf.fill([tf.size(text), 0], -1)
            wanted = {**knobs, "stop": stop, "bias_ids": none, "bias_values": tf.cast(none, tf.float32)}
            columns = self.run(text, sequences, wanted)
            return {
                name: tf.squeeze(x, 1) if sequences == 1 and x.shape.rank == 2 else x for name, x in columns.items()
            }

        def serve(text):
            rows = {name: tf.repeat(x, tf.size(text), axis=0) for name, x in _tensors(defaults).items()}
            return answer(text, rows["stop"], **{name: rows[name] for name in KNOBS})

        def generate(text, stop, *knobs):
            return answer(text, stop, **dict(zip(KNOBS, knobs, strict=True)))

        return {
            "serving_default": tf.function(serve, input_signature=[TEXT], autograph=False),
            "generate": tf.function(generate, input_signature=[TEXT, STOP, *KNOB_SPECS.values()], autograph=False),
        }


def _tensors(wanted: dict[str, np.ndarray]) -> dict[str, tf.Tensor]:
    return {name: tf.constant(column, WANTED[name].dtype) for name, column in wanted.items()}


def _decoded(column: np.ndarray) -> np.ndarray:
    return np.vectorize(bytes.decode, otypes=[object])(column) if column.dtype == object else column


def _stop_bytes(stop: tf.Tensor) -> StopStrings:
    """Strings (B, n) as bytes."""
    stop = tf.pad(stop, [[0, 0], [0, 1]], constant_values="")  # one at least
    lengths = tf.strings.length(stop)
    width = tf.maximum(tf.reduce_max(lengths), 1)
    return StopStrings(tf.cast(tf.io.decode_raw(stop, tf.uint8, fixed_length=width), tf.int32), lengths)
