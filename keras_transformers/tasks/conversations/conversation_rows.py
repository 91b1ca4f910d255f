"""Rows of conversations, of which the assistant's tokens alone are learned."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformers.data.sources.next_token_rows import chosen_tokens
from keras_transformers.data.sources.packing import Packed, check_packing
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.chat.learnt_answers import learnt_tokens
from keras_transformers.text.chat.template import need_template


def conversation_rows(
    setup: Setup, conversations: Sequence[Any], packing: str | None, variables: Mapping[str, Any]
) -> Rows | Packed:
    """Return rows of conversations; a conversation that is too long loses its end.

    Args:
        setup: Setup of the task.
        conversations: Lists of messages.
        packing: As for `next_token_source`; conversations of one row do not attend to each other.
        variables: Values that the chat template reads.

    Raises:
        ValueError: There is no chat template, a conversation has no answer or is wrong, or all answers are cut off.
    """
    check_packing(packing, completing=True)
    template = need_template(setup.tokenizer)
    found = learnt_tokens(setup.tokenizer, template, conversations, variables)
    ids = Ragged.of([row for row, _ in found])
    rows = chosen_tokens(ids, np.concatenate([answers for _, answers in found]), setup.max_length)
    _tell_cut(int((ids.lengths > setup.max_length + 1).sum()), len(found) - rows.num_rows, len(found), setup.max_length)
    return Packed(rows, setup.max_length) if packing else rows


def _tell_cut(cut: int, lost: int, count: int, max_length: int) -> None:
    if lost == count:
        raise ValueError(
            f"no answer of {count} conversations lies within max_length={max_length} tokens: give a greater max_length."
        )
    if cut or lost:
        warnings.warn(
            f"{cut} of {count} conversations were cut at their end, to fit in max_length={max_length}; {lost} have no "
            "answer left and are not learned.",
            stacklevel=2,
        )
