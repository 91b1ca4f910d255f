"""Default epochs and learning rate of a fine-tuning, by the model and the number of rows."""

from __future__ import annotations

import math
from typing import Any

from zoo.registry.entry import describe, names
from zoo.terminal.console import counted

ROWS, EPOCHS = 480, 10  # most models learn the 480 bundled messages best in 10 epochs; `fit` of an entry may differ
FEWEST, MOST = 3, 20  # epochs
USUAL = {"epochs": 3, "learning_rate": 5e-5}  # of `Task.fit`


def epochs_for(rows: int, epochs: int = EPOCHS) -> int:
    """Return the epochs for a number of rows: half as many for four times the rows.

    Args:
        rows: Number of rows to learn from.
        epochs: The epochs for `ROWS` rows.

    Example:

    >>> [epochs_for(rows) for rows in (20, 135, 480, 1_000, 10_000)]
    [20, 19, 10, 7, 3]
    """
    return min(max(round(epochs * math.sqrt(ROWS / rows)), FEWEST), MOST)


def fit_options(name: str, given: dict[str, Any], rows: int, writes_text: bool = False) -> dict[str, Any]:
    """Return the options of `Task.fit`: those given, else the defaults for the model and the number of rows.

    Args:
        name: The model's name or folder.
        given: Options of `Task.fit`; None for those that were not given.
        rows: Number of rows to learn from.
        writes_text: Whether the task generates text: the default number of epochs is then the same as in `Task.fit` for
            any number of rows.
    """
    of_model = dict(describe(name).fit) if name in names() else {}
    suited = USUAL | of_model
    if not writes_text:
        suited["epochs"] = epochs_for(rows, of_model.get("epochs", EPOCHS))
    return {**suited, **{key: value for key, value in given.items() if value is not None}}


def settings_text(fit: dict[str, Any], given: dict[str, Any], rows: int) -> str:
    """Return the text that tells the settings of a fit, and which of them are defaults."""
    epochs = counted(fit["epochs"], "epoch")
    rate, size = f"learning rate {fit['learning_rate']:g}", f"batches of {fit['batch_size']}"
    text = f"fit {counted(rows, 'text')}: {epochs}, {rate}, {size}, seed {fit['seed']}"
    chosen = [f"--{key.replace('_', '-')}" for key in ("epochs", "learning_rate") if given.get(key) is None]
    if not chosen:
        return text
    return f"{text}\n  chosen for {counted(rows, 'text')}; change this with {' and '.join(chosen)}"
