"""`train --text`: a new model from own text."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from zoo._console import STARTED
from zoo.scratch.further_settings import FurtherSettings, read_tokens
from zoo.scratch.run_settings import RunSettings


def train_on_text(asked: Mapping[str, Any]) -> None:
    """Train a new model, or continue the training of a model (--from), by the options of the command line."""
    for name in ("name", "data"):
        if asked[name] is not None:
            raise ValueError(f"received --text, and {name.upper()} of a recipe, {asked[name]}: give one of them.")
    settings = settings_of(asked)
    from zoo._environment import quiet_unless_chief
    from zoo.scratch.api.new import run

    with quiet_unless_chief(settings.strategy):
        results = run(settings, shlex.join(["train", *sys.argv[2:]]), STARTED)[1]
        if results is not None:
            print(json.dumps(results), flush=True)


def settings_of(asked: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run from the options of the command line.

    Args:
        asked: Values of the options by name; None for the default.
    """
    if asked["start"] is None and asked["add_tokens"] is not None:
        raise ValueError("--add-tokens widens the vocabulary of a trained model: give --from MODEL, too.")
    kind = RunSettings if asked["start"] is None else FurtherSettings
    names = {field.name for field in fields(kind)}
    values: dict[str, Any] = {name: value for name, value in asked.items() if name in names and value is not None}
    for name in ("text", "validation"):
        values[name] = tuple(values.get(name, ()))
    if "add_tokens" in values:
        values["add_tokens"] = read_tokens(values["add_tokens"], asked["encoding"], asked["errors"])
    if kind is RunSettings:
        values.setdefault("model", "gpt2")
    return kind(**values)
