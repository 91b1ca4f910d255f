"""Overlapping windows of long contexts, each with the whole question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from keras import ops

from keras_transformers.text.encoded import Encoded
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.tensor_types import Tensor

MOST_INT32 = 2**31 - 1  # numbers of windows are int32
LEAST_ROOM = 4  # tokens of text in a window: two of the question, two of the context


class Windows(NamedTuple):
    """The sizes of windows."""

    max_length: int  # of a window, in tokens, special ones included
    stride: int  # tokens by which the windows of a context overlap
    room: int  # of a window, in tokens of text

    @property
    def question_length(self) -> int:
        """Return the most tokens of a question that is never cut: half of the room."""
        return self.room // 2


def check_stride(stride: Any) -> None:
    """Raise a `ValueError` if a stride is no positive integer."""
    if not is_size(stride):
        raise ValueError(f"stride must be a whole number of tokens from 1 on: received {stride!r}.")


def plan_windows(tokenizer: Tokenizer, max_length: int, stride: Any) -> Windows:
    """Return the sizes of windows: at least half of a window is context, and a quarter of that half is new.

    Args:
        tokenizer: Tokenizer of the task.
        max_length: Longest window in tokens.
        stride: Tokens by which windows should overlap; fewer if windows are short.

    Raises:
        ValueError: `stride` is no positive integer, windows are too short, or the tokenizer puts no special token
            between question and context.

    Example:

    >>> plan_windows(Tokenizer.train(["a b"], vocabulary_size=20), max_length=64, stride=128)
    Windows(max_length=64, stride=23, room=61)
    """
    check_stride(stride)
    (empty,) = tokenizer.encode([""], [""])
    if len(empty.ids) < 2:
        raise ValueError(
            "question_answering needs a tokenizer that puts a special token before a question, which represents no "
            "answer, and special tokens between question and context, as BERT's and RoBERTa's do: received one with "
            f"{empty.ids}."
        )
    room = max_length - len(empty.ids)
    if room < LEAST_ROOM:
        raise ValueError(
            f"max_length={max_length} leaves {room} tokens beside {len(empty.ids)} special ones for question and "
            f"context: expected at least {LEAST_ROOM}, that is max_length={LEAST_ROOM + len(empty.ids)}, and better "
            "some hundreds."
        )
    return Windows(max_length, min(int(stride), 3 * (room - room // 2) // 4), room)


def encode_windows(
    tokenizer: Tokenizer, questions: Sequence[str], contexts: Sequence[str], windows: Windows
) -> tuple[list[Encoded], list[bool]]:
    """Encode pairs of question and context, as windows.

    A question of more than half a window is cut to half of it, or to the room beside a short context if that is more.
    Otherwise windows would advance by a token or two, or not at all. A tokenizer that cuts on the left keeps the end of
    the question, and its windows go from the end of a context to the beginning.

    Args:
        tokenizer: Tokenizer of the task.
        questions, contexts: B texts each.
        windows: The sizes of windows.

    Returns:
        At least B windows, in the order of the texts (see `Encoded.row`); and whether each question was cut.

    Example:

    >>> tokenizer = Tokenizer.train(["a b c d e"], vocabulary_size=20)
    >>> found, cut = encode_windows(tokenizer, ["a"], ["a b c d e"], Windows(7, 1, 4))
    >>> [tokenizer.decode(window.ids) for window in found], cut
    (['a a b c', 'a c d e'], [False])
    """
    kept = {}  # windows of each question that is cut, by row
    for row, encoded in enumerate(tokenizer.encode(questions, special_tokens=False)):
        if len(encoded.ids) <= windows.question_length:
            continue
        (context,) = tokenizer.encode([contexts[row]], special_tokens=False)
        count = max(windows.question_length, windows.room - len(context.ids))
        if count < len(encoded.ids):
            part = _part(questions[row], encoded, 2 * count)
            kept[row] = _cut_windows(tokenizer, part, contexts[row], count, windows)
    rows = [row for row in range(len(questions)) if row not in kept]
    texts, pairs = ([column[row] for row in rows] for column in (questions, contexts))
    found = tokenizer.encode(texts, pairs, windows.max_length, "only_second", stride=windows.stride)
    found = [replace(window, row=rows[window.row]) for window in found]
    found += [replace(window, row=row) for row, of_row in kept.items() for window in of_row]
    return sorted(found, key=lambda window: window.row), [row in kept for row in range(len(questions))]


def first_windows(encoded: dict[str, Tensor], most: int) -> dict[str, Tensor]:
    """Return the first `most` windows of each text; a text that has more is marked as `truncated`.

    Args:
        encoded: Result of `Reader.windows`: (W, ...) for W windows in the order of the texts, but `truncated` (B,).
        most: Maximum number, at least 1.

    Returns:
        The same columns, with W at most B * most.

    Example:

    >>> encoded = {"row": np.array([0, 0, 0, 1]), "truncated": np.array([False, False])}
    >>> found = first_windows(encoded, most=2)
    >>> ops.convert_to_numpy(found["row"]).tolist(), ops.convert_to_numpy(found["truncated"]).tolist()
    ([0, 0, 1], [True, False])
    """
    row, truncated, most = encoded["row"], encoded["truncated"], min(most, MOST_INT32)
    sizes = ops.segment_sum(ops.ones_like(row), row, ops.shape(truncated)[0])  # (B,)
    nth = ops.arange(ops.shape(row)[0], dtype=row.dtype) - ops.take(ops.cumsum(sizes) - sizes, row)  # (W,)
    (kept,) = ops.nonzero(nth < most)
    columns = {name: ops.take(column, kept, axis=0) for name, column in encoded.items() if name != "truncated"}
    return {**columns, "truncated": truncated | (sizes > most)}


def columns_of(row: Tensor, count: Any) -> Tensor:
    """Return int32 (M,), the numbers from 0 to M - 1, for the most windows M that a text has, at least 1.

    Args:
        row: int32 (W,), the number of each window's text.
        count: The number of texts, B.

    Example:

    >>> ops.convert_to_numpy(columns_of(np.array([0, 0, 0, 1]), 2)).tolist()
    [0, 1, 2]
    """
    sizes = ops.segment_sum(ops.ones_like(row), row, count)  # (B,)
    return ops.arange(ops.max(sizes, initial=1), dtype="int32")


def _part(text: str, encoded: Encoded, count: int) -> str:
    """Return the part of a text, cut on the side of its encoding, with at least `count` of its tokens.

    It is more than is kept, so that the kept tokens are the same as for the whole text, but not all of a long one.
    Offsets of tokens are then in this part: the offsets of a question are not used.
    """
    if encoded.side == "right":
        return text[: encoded.offsets[min(count, len(encoded.ids) - 1)][1]]
    words = encoded.word_ids
    first = max(len(words) - 1 - count, 0)
    while first and words[first - 1] == words[first]:  # a word that loses its beginning may be other tokens
        first -= 1
    return text[encoded.offsets[first][0] :]


def _cut_windows(tokenizer: Tokenizer, question: str, context: str, count: int, windows: Windows) -> list[Encoded]:
    """Return the windows of a context beside `count` tokens of a question.

    Tokens are cut off, not characters: one character may be several tokens.
    """
    (encoded,) = tokenizer.encode([question], special_tokens=False)
    max_length = windows.max_length + max(len(encoded.ids) - count, 0)
    found = tokenizer.encode([question], [context], max_length, "only_second", stride=windows.stride)
    return [window.with_first(count) for window in found]
