"""Post-processors as ops: the ids of one or two texts are truncated, and put into the template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_transformers.text.graph.outputs.row_layout import Part, lay_out
from keras_transformers.text.graph.streams.streams import Stream
from keras_transformers.text.pipelines.components import refuse

if TYPE_CHECKING:
    from keras_transformers.text.graph.outputs.trim import Trim

FIRST, SECOND = "A", "B"
Piece = tuple[str | Sequence[int], int]  # (name of the sequence, or fixed ids; segment id)


class Template(tf.Module):
    """The template of a row: special tokens around one or two texts, and segment ids of all tokens.

    Args:
        processors: The members of the "post_processor" of a tokenizer.json.
        trim: The trimming of offsets; None for none.
        keeps_end: Whether long texts are cut on the left.
    """

    def __init__(self, processors: list[dict[str, Any]], trim: Trim | None = None, keeps_end: bool = False):
        super().__init__()
        processors = [part for part in processors if part["type"] != "ByteLevel"]  # it only trims offsets
        names = [part["type"] for part in processors]
        if len(names) > 1 or not set(names) <= PARSERS.keys():
            raise refuse("post_processor", names[0] if len(names) == 1 else names, ["ByteLevel", *PARSERS])
        parse = PARSERS[names[0]] if names else None
        self.single, self.pair = parse(processors[0]) if parse else _NO_TEMPLATE
        self.trim, self.keeps_end = trim, keeps_end

    def __call__(
        self, first: Stream, second: Stream | None, max_length: int, pad_id: int, truncation: str = "longest_first"
    ) -> dict[str, tf.Tensor]:
        """Put the ids (B, None) of texts into rows (B, T) of at most max_length.

        With the truncation "longest_first" the longer text is cut; with "only_first" the first one, and it is an error
        if the second leaves no room for it.

        Rows of ids that `locate` has tracked also have offsets and word_ids.
        """
        texts = [first] if second is None else [first, second]
        room = self.room(len(texts), max_length)
        lengths = [tf.cast(ids.row_lengths(), tf.int32) for ids in texts]
        kept = TRUNCATIONS[truncation](lengths, room)
        truncated = tf.add_n(lengths) > room

        starts = [tf.cast(ids.row_splits[:-1], tf.int32) for ids in texts]
        if self.keeps_end:
            starts = [start + whole - part for start, whole, part in zip(starts, lengths, kept, strict=True)]
        return {**self.fill(list(zip(texts, starts, kept, strict=True)), pad_id), "truncated": truncated}

    def room(self, num_texts: int, max_length: int) -> int:
        """Return the maximum number of text tokens in a row of max_length."""
        template = self.single if num_texts == 1 else self.pair
        num_special = sum(len(source) for source, _ in template if isinstance(source, list))
        if max_length <= num_special:
            raise ValueError(f"max_length={max_length} leaves no room for text beside {num_special} special tokens.")
        return max_length - num_special

    def fill(self, texts: list[tuple[Stream, tf.Tensor, tf.Tensor]], pad_id: int) -> dict[str, tf.Tensor]:
        """Fill the template with one text or two, each given as its ids, and the start and length in them of its part
        of each row, (B,) int32.
        """
        sequences = dict(zip((FIRST, SECOND), texts, strict=False))
        zeros = tf.zeros_like(texts[0][2])  # (B,)
        parts = [
            Part.of_text(*sequences[source], segment, (FIRST, SECOND).index(source))
            if isinstance(source, str)
            else Part(tf.constant(source), None, zeros, zeros + len(source), segment)
            for source, segment in (self.single if len(texts) == 1 else self.pair)
        ]
        return lay_out(parts, pad_id, self.trim)


def _longest_first(lengths: list[tf.Tensor], room: int) -> list[tf.Tensor]:
    """Return the length (B,) to keep of each text: the shorter keeps up to half the room, the longer the rest."""
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    shorter = tf.minimum(tf.minimum(first, second), room // 2)
    longer = tf.minimum(tf.maximum(first, second), room - shorter)
    first_is_longer = first > second
    return [tf.where(first_is_longer, longer, shorter), tf.where(first_is_longer, shorter, longer)]


def _only_first(lengths: list[tf.Tensor], room: int) -> list[tf.Tensor]:
    """Return the length (B,) to keep of each text: all of the second, and what it leaves of the first."""
    first, second = lengths[0], lengths[1] if len(lengths) > 1 else tf.zeros_like(lengths[0])
    left = tf.maximum(room - second, 0)
    fits = tf.debugging.assert_equal(
        (first + second <= room) | (left > 0),
        True,
        f"a second text leaves no room for the first: it has {room} tokens or more.",
    )
    with tf.control_dependencies([fits] if fits is not None else []):  # None when eager
        return [tf.minimum(first, left), tf.identity(second)][: len(lengths)]


TRUNCATIONS = {"longest_first": _longest_first, "only_first": _only_first}


def _bert_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    (_, sep), (_, cls) = config["sep"], config["cls"]
    single: list[Piece] = [([cls], 0), (FIRST, 0), ([sep], 0)]
    return single, [*single, (SECOND, 1), ([sep], 1)]


def _roberta_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    (_, sep), (_, cls) = config["sep"], config["cls"]
    single: list[Piece] = [([cls], 0), (FIRST, 0), ([sep], 0)]
    return single, [*single, ([sep], 0), (SECOND, 0), ([sep], 0)]


def _template_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    def parse(piece: dict[str, Any]) -> Piece:
        ((kind, what),) = piece.items()
        if kind != "Sequence" and what["id"] not in config["special_tokens"]:
            raise refuse("post_processor", f"TemplateProcessing with {what['id'][:80]}", config["special_tokens"])
        return what["id"] if kind == "Sequence" else config["special_tokens"][what["id"]]["ids"], what["type_id"]

    return [parse(piece) for piece in config["single"]], [parse(piece) for piece in config["pair"]]


_NO_TEMPLATE: tuple[list[Piece], list[Piece]] = [(FIRST, 0)], [(FIRST, 0), (SECOND, 1)]
PARSERS = {
    "BertProcessing": _bert_processing,
    "RobertaProcessing": _roberta_processing,
    "TemplateProcessing": _template_processing,
}
