"""Multiple choice: which of several texts fits another one best."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.data.sources.text_tables import read_table
from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.pair_scores import flat_pairs, learn_choices, pair_scorer
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.reports import choice_report
from keras_transformers.text.files.packed import kind_of
from keras_transformers.text.files.records import JSON, PARQUET
from keras_transformers.utils.text_checks import check_texts, listed

LEAST = float(np.finfo(np.float32).tiny)  # the probability of a choice; 0 is padding


def multiple_choice(setup: Setup) -> Parts:
    """Build a model that chooses which of several texts fits another one, such as the end of a story.

    `pairs` are lists of choices, one list a text; labels are the numbers of the right choices, from 0. To fit, all
    lists have the same length.
    Paper: Devlin et al. 2018, section 4.4, https://arxiv.org/abs/1810.04805.

    Args:
        setup: Settings common to all tasks.

    Predicts:
        One dict a text, read with its list of choices in `pairs`:

        - `choice` (int): the number of the best choice, from 0.
        - `probabilities` (list of float): one a choice, adding up to 1.
        - `truncated` (bool): whether the text or a choice was cut, to fit in `max_length` together.

    Exports:
        `serving_default` takes `text`, (B,) strings, and `choices`, (B, C) strings, padded with empty ones. It returns
        `choice` (B,) int32, `probabilities` (B, C) float32, 0 for padding, and `truncated` (B,) bool.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("multiple_choice", config, tokenizer)
    >>> task.predict(["a film"], [["fine", "dull"]])[0]["choice"] in (0, 1)
    True
    """
    scorer = pair_scorer(setup)
    learned = learn_choices(setup, scorer)
    answers = OnePass(
        setup,
        scorer,
        {"serving_default": _signature(scorer)},
        _describe,
        {"choices": [["warm", "up"]]},
        (partial(check_texts, "texts"), _padded),
        from_ids=FromIds(learned["model"], setup.config.num_segments),
    )
    return Parts(**learned, answers=answers, report=choice_report)


def read_choices(
    path: str | Path,
    label: str | None = None,
    labelled: bool = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> tuple[list[str], list[int] | None, list[list[str]]]:
    """Return texts, numbers of the right choices and lists of choices from JSON lines of `text`, `choices` and `label`.

    Args:
        path: A file named `.jsonl`.
        label: The name of `label` in the file, if it has another one.
        labelled: Whether labels are read.
        encoding, errors: as for `keras_transformers.data.sources.text_tables.read_table`.

    Raises:
        ValueError: The file has another format, a name is missing, or choices are no lists.
    """
    if kind_of(Path(path)) not in (*JSON, PARQUET):
        raise ValueError(f"{path}: expected JSON lines, named .jsonl, of `text`, `choices` and `label`.")
    reading = {"encoding": encoding, "errors": errors}
    texts, _, found = read_table(path, label="choices", **reading)
    choices = found or []
    if wrong := [number for number, row in enumerate(choices, 1) if not isinstance(row, list)]:
        raise ValueError(f"{path}, row {wrong[0]}: 'choices' is {choices[wrong[0] - 1]!r}; expected a list of texts.")
    return texts, read_table(path, label=label or "label", **reading).labels if labelled else None, choices


KIND = Kind(
    "multiple_choice",
    multiple_choice,
    models=("encoder",),
    new_layers=("pooler", "pooler_norm", "classifier"),
    needs_labels=True,
    takes_weights=True,
    takes_pairs=True,
    joins_texts=True,
    needs_pairs=True,
    lists_pairs=True,
    read=read_choices,
)


def _signature(scorer: keras.Model) -> Signature:
    def read(reader: Reader, texts: Any, choices: Any) -> Tensors:
        texts, flat, is_choice = flat_pairs(texts, choices)  # (B * C,), (B * C,), (B, C)
        return {**reader(texts, flat), "is_choice": is_choice}

    def compute(encoded: Tensors) -> Tensors:
        outputs = scorer({name: encoded[name] for name in scorer.input}, training=False)
        is_choice = encoded["is_choice"]  # (B, C)
        shape = ops.shape(is_choice)

        scores = ops.reshape(ops.cast(outputs["logits"], "float32"), shape)  # (B, C)
        probabilities = ops.maximum(ops.softmax(ops.where(is_choice, scores, NEVER)), LEAST)
        probabilities = ops.where(is_choice, probabilities, 0.0)
        truncated = ops.any(ops.reshape(encoded["truncated"], shape), axis=1)  # (B,)
        # One more choice, of probability 0, is never the best; argmax of no choices would fail.
        choice = ops.cast(ops.argmax(ops.pad(probabilities, [[0, 0], [0, 1]]), axis=1), "int32")
        return {"choice": choice, "probabilities": probabilities, "truncated": truncated}

    return Signature(("text", "choices"), read, compute, ranks=(1, 2))


def _padded(pairs: Any) -> list[list[str]]:
    """Return lists of choices, padded with empty ones to the same length."""
    given = listed(pairs)
    if given is None:
        raise ValueError(f"Expected a list of lists of str for `pairs`, received {str(pairs)[:60]!r}.")
    rows = [check_texts(f"pairs[{number}]", row) for number, row in enumerate(given)]
    if empty := [number for number, row in enumerate(rows) if not any(row)]:
        raise ValueError(f"`pairs[{empty[0]}]` contains no text: expected at least one.")
    width = max(map(len, rows), default=1)
    return [row + [""] * (width - len(row)) for row in rows]


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prediction of a row without its padding, which has a probability of 0."""
    return {"choice": int(row["choice"]), "probabilities": np.trim_zeros(row["probabilities"], "b").tolist()}
