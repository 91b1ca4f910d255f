"""Sources of groups of texts, which sentence embeddings and multiple choice learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_transformers.data.objectives.text_groups import TextGroups
from keras_transformers.data.sources.rows import tell_cut
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.sources import Write, is_stream, rows_of
from keras_transformers.utils.text_checks import check_texts, listed

Columns = list[Sequence[str]]


def group_source(
    setup: Setup,
    sizes: range,
    read_labels: Callable[[Any, Columns], np.ndarray | None],
    joined: bool = False,
    write: Write | None = None,
) -> Callable[..., TextGroups]:
    """Return the source of a task that has several texts a row.

    Args:
        setup: Setup of the task.
        sizes: Numbers of texts that a row may have.
        read_labels: Function from labels as given by the user, or None, and the columns of texts to an array or None.
        joined: Whether the first text is encoded together with each of the others; else each is encoded by itself.
        write: As in `text_source`, of a first text with each of the others.

    Returns:
        A `Parts.source`, which also takes the prompts of the first texts, the second ones, ...: the last of them is put
        before all further ones.
    """

    def source(texts: Any, labels: Any, pairs: Any, prompts: Sequence[str] = ("",)) -> TextGroups:
        if is_stream(texts, labels, pairs):
            raise ValueError(f"{setup.kind.name} takes texts in memory: received a tf.data.Dataset. Pass lists.")
        columns = text_columns(texts, pairs)
        if len(columns) not in sizes and not (labels is None and len(columns) == 1 and not joined):
            expected = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} or more"
            raise ValueError(
                f"{setup.kind.name} received {len(columns)} texts a row, texts of pairs included: expected {expected}."
            )
        if len(prompts) > max(len(columns), 1):
            raise ValueError(
                f"received {len(prompts)} prompts for rows of {len(columns)} texts: expected one for each text of a "
                "row, or fewer, the last of them for all further ones."
            )
        labels, count = read_labels(labels, columns), len(columns)  # of the texts as they are given
        columns = [
            [prompt + text for text in column] if prompt else column
            for prompt, column in zip([*prompts, *[prompts[-1]] * count], columns, strict=False)
        ]
        others = columns[1:] if joined else columns
        flat = [text for row in zip(*others, strict=True) for text in row]
        firsts = [text for text in columns[0] for _ in others] if joined else None
        read, read_pairs = (flat, None) if firsts is None else (firsts, flat)
        read, read_pairs = (read, read_pairs) if write is None else write(read, read_pairs)
        encoded = setup.tokenizer.encode(read, read_pairs, max_length=setup.max_length)
        tell_cut([row.truncated for row in encoded], setup.max_length)
        return TextGroups(rows_of(encoded, setup.config), len(others), labels)

    return source


def text_columns(texts: Any, pairs: Any) -> Columns:
    """Return texts and pairs as columns: the first text of each row, the second text of each row, ...

    Args:
        texts: Strings.
        pairs: None; a string for each text; or a list of strings for each text, all of one length.

    Raises:
        ValueError: There are not as many pairs as texts, or lists of different lengths.

    Example:

    >>> text_columns(["a", "b"], [["c", "d"], ["e", "f"]])
    [['a', 'b'], ['c', 'e'], ['d', 'f']]
    """
    texts = check_texts("texts", texts)
    if pairs is None:
        return [texts]
    given = listed(pairs)
    if given is None or all(isinstance(pair, str) for pair in given):
        columns = [check_texts("pairs", pairs if given is None else given)]
        count = len(columns[0])
    else:
        rows = [check_texts(f"pairs[{number}]", pair) for number, pair in enumerate(given)]
        if len(lengths := {len(row) for row in rows}) > 1:
            raise ValueError(f"pairs have lists of {sorted(lengths)} texts: expected the same number in each.")
        columns, count = [list(column) for column in zip(*rows, strict=True)], len(rows)
    if count != len(texts):
        raise ValueError(f"received {len(texts)} texts and {count} pairs: expected one for each text.")
    return [texts, *columns]
