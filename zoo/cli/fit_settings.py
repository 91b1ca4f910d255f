"""How long and how fast to learn, where nobody says."""

from __future__ import annotations

import math
from typing import Any

from zoo._entry import describe, names
from zoo.cli.app import counted

ROWS, EPOCHS = 480, 10  # that suit each other: the bundled messages, and most models; the file of a model may say other
FEWEST, MOST = 3, 20  # epochs
USUAL = {"epochs": 3, "learning_rate": 5e-5}  # of `Task.fit`


def epochs_for(rows: int, epochs: int = EPOCHS) -> int:
    """Return the epochs that suit a number of rows: four times the rows, half the epochs.

    Args:
        rows: To learn from.
        epochs: That suit `ROWS` rows.

    Example:

    >>> [epochs_for(rows) for rows in (20, 135, 480, 1_000, 10_000)]
    [20, 19, 10, 7, 3]
    """
    return min(max(round(epochs * math.sqrt(ROWS / rows)), FEWEST), MOST)


def fit_options(name: str, given: dict[str, Any], rows: int, writes_text: bool = False) -> dict[str, Any]:
    """Return what was given, else what suits the model and the number of rows; the rest is left to `Task.fit`.

    Args:
        name: Of the model, or its folder.
        given: Options of `Task.fit`; None for those that nobody gave.
        rows: To learn from.
        writes_text: Whether it learns to write: the epochs are then those of `Task.fit`, however few the rows are.
    """
    of_model = dict(describe(name).fit) if name in names() else {}
    suited = USUAL | of_model
    if not writes_text:
        suited["epochs"] = epochs_for(rows, of_model.get("epochs", EPOCHS))
    return {**suited, **{key: value for key, value in given.items() if value is not None}}


def told(fit: dict[str, Any], given: dict[str, Any], rows: int) -> str:
    """Return what is said of the settings of a fit."""
    epochs = counted(fit["epochs"], "epoch")
    rate, size = f"learning rate {fit['learning_rate']:g}", f"batches of {fit['batch_size']}"
    said = f"fit {counted(rows, 'text')}: {epochs}, {rate}, {size}, seed {fit['seed']}"
    chosen = [f"--{key.replace('_', '-')}" for key in ("epochs", "learning_rate") if given.get(key) is None]
    if not chosen:
        return said
    return f"{said}\n  chosen for {counted(rows, 'text')}; {' and '.join(chosen)} set{'' if chosen[1:] else 's'} others"
