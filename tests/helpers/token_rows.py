"""Rows of tokens, compared: ids, segments, offsets and words of a graph, of the library and of `transformers`."""

from __future__ import annotations

import random
from typing import Any

import tensorflow as tf

from keras_transformers.text.encoded import Encoded
from keras_transformers.text.graph.compile import TextGraph
from keras_transformers.text.tokenizer import Tokenizer

MARKS = [*"aeioun '`\"-.,()12", "\u0300", "\u0301", "\u0903", *"éﬁ²…가日©▁", "\u200d", "\r\n", "\t", "  ", "\u00a0"]
MARKS += ["<mask>", "[MASK]", "<s>", "[SEP]", "1,", "''"]


def rough_texts(count: int = 600) -> list[str]:
    """Return texts of spaces, accents, odd letters and typed special tokens."""
    chance = random.Random(3)
    return ["", " ", *("".join(chance.choices(MARKS, k=chance.randrange(20))) for _ in range(count))]


def mismatches(
    tokenizer: Tokenizer, graph: TextGraph, texts: list, pairs: list | None = None, max_length: int = 64
) -> list:
    """Return the texts (str or bytes) whose rows differ between graph and library, with both rows.

    Rows are ids, segment ids, offsets, word ids and sequence ids. Without offsets the graph must give the same ids.
    """
    inputs = [None if column is None else tf.constant(column, tf.string) for column in (texts, pairs)]
    rows = graph.encode(*inputs, max_length=max_length, with_offsets=True)
    for name, column in graph.encode(*inputs, max_length=max_length).items():
        assert (rows[name].numpy() == column.numpy()).all(), name

    expected = tokenizer.encode(_decoded(texts), pairs and _decoded(pairs), max_length=max_length)
    assert rows["truncated"].numpy().tolist() == [row.truncated for row in expected]
    columns = texts, pairs or texts, graph_rows(rows, graph.pad_id), map(library_row, expected)
    return [row for row in zip(*columns, strict=True) if row[2] != row[3]]


def graph_rows(rows: dict[str, tf.Tensor], pad_id: int) -> list[list]:
    """[ids, segment ids, offsets, word ids, sequence ids] of each row, without the padding."""
    padding = {"token_ids": pad_id, "segment_ids": 0, "offsets": 0, "word_ids": -1, "sequence_ids": -1}
    mask, columns = rows["padding_mask"].numpy(), [rows[name].numpy() for name in padding]
    for column, value in zip(columns, padding.values(), strict=True):
        assert (column[~mask] == value).all() and column.dtype == "int32"
    return [[column[i][mask[i]].tolist() for column in columns] for i in range(len(mask))]


def library_row(row: Encoded) -> list:
    words = [-1 if word is None else word for word in row.word_ids]
    sequences = [-1 if sequence is None else sequence for sequence in row.sequence_ids]
    return [row.ids, row.segment_ids, [list(span) for span in row.offsets], words, sequences]


def _decoded(texts: list[str | bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts]


def differing(ours: Tokenizer, theirs: Any, texts: list[str], pairs: list[str] | None = None) -> list:
    """Return the texts whose ids, segments or places differ from those of a tokenizer of `transformers`."""
    rows = theirs(texts, pairs, return_offsets_mapping=True, return_token_type_ids=ours.has_types or None)
    segments = rows.get("token_type_ids", [[0] * len(ids) for ids in rows["input_ids"]])
    columns = zip(rows["input_ids"], segments, map(list, rows["offset_mapping"]), strict=True)
    mine = [(row.ids, row.segment_ids, list(row.offsets)) for row in ours.encode(texts, pairs)]
    return [both for both in zip(texts, mine, columns, strict=True) if both[1] != both[2]]
