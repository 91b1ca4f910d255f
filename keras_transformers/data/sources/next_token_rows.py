"""Rows for the next-token objective: whole texts, or inputs followed by targets."""

from __future__ import annotations

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows


def next_tokens(texts: Ragged, max_length: int | None = None) -> Rows:
    """Return one row per text: all its tokens except the last, each labelled with the next one.

    Args:
        texts: `Ragged` token ids; texts of fewer than two tokens are left out.
        max_length: int, tokens to which longer rows are cut; `None` for no limit.

    Returns:
        `Rows` with `Ragged` labels.

    Example:

    >>> rows = next_tokens(with_end(Ragged.of([[5, 6], [7], []]), end_id=1))
    >>> rows.token_ids.padded(2, fill=0).tolist(), rows.labels.padded(2, fill=-1).tolist()
    ([[5, 6], [7, 0]], [[6, 1], [1, -1]])
    """
    texts = texts[np.flatnonzero(texts.lengths > 1)]
    lengths = texts.lengths - 1 if max_length is None else np.minimum(texts.lengths - 1, max_length)
    return Rows(Ragged(texts.flat, texts.starts, lengths), labels=Ragged(texts.flat, texts.starts + 1, lengths))


def with_end(texts: Ragged, end_id: int | None) -> Ragged:
    """Append the end token to every text; return the texts unchanged if `end_id` is `None`."""
    if end_id is None:
        return texts
    flat = np.insert(texts.tokens(), np.cumsum(texts.lengths), end_id)
    return Ragged.joined(flat.astype(np.int32), texts.lengths + 1)


def completions(inputs: Ragged, targets: Ragged, max_length: int, end_id: int | None = None) -> tuple[Rows, np.ndarray]:
    """Return one row per pair: the input, the target and the end token. Only the last two are labels.

    If a pair is too long, the input is cut on the left. The target is never cut.

    Args:
        inputs, targets: `Ragged` token ids, as many of both.
        max_length: int, tokens of a row (the last token of a target is only a label, and does not count).
        end_id: int, the token after a target; `None` for none.

    Returns:
        `Rows` with `Ragged` labels, -1 for the tokens of the input; and for each pair whether its input was cut.

    Raises:
        ValueError: There are not as many inputs as targets; an input or a target is empty; or a target is too long.

    Example:

    >>> rows, cut = completions(Ragged.of([[5, 6, 7]]), Ragged.of([[8, 9]]), max_length=4, end_id=1)
    >>> rows.token_ids.padded(4, fill=0).tolist(), rows.labels.padded(4, fill=-1).tolist(), cut.tolist()
    ([[6, 7, 8, 9]], [[-1, 8, 9, 1]], [True])
    """
    if len(inputs.lengths) != len(targets.lengths):
        raise ValueError(
            f"Received {len(inputs.lengths)} inputs and {len(targets.lengths)} targets: expected one target per input."
        )
    targets = with_end(targets, end_id)
    _refuse(inputs, inputs.lengths < 1, "input", "at least one token, such as the end token")
    _refuse(targets, targets.lengths < 1, "target", "at least one token")
    _refuse(targets, targets.lengths > max_length, "target", f"at most max_length={max_length}, end token included")

    kept = np.minimum(inputs.lengths, max_length + 1 - targets.lengths)  # (pairs,), tokens of each input
    starts = np.stack([inputs.starts + inputs.lengths - kept, targets.starts + inputs.flat.size], axis=1)  # (pairs, 2)
    lengths = np.stack([kept, targets.lengths], axis=1)  # (pairs, 2)
    both = Ragged(np.concatenate([inputs.flat, targets.flat]), starts.ravel(), lengths.ravel())
    rows = next_tokens(Ragged.joined(both.tokens(), lengths.sum(axis=1)))

    no_labels = np.full(kept.sum() - len(kept), -1, np.int32)  # the first token of an input is no label
    target_starts = np.cumsum(targets.lengths) - targets.lengths
    labels = np.insert(targets.tokens(), np.repeat(target_starts, kept - 1), no_labels)
    return Rows(rows.token_ids, labels=Ragged.joined(labels, rows.lengths)), kept < inputs.lengths


def chosen_tokens(texts: Ragged, is_label: np.ndarray, max_length: int | None) -> Rows:
    """Return one row per text as `next_tokens`, in which only chosen tokens are labels.

    Args:
        texts: `Ragged` token ids.
        is_label: boolean, one for each of `texts.flat`.
        max_length: int, tokens to which longer rows are cut; `None` for no limit.

    Returns:
        `Rows` with `Ragged` labels, -1 for other tokens. Rows without any label are left out.

    Example:

    >>> rows = chosen_tokens(Ragged.of([[5, 6, 7], [8, 9]]), np.array([0, 0, 1, 1, 0], bool), max_length=4)
    >>> rows.token_ids.padded(2, fill=0).tolist(), rows.labels.padded(2, fill=-1).tolist()
    ([[5, 6]], [[-1, 7]])
    """
    rows = next_tokens(texts, max_length)
    labels = Ragged(np.where(is_label, texts.flat, np.int32(-1)), rows.labels.starts, rows.labels.lengths)
    counts = np.array(
        [(labels.flat[start:][:length] >= 0).sum() for start, length in zip(labels.starts, labels.lengths, strict=True)]
    )
    return Rows(rows.token_ids, labels=labels)[np.flatnonzero(counts)]


def _refuse(texts: Ragged, bad: np.ndarray, what: str, allowed: str):
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"The {what} in row {row} has {texts.lengths[row]} tokens: expected {allowed}.")
