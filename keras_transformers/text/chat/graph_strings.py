"""Python's operations on strings, for a batch: core TensorFlow ops on valid UTF-8."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.chat.graph_values import NotCompiledError, Strings

# The characters of which str.isspace() holds, and so str.strip() removes.
WHITESPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPLIT = "\x1f"  # a white space: what has none holds none


def escaped(text: str) -> str:
    """Return a regular expression of a text, also within brackets."""
    return "".join(letter if letter.isalnum() or ord(letter) > 127 else f"\\x{{{ord(letter):x}}}" for letter in text)


def strip(rows: tf.Tensor, characters: str | None, left: bool, right: bool) -> tf.Tensor:
    """Strip white space, or given characters."""
    if characters == "":
        return rows
    members = WHITESPACE if characters is None else escaped(characters)
    for wanted, pattern in ((left, rf"\A[{members}]+"), (right, rf"[{members}]+\z")):
        if wanted:
            rows = tf.strings.regex_replace(rows, pattern, "", replace_global=False)
    return rows


def starts_with(rows: tf.Tensor, prefix: tf.Tensor) -> tf.Tensor:
    return tf.equal(_cut(rows, tf.zeros_like(tf.strings.length(rows)), tf.strings.length(prefix), "BYTE"), prefix)


def ends_with(rows: tf.Tensor, suffix: tf.Tensor) -> tf.Tensor:
    size = tf.strings.length(suffix)
    return tf.equal(_cut(rows, tf.maximum(tf.strings.length(rows) - size, 0), size, "BYTE"), suffix)


def _cut(rows: tf.Tensor, start: tf.Tensor, size: tf.Tensor, unit: str) -> tf.Tensor:
    return tf.strings.substr(rows, start, tf.broadcast_to(size, tf.shape(start)), unit=unit)


def contains(rows: tf.Tensor, text: str) -> tf.Tensor:
    return tf.strings.regex_full_match(rows, rf"\C*{escaped(text)}\C*")


def replace(rows: tf.Tensor, old: str, new: str) -> tf.Tensor:
    """Replace all occurrences of a text."""
    if not old:
        raise NotCompiledError("replacement of an empty text")
    return tf.strings.regex_replace(rows, escaped(old), new.replace("\\", r"\\"))


def length(rows: tf.Tensor) -> tf.Tensor:
    return tf.strings.length(rows, unit="UTF8_CHAR")


def slice_(rows: tf.Tensor, start: tf.Tensor | None, stop: tf.Tensor | None) -> tf.Tensor:
    """Return `rows[start:stop]`, counted in characters."""
    size = length(rows)
    first, last = (bounds(size, start, 0), bounds(size, stop, size))
    return _cut(rows, first, tf.maximum(last - first, 0), "UTF8_CHAR")


def bounds(size: tf.Tensor, place: tf.Tensor | None, default: tf.Tensor | int) -> tf.Tensor:
    """Return a bound of a Python slice of sequences of a size, between 0 and the size."""
    if place is None:
        return tf.zeros_like(size) + default
    return tf.clip_by_value(tf.where(place < 0, place + size, place + tf.zeros_like(size)), 0, size)


def split(rows: tf.Tensor, separator: str | None, most: int = -1) -> Strings:
    """Split strings (B,) at a text, or at runs of white space, at most `most` times."""
    if separator == "":
        raise NotCompiledError("split at an empty text")
    if separator is None:
        if most >= 0:
            raise NotCompiledError("split at white space with a limit")
        rows = tf.strings.regex_replace(strip(rows, None, True, True), f"[{WHITESPACE}]+", SPLIT)
    ragged = tf.strings.split(rows, separator or SPLIT, maxsplit=most)
    count = tf.cast(ragged.row_lengths(), tf.int32)
    if separator is None:  # "".split() is [], "".split("x") is [""]
        count = tf.where(tf.equal(rows, ""), 0, count)
    return Strings(ragged.values, tf.cast(ragged.row_starts(), tf.int32), count)


def characters(rows: tf.Tensor) -> Strings:
    """Return the characters of strings (B,)."""
    ragged = tf.strings.unicode_split(rows, "UTF-8")
    return Strings(ragged.values, tf.cast(ragged.row_starts(), tf.int32), tf.cast(ragged.row_lengths(), tf.int32))


def spread(strings: Strings) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the strings of all lists, and the conversation of each."""
    ragged = tf.RaggedTensor.from_row_lengths(tf.zeros([tf.reduce_sum(strings.count)]), strings.count)
    row = tf.cast(ragged.value_rowids(), tf.int32)
    place = tf.range(tf.size(row)) - tf.gather(tf.cast(ragged.row_starts(), tf.int32), row)
    return tf.gather(strings.flat, tf.gather(strings.start, row) + place), row


def join(strings: Strings, separator: str) -> tf.Tensor:
    """Join the strings of each list."""
    texts, row = spread(strings)
    is_later = tf.concat([[False], row[1:] == row[:-1]], 0)[: tf.size(row)]
    # The op would leave out its separator behind texts that are empty.
    texts = tf.where(is_later, tf.strings.join([separator, texts]), texts)
    return tf.strings.unsorted_segment_join(texts, row, tf.size(strings.count))


def holds(strings: Strings, text: tf.Tensor) -> tf.Tensor:
    """Tell which lists hold a string, () or (B,)."""
    texts, row = spread(strings)
    found = tf.equal(texts, tf.gather(tf.broadcast_to(text, tf.shape(strings.count)), row))
    return tf.math.unsorted_segment_sum(tf.cast(found, tf.int32), row, tf.size(strings.count)) > 0


def to_json(rows: tf.Tensor) -> tf.Tensor:
    """Return strings as `json.dumps(..., ensure_ascii=False)` writes them."""
    rows = replace(replace(rows, "\\", "\\\\"), '"', '\\"')
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b"}
    for code in range(32):
        rows = replace(rows, chr(code), short.get(chr(code), f"\\u{code:04x}"))
    return tf.strings.join(['"', rows, '"'])
