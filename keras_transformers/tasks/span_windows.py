"""Windows over long contexts, each with the whole question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_transformers.number_checks import is_size
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.tokenizer import Tokenizer

LEAST_ROOM = 4  # tokens of text in a window: two of the question, two of the context


class Windows(NamedTuple):
    """How contexts are divided."""

    max_length: int  # of a window, in tokens, special ones included
    stride: int  # tokens by which the windows of a context overlap
    room: int  # of a window, in tokens of text

    @property
    def question_length(self) -> int:
        """Tokens of a question that are never cut: half of the room."""
        return self.room // 2


def plan_windows(tokenizer: Tokenizer, max_length: int, stride: Any) -> Windows:
    """How contexts are divided, so that half of a window at least is context, and a quarter of that half is new.

    Args:
        tokenizer: Of the task.
        max_length: Longest window in tokens.
        stride: Tokens by which windows should overlap; fewer where windows are short.

    Raises:
        ValueError: `stride` is no positive integer, windows hold next to nothing, or the tokenizer does not tell
            questions and contexts apart.

    Example:

    >>> plan_windows(Tokenizer.train(["a b"], vocabulary_size=20), max_length=64, stride=128)
    Windows(max_length=64, stride=23, room=61)
    """
    if not is_size(stride):
        raise ValueError(f"stride must be a whole number of tokens from 1 on: received {stride!r}.")
    (empty,) = tokenizer.encode([""], [""])
    if 1 not in empty.segment_ids:
        raise ValueError(
            "question_answering needs a tokenizer that gives the second text of a pair the segment 1, as BERT's does: "
            f"received one with the segments {sorted(set(empty.segment_ids))}."
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
    """Pairs of question and context as windows.

    A question of more than half a window is cut to half of it, or to what a short context leaves, if that is more:
    windows would else advance by a token or two, or not at all.

    Args:
        tokenizer: Of the task.
        questions, contexts: B texts each.
        windows: How contexts are divided.

    Returns:
        At least B windows, in the order of the texts (see `Encoded.row`); and whether each question was cut.

    Example:

    >>> tokenizer = Tokenizer.train(["a b c d e"], vocabulary_size=20)
    >>> found, cut = encode_windows(tokenizer, ["a"], ["a b c d e"], Windows(7, 1, 4))
    >>> [tokenizer.decode(window.ids) for window in found], cut
    (['a a b c', 'a c d e'], [False])
    """
    texts, cut = list(questions), [False] * len(questions)
    for row, encoded in enumerate(tokenizer.encode(questions, special_tokens=False)):
        if len(encoded.ids) <= windows.question_length:
            continue
        (context,) = tokenizer.encode([contexts[row]], special_tokens=False)
        kept = max(windows.question_length, windows.room - len(context.ids))
        cut[row] = kept < len(encoded.ids)
        if cut[row]:
            texts[row] = texts[row][: encoded.offsets[kept - 1][1]]
    return tokenizer.encode(texts, contexts, windows.max_length, "only_second", stride=windows.stride), cut
