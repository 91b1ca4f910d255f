"""Text to text as TensorFlow functions: what `generate` calls is what `export` saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.beam import BeamSearch
from keras_transformers.generation.decode import UNFORCED, Choices, Decoder, Forced, Method, advance
from keras_transformers.generation.knobs import KNOBS, knobs_of, out_of_range
from keras_transformers.generation.projection import Projection
from keras_transformers.generation.prompt import EMPTY, NO_ROOM, NOTHING, TOO_MANY, begin_id, start_prompts
from keras_transformers.generation.sampling import sample
from keras_transformers.generation.spelling import Spelling, token_bytes
from keras_transformers.generation.stop import TOO_MUCH
from keras_transformers.generation.stream import pieces_of
from keras_transformers.generation.strings import Texts, stop_bytes
from keras_transformers.models.decoder import prefill, step
from keras_transformers.text.graph.streams import keep

ERRORS = [
    "",
    *[f"{name} must be in [{knob.low:g}, {knob.high:g}]." for name, knob in KNOBS.items()],
    NO_ROOM,
    EMPTY,
    NOTHING,
    TOO_MANY,
    TOO_MUCH,
]
TEXT, COUNT = tf.TensorSpec([None], tf.string, name="text"), tf.TensorSpec([], tf.int32)
STOP = tf.TensorSpec([None, None], tf.string, name="stop")
WANTED = {
    **{name: tf.TensorSpec([None], knob.dtype, name=name) for name, knob in KNOBS.items()},
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
        spelling: What each token adds to a text.
        max_length: Tokens of prompt and text together, at most.
        forced: Tokens that the checkpoint prescribes.

    Attributes:
        module: The weights and tables, to be saved.
    """

    has_source = False
    outputs: tuple[str, ...] = ()  # of a step, beside hidden states and cache

    def __init__(
        self, config: TransformerConfig, model: keras.Model, graph: Any, spelling: Spelling, max_length: int,
        forced: Forced = UNFORCED,
    ):  # fmt: skip
        self.config, self.graph, self.max_length = config, graph, max_length
        self.prefill, self._step = prefill(model), step(config, model, self.outputs, in_place=True)
        self.projection = Projection(config, model)
        self.texts = Texts(spelling, self.has_source)
        ids = (config.eos_ids, config.pad_id)
        self.decoder = Decoder(self._one_step, self.projection, *ids, token_bytes(spelling), forced)
        self._runs = {}  # traced functions, by number of beams
        self.errors = tf.constant([error.format(max_length=max_length) for error in ERRORS])
        self.module = tf.Module()
        self.module.graph = graph
        self.module.weights = [variable.value for variable in model.variables]
        self.module.projection = self.projection.matrix

    def _one_step(self, token_ids: tf.Tensor, places: tf.Tensor, cache: Any) -> tuple[tf.Tensor, Any]:
        outputs = self._step({"token_ids": token_ids, "cache_positions": places, "cache": cache})
        return outputs["hidden_states"][:, 0], outputs["cache"]

    def start(
        self, text: tf.Tensor, sequences: tf.Tensor, wanted: dict[str, Any], method: Method
    ) -> tuple[dict, Choices, dict]:
        """The state before the first token of each text, how it goes on, what to say of each row beside the text."""
        knobs = {name: x for name, x in wanted.items() if name in KNOBS}
        stops, too_much = stop_bytes(wanted["stop"])
        wrong = out_of_range(knobs) + 1
        wrong = tf.where((wrong == 0) & too_much, ERRORS.index(TOO_MUCH), wrong)
        knobs = {name: tf.where(wrong > 0, tf.cast(KNOBS[name].neutral, x.dtype), x) for name, x in knobs.items()}
        prompts, lengths, truncated, wrong, source = self._prompts(text, knobs["max_new_tokens"], wrong)
        limit = tf.where(wrong > 0, lengths, tf.minimum(lengths + knobs["max_new_tokens"], self.max_length))
        order = tf.repeat(tf.range(tf.size(text)), sequences)
        repeated = {name: tf.gather(x, order) for name, x in {**wanted, **knobs}.items() if name != "stop"}
        stops = tf.nest.map_structure(lambda x: tf.gather(x, order), stops)
        number = tf.tile(tf.range(sequences), tf.shape(lengths)[:1])
        choices = Choices(
            {name: repeated[name] for name in knobs}, stops, repeated["bias_ids"], repeated["bias_values"], number
        )
        state = start_prompts(
            self.prefill, method, self.decoder.growth, prompts, lengths, limit, choices, sequences, source=source
        )
        return state, choices, {"truncated": truncated, "error": tf.gather(self.errors, wrong)}

    def _prompts(self, text: tf.Tensor, new: tf.Tensor, wrong: tf.Tensor) -> tuple[Any, ...]:
        """Ids (B, P) and lengths of the prompts; too long ones lose their beginning, so that the new tokens fit in.

        Then whether they did, the number of the error, and what `start_prompts` takes for a source.
        """
        room = self.max_length - new - self._num_special
        wrong = tf.where((wrong == 0) & (room < 1), ERRORS.index(NO_ROOM), wrong)
        room = tf.maximum(room, 1)
        ids = self.graph.tokenize(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        row = ids.value_rowids()
        place = tf.range(tf.size(ids.values)) - tf.cast(tf.gather(ids.row_splits, row), tf.int32)
        ids = keep(ids, place >= tf.gather(lengths - room, row))
        encoded = self.graph.template(ids, None, self.max_length, self.config.pad_id)
        count = tf.reduce_sum(tf.cast(encoded["padding_mask"], tf.int32), 1)
        first = begin_id(self.config)
        if first is None:
            wrong = tf.where((wrong == 0) & (count == 0), ERRORS.index(EMPTY), wrong)
        begin = (count == 0)[:, None] & (tf.range(tf.shape(encoded["token_ids"])[1]) == 0)
        prompts = tf.where(begin, first or 0, encoded["token_ids"])
        return prompts, tf.maximum(count, 1), lengths > room, wrong, {}

    @property
    def _num_special(self) -> int:
        """Tokens that the tokenizer puts around a text."""
        return sum(len(what) for what, _ in self.graph.template.single if isinstance(what, list))

    def finish(self, state: dict[str, Any], rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Texts, their scores and numbers of tokens, each (B, rows of a prompt)."""
        text = tf.strings.unicode_transcode(self.texts(state), "UTF-8", "UTF-8", errors="replace")
        columns = {"generated_text": text, "score": state["score"], "num_tokens": state["new"]}
        return {name: tf.reshape(column, [-1, rows]) for name, column in columns.items()}

    def generate(
        self, text: tf.Tensor, sequences: tf.Tensor, wanted: dict[str, Any], num_beams: int = 1
    ) -> dict[str, tf.Tensor]:
        """Prompts to their continuations.

        Args:
            text: string (B,).
            sequences: int32, n texts for each prompt.
            wanted: The knobs, each (B,); `stop`, string (B, n), empty for none; `bias_ids` and `bias_values`, int32
                and float32 (B, n), -1 for no token.
            num_beams: With more than one, beam search: the `sequences` best of so many.

        Returns:
            `generated_text`, `score` (the sum of the log-probabilities; as `BeamSearch` says, of beams) and
            `num_tokens`, each (B, n); `truncated`, whether the prompt was cut at its beginning, and `error`, empty when
            all is well, both (B,).

        Raises:
            tf.errors.InvalidArgumentError: A column of `wanted` has more or fewer rows than there are texts.
        """
        method, rows = (BeamSearch(num_beams), num_beams) if num_beams > 1 else (sample, sequences)
        count, inputs = tf.size(text), tf.nest.map_structure(_one_at_least, _checked(text, wanted))
        state, choices, about = self.start(inputs[0], rows, inputs[1], method)
        state = advance(self.decoder, method, state, choices, self.max_length)
        columns = self.finish(state | state.get("hypotheses", {}), rows)
        columns = {name: x[:, :sequences] for name, x in columns.items()} | about
        return {name: x[:count] for name, x in columns.items()}

    def run(
        self, text: tf.Tensor, sequences: tf.Tensor, wanted: dict[str, Any], num_beams: int = 1
    ) -> dict[str, tf.Tensor]:
        """`generate`, traced once for each number of beams."""
        if num_beams not in self._runs:
            self._runs[num_beams] = tf.function(
                lambda text, sequences, wanted: self.generate(text, sequences, wanted, num_beams),
                input_signature=[TEXT, COUNT, self._wanted(num_beams)],
                autograph=False,
            )
        return self._runs[num_beams](text, sequences, wanted)

    def answer(
        self, texts: Sequence[str], sequences: int, wanted: dict[str, np.ndarray], num_beams: int = 1
    ) -> dict[str, list]:
        """Answers to texts as lists, by name; those of a row are lists with `sequences` > 1."""
        self.projection.refresh()
        columns = self.run(tf.constant(texts, tf.string), sequences, _tensors(wanted), num_beams)
        if sequences == 1:
            columns = {name: x[:, 0] if x.shape.rank == 2 else x for name, x in columns.items()}
        return {name: _decoded(column.numpy()).tolist() for name, column in columns.items()}

    def stream(self, text: str, wanted: dict[str, np.ndarray]) -> Iterator[str]:
        """One text, as it grows."""
        self.projection.refresh()
        state, choices, about = self._start(tf.constant([text]), 1, _tensors(wanted))
        if error := about["error"].numpy()[0].decode():
            raise ValueError(f"the text cannot be answered: {error}")

        def states():
            nonlocal state
            while not state["finished"].numpy()[0]:
                state = self._advance(state, choices)
                yield self.texts(state).numpy()[0]

        return pieces_of(states(), wanted["stop"][0])

    @cached_property
    def _start(self) -> Any:
        signature = [TEXT, COUNT, self._wanted(1)]
        return tf.function(lambda *inputs: self.start(*inputs, sample), input_signature=signature, autograph=False)

    @cached_property
    def _advance(self) -> Any:
        made = self._start.get_concrete_function().structured_outputs[:2]
        signature = tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), made)
        return tf.function(
            lambda state, choices: advance(self.decoder, sample, state, choices, 1),
            input_signature=signature,
            autograph=False,
        )

    def _wanted(self, num_beams: int) -> dict[str, tf.TensorSpec]:
        others = KNOBS.keys() - knobs_of(num_beams, self.has_source).keys()
        return {name: spec for name, spec in WANTED.items() if name not in others}

    def signatures(self, defaults: dict[str, np.ndarray], sequences: int, num_beams: int = 1) -> dict[str, Any]:
        """What an export answers: `serving_default`, and `generate`, which takes the knobs as inputs.

        Args:
            defaults: The request of `serving_default`, one row.
            sequences: Texts for each prompt.
            num_beams: As for `generate`.
        """
        names = list(knobs_of(num_beams, self.has_source))

        def answer(text, stop, **knobs):
            none = tf.fill([tf.size(text), 0], -1)
            wanted = {**knobs, "stop": stop, "bias_ids": none, "bias_values": tf.cast(none, tf.float32)}
            columns = self.run(text, sequences, wanted, num_beams)
            return {
                name: tf.squeeze(x, 1) if sequences == 1 and x.shape.rank == 2 else x for name, x in columns.items()
            }

        def serve(text):
            rows = {name: tf.repeat(x, tf.size(text), axis=0) for name, x in _tensors(defaults).items()}
            return answer(text, rows["stop"], **{name: rows[name] for name in names})

        def generate(text, stop, *knobs):
            return answer(text, stop, **dict(zip(names, knobs, strict=True)))

        return {
            "serving_default": tf.function(serve, input_signature=[TEXT], autograph=False),
            "generate": tf.function(
                generate, input_signature=[TEXT, *(WANTED[name] for name in ["stop", *names])], autograph=False
            ),
        }


def _checked(text: tf.Tensor, wanted: dict[str, Any]) -> tuple[tf.Tensor, dict[str, Any]]:
    """The inputs, after assertions that every option has one row for each text: `tf.gather` would read wrong rows."""
    checks = [
        tf.debugging.assert_equal(tf.shape(x)[0], tf.size(text), f"{name} must have one row for each text.")
        for name, x in wanted.items()
    ]
    with tf.control_dependencies(checks):
        return tf.nest.map_structure(tf.identity, (text, wanted))


def _one_at_least(column: tf.Tensor) -> tf.Tensor:
    """A column of no rows gets one that cannot be answered, as there is no maximum of nothing."""
    shape = tf.shape(column)
    spare = tf.concat([tf.cast(shape[:1] == 0, tf.int32), shape[1:]], 0)
    return tf.concat([column, tf.zeros(spare, column.dtype)], 0)


def _tensors(wanted: dict[str, np.ndarray]) -> dict[str, tf.Tensor]:
    return {name: tf.constant(column, WANTED[name].dtype) for name, column in wanted.items()}


def _decoded(column: np.ndarray) -> np.ndarray:
    return np.vectorize(bytes.decode, otypes=[object])(column) if column.dtype == object else column
