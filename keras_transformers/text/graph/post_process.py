"""Post-processors as ops: truncate the ids of one or two texts, and fill the template with them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.refuse import refuse

FIRST, SECOND = "A", "B"
Piece = tuple[str | list[int], int]  # (which sequence, or fixed ids; segment id)


class Template(tf.Module):
    """Put special tokens around one text, or two, and give all tokens segment ids.

    Args:
        processors: the members of the "post_processor" of a tokenizer.json.
    """

    def __init__(self, processors: list[dict[str, Any]]):
        super().__init__()
        processors = [part for part in processors if part["type"] != "ByteLevel"]  # it only trims offsets
        names = [part["type"] for part in processors]
        if len(names) > 1 or not set(names) <= _PARSERS.keys():
            raise refuse("post_processor", names[0] if len(names) == 1 else names, ["ByteLevel", *_PARSERS])
        self.single, self.pair = _PARSERS[names[0]](processors[0]) if names else _NO_TEMPLATE

    def __call__(
        self, first: tf.RaggedTensor, second: tf.RaggedTensor | None, max_length: int, pad_id: int
    ) -> dict[str, tf.Tensor]:
        """Ids (B, None) of the texts to rows (B, T) of at most max_length; the longer text is truncated first."""
        template = self.single if second is None else self.pair
        room = max_length - sum(len(source) for source, _ in template if isinstance(source, list))
        if room < 1:
            raise ValueError(
                f"max_length={max_length} leaves no room for text beside {max_length - room} special tokens."
            )

        sequences = {FIRST: first} if second is None else {FIRST: first, SECOND: second}
        lengths = {name: tf.cast(ids.row_lengths(), tf.int32) for name, ids in sequences.items()}
        kept = dict(zip(lengths, _longest_first(list(lengths.values()), room), strict=True))
        truncated = tf.add_n(list(lengths.values())) > room

        zeros = tf.zeros_like(kept[FIRST])  # (B,)
        parts = [
            (sequences[source].values, tf.cast(sequences[source].row_splits[:-1], tf.int32), kept[source], segment)
            if isinstance(source, str)
            else (tf.constant(source), zeros, zeros + len(source), segment)
            for source, segment in template
        ]
        return {**_lay_out(parts, pad_id), "truncated": truncated}


def _lay_out(parts: list[tuple[tf.Tensor, tf.Tensor, tf.Tensor, int]], pad_id: int) -> dict[str, tf.Tensor]:
    """Join parts (values, start in them (B,), length (B,), segment id) in each row, padded on the right."""
    total = tf.add_n([length for _, _, length, _ in parts])  # (B,)
    column = tf.range(tf.maximum(tf.reduce_max(total), 1))[None]  # (1, T), T > 0: models read column 0 even of 0 rows
    token_ids = segment_ids = tf.zeros_like(total[:, None] + column)  # (B, T)
    token_ids += pad_id

    begin = tf.zeros_like(total)  # (B,)
    for values, start, length, segment in parts:
        inside = (column >= begin[:, None]) & (column < (begin + length)[:, None])  # (B, T)
        place = tf.where(inside, column + (start - begin)[:, None], 0)  # (B, T)
        values = tf.concat([values, [pad_id]], 0)  # a batch without any token still has a place 0
        token_ids = tf.where(inside, tf.gather(values, place), token_ids)
        segment_ids = tf.where(inside, segment, segment_ids)
        begin += length  # (B,)
    return {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": column < total[:, None]}


def _longest_first(lengths: list[tf.Tensor], room: int) -> list[tf.Tensor]:
    """Length (B,) to keep of each text: the shorter keeps up to half the room, the longer the rest."""
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    shorter = tf.minimum(tf.minimum(first, second), room // 2)
    longer = tf.minimum(tf.maximum(first, second), room - shorter)
    first_is_longer = first > second
    return [tf.where(first_is_longer, longer, shorter), tf.where(first_is_longer, shorter, longer)]


def _bert_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    (_, sep), (_, cls) = config["sep"], config["cls"]
    single = [([cls], 0), (FIRST, 0), ([sep], 0)]
    return single, [*single, (SECOND, 1), ([sep], 1)]


def _roberta_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    (_, sep), (_, cls) = config["sep"], config["cls"]
    single = [([cls], 0), (FIRST, 0), ([sep], 0)]
    return single, [*single, ([sep], 0), (SECOND, 0), ([sep], 0)]


def _template_processing(config: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
    def parse(piece: dict[str, Any]) -> Piece:
        ((kind, what),) = piece.items()
        return what["id"] if kind == "Sequence" else config["special_tokens"][what["id"]]["ids"], what["type_id"]

    return [parse(piece) for piece in config["single"]], [parse(piece) for piece in config["pair"]]


_NO_TEMPLATE = [(FIRST, 0)], [(FIRST, 0), (SECOND, 1)]
_PARSERS = {
    "BertProcessing": _bert_processing,
    "RobertaProcessing": _roberta_processing,
    "TemplateProcessing": _template_processing,
}
