"""Text in and out of generation as TensorFlow ops: readers, the writer, stop strings and requests from outside."""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation import prompts
from keras_transformers.generation.prompts import Prompts
from keras_transformers.generation.request import SAMPLING_PARAMETERS, Request, out_of_range, range_of
from keras_transformers.generation.spelling import Spelling
from keras_transformers.generation.state import Written
from keras_transformers.generation.stop import MOST_BYTES, MOST_STRINGS, TOO_MUCH, StopStrings
from keras_transformers.text.graph.compile import TextGraph
from keras_transformers.text.graph.streams.streams import keep
from keras_transformers.text.strings import BLANK, with_rows


class PromptReader:
    """A reader of prompts of a causal language model; too long ones lose their beginning, to fit the new tokens in.

    Args:
        config: Configuration of the model.
        graph: The tokenizer.
        max_length: Tokens of prompt and text together, at most.
    """

    is_cutting = True  # too long prompts; a `ChatReader` refuses them

    def __init__(self, config: TransformerConfig, graph: TextGraph, max_length: int):
        self.config, self.graph, self.max_length = config, graph, max_length
        self.longest = max_length

    def __call__(self, text: tf.Tensor, max_new_tokens: tf.Tensor, error: tf.Tensor) -> Prompts:
        """Return the prompts of text (B,), given `max_new_tokens` int32 (B,) and the errors so far, string (B,)."""
        room = self.max_length - max_new_tokens - num_special(self.graph)  # (B,)
        error = first_error(error, room < 1, prompts.NO_ROOM.format(max_length=self.max_length))
        ids, is_cut = self._cut(text, tf.maximum(room, 1))
        encoded = self.graph.template(ids, None, self.max_length, self.config.fill_id)
        count = tf.reduce_sum(tf.cast(encoded["padding_mask"], tf.int32), 1)  # (B,)

        first = prompts.begin_id(self.config)
        if first is None:
            error = first_error(error, count == 0, prompts.EMPTY)
        is_begin = (count == 0)[:, None] & (tf.range(tf.shape(encoded["token_ids"])[1]) == 0)  # (B, P)
        token_ids = tf.where(is_begin, first or 0, encoded["token_ids"])
        return Prompts(token_ids, tf.maximum(count, 1), {}, is_cut, error)

    def behind(self, prefix: tf.Tensor, text: tf.Tensor, max_new_tokens: tf.Tensor, error: tf.Tensor) -> Prompts:
        """Return the prompts of text (B,) behind a prefix, int32 (F,).

        They begin with the prefix's last token, and the tokenizer adds none; `lengths` are of prefix and prompt.
        """
        size = tf.size(prefix)
        room = self.max_length - max_new_tokens - size  # (B,)
        ids, is_cut = self._cut(text, tf.maximum(room, 1))
        error = first_error(error, room < 1, prompts.NO_ROOM.format(max_length=self.max_length))
        if not self.is_cutting:
            error = first_error(error, is_cut, prompts.TOO_LONG.format(max_length=self.max_length))
        token_ids = tf.concat(
            [tf.fill([tf.size(text), 1], prefix[-1]), ids.to_tensor(self.config.fill_id)], 1
        )  # (B, P)
        lengths = size + tf.cast(ids.row_lengths(), tf.int32)  # (B,)
        return Prompts(token_ids, lengths, {}, is_cut & self.is_cutting, error)

    def _cut(self, text: tf.Tensor, room: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Return the last ids of texts (B,) that fit in the room, int32 (B,), and whether some did not, (B,)."""
        ids = self.graph.tokenize(text)  # (B, None)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        row = ids.value_rowids()
        place = tf.range(tf.size(ids.values)) - tf.cast(tf.gather(ids.row_splits, row), tf.int32)
        return keep(ids, place >= tf.gather(lengths - room, row)), lengths > room


class ChatReader(PromptReader):
    """A reader of conversations, which a chat template has written as text: no tokens are added, none may be cut off.

    Args:
        config, graph, max_length: As for `PromptReader`.
    """

    is_cutting = False

    def __call__(self, text: tf.Tensor, max_new_tokens: tf.Tensor, error: tf.Tensor) -> Prompts:
        """Return the prompts of text (B,), given `max_new_tokens` int32 (B,) and the errors so far, string (B,)."""
        room = self.max_length - max_new_tokens  # (B,)
        ids, is_cut = self._cut(text, tf.maximum(room, 1))
        count = tf.cast(ids.row_lengths(), tf.int32)
        error = first_error(error, is_cut | (room < 1), prompts.TOO_LONG.format(max_length=self.max_length))
        error = first_error(error, count == 0, prompts.EMPTY)
        token_ids = ids.to_tensor(self.config.fill_id)  # (B, P)
        token_ids = tf.pad(token_ids, [[0, 0], [0, 1]], constant_values=self.config.fill_id)  # one token at least
        token_ids = token_ids[:, : tf.maximum(tf.reduce_max(count), 1)]
        return Prompts(token_ids, tf.maximum(count, 1), {}, tf.zeros_like(is_cut), error)


class SourceReader:
    """A reader of texts for the encoder, with the decoder's start token; too long texts are cut by the tokenizer.

    Args:
        config: Configuration of the model.
        graph: The tokenizer of what it reads.
        max_length: Tokens of a text, at most; on either side, where the model has a bound.
    """

    def __init__(self, config: TransformerConfig, graph: TextGraph, max_length: int):
        self.graph, self.max_length, self.start_id = graph, max_length, prompts.decoder_start_id(config)
        self.longest = prompts.longest_text(config, max_length)

    def __call__(self, text: tf.Tensor, max_new_tokens: tf.Tensor, error: tf.Tensor) -> Prompts:
        """Return the prompts of text (B,), given `max_new_tokens` int32 (B,) and the errors so far, string (B,)."""
        encoded = self.graph.encode(text, max_length=self.max_length)
        mask = tf.cast(encoded["padding_mask"], tf.int32)  # (B, S)
        source = {"encoder_token_ids": encoded["token_ids"], "encoder_padding_mask": mask}

        is_empty = tf.reduce_sum(mask, 1) <= num_special(self.graph)  # NFKC leaves nothing of some texts
        is_blank = tf.strings.regex_full_match(text, BLANK) | is_empty
        too_many = max_new_tokens >= self.longest
        error = first_error(error, is_blank, prompts.NOTHING)
        error = first_error(error, too_many, prompts.TOO_MANY.format(max_length=self.longest))

        token_ids = tf.fill([tf.size(text), 1], self.start_id)  # (B, 1)
        return Prompts(token_ids, tf.ones_like(token_ids[:, 0]), source, encoded["truncated"], error)


def num_special(graph: TextGraph) -> int:
    """Return the number of tokens that the tokenizer puts around a text."""
    return sum(len(ids) for ids, _ in graph.template.single if isinstance(ids, list))


def first_error(error: tf.Tensor, failed: tf.Tensor, message: str) -> tf.Tensor:
    """Return the errors (B,), with a message where a check has failed, boolean (B,), and none before it."""
    return tf.where(failed & (error == ""), message, error)


def stop_bytes(stop: tf.Tensor) -> tuple[StopStrings, tf.Tensor]:
    """Return strings (B, n), empty for none, as bytes; and which rows have too many or too long ones, boolean (B,).

    Those rows are left without stop strings.
    """
    lengths = tf.strings.length(stop)  # (B, n)
    count = tf.reduce_sum(tf.cast(lengths > 0, tf.int32), 1)
    too_much = (count > MOST_STRINGS) | tf.reduce_any(lengths > MOST_BYTES, 1)

    wanted = (lengths > 0) & ~too_much[:, None]
    stop = tf.ragged.boolean_mask(stop, wanted).to_tensor("")
    stop = tf.pad(stop, [[0, 0], [0, 1]], constant_values="")  # one at least
    lengths = tf.strings.length(stop)

    longest = tf.maximum(tf.reduce_max(lengths), 1)
    strings = tf.cast(tf.io.decode_raw(stop, tf.uint8, fixed_length=longest), tf.int32)  # (B, n, M)
    place = tf.range(longest) - longest + lengths[:, :, None]  # aligns them on the right: (B, n, M)
    return StopStrings(tf.gather(strings, tf.maximum(place, 0), batch_dims=2), lengths), too_much


def parameter_specs(names: Iterable[str]) -> list[tf.TensorSpec]:
    """Return the specs (B,) of sampling parameters."""
    return [tf.TensorSpec([None], SAMPLING_PARAMETERS[name].dtype, name=name) for name in names]


def request_of(parameters: dict[str, tf.Tensor], stop: tf.Tensor, rows: tf.Tensor) -> tuple[Request, tf.Tensor]:
    """Return the request of a call of the signature, and the errors of its rows, string (B,).

    A row with an error gets neutral parameters.

    Args:
        parameters: Sampling parameters by name, each (B,).
        stop: string (B, n), empty for none.
        rows: int32, B.
    """
    columns = with_rows({**parameters, "stop": stop}, rows)
    parameters = {name: columns[name] for name in parameters}
    strings, too_much = stop_bytes(columns["stop"])
    error = tf.fill([rows], "")
    for name, failed in out_of_range(parameters).items():
        error = first_error(error, failed, f"{name} {range_of(SAMPLING_PARAMETERS[name])}.")
    error = first_error(error, too_much, TOO_MUCH)
    neutral = {
        name: tf.fill([rows], tf.constant(parameter.neutral, parameter.dtype))
        for name, parameter in SAMPLING_PARAMETERS.items()
    }
    parameters = {name: tf.where(error == "", column, neutral[name]) for name, column in parameters.items()}
    none = tf.zeros([rows, 0], tf.int32)
    return Request(**neutral | parameters, stop=strings, bias_ids=none, bias_values=tf.cast(none, tf.float32),
                   choices=tf.zeros([rows, 0, 1], tf.int32),
                   allowed=tf.ones([rows, 0], tf.bool), sequence=tf.zeros([rows], tf.int32)), error  # fmt: skip


class Writer:
    """A writer from tokens to texts, in the graph what `Spelling.text` is in Python.

    Args:
        spelling: Text that each token adds.
        begins: Whether generated texts are complete (encoder-decoder); if not, they continue prompts.
    """

    def __init__(self, spelling: Spelling, begins: bool):
        self.bodies, self.is_text = tf.constant(spelling.bodies), tf.constant(spelling.is_text)
        self.rests = tf.constant(spelling.rests) if any(spelling.rests) else None
        self.begins = begins

    def __call__(self, written: Written) -> tf.Tensor:
        """Return the texts (B,), before their stop strings; bytes that are not UTF-8 are left as they are."""
        token_ids, end = written.token_ids, written.lengths[:, None]
        places, begin = tf.range(tf.shape(token_ids)[1]), end - written.num_new[:, None]
        is_text = tf.gather(self.is_text, token_ids) & (places >= begin) & (places < end)  # (B, T)

        entry = token_ids
        if self.bodies.shape[0] > self.is_text.shape[0]:
            is_first = tf.cumsum(tf.cast(is_text, tf.int32), 1) == 1
            entry += tf.where(is_first, self.is_text.shape[0], 0)
        added = tf.where(is_text, tf.gather(self.bodies, entry), "")  # (B, T)

        if self.rests is not None:
            goes_on = is_text if self.begins else is_text | (places == begin - 1)
            goes_on &= tf.cumsum(tf.cast(is_text, tf.int32), 1, exclusive=True, reverse=True) > 0
            added += tf.where(goes_on, tf.gather(self.rests, entry), "")
        kept = written.kept_bytes
        return tf.strings.substr(tf.strings.reduce_join(added, 1), tf.zeros_like(kept), kept)
