"""`train --text`: a new model from own text."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from zoo.scratch.run_settings import RunSettings


def train_on_text(asked: Mapping[str, Any]) -> None:
    """Train a new model by the options of the command line."""
    for name in ("name", "data"):
        if asked[name] is not None:
            raise ValueError(f"received --text, and {name.upper()} of a recipe, {asked[name]}: give one of them.")
    settings = settings_of(asked)
    from zoo.cli.environment import quiet_unless_chief
    from zoo.scratch.new import run

    with quiet_unless_chief(settings.strategy):
        results = run(settings, shlex.join(["train", *sys.argv[2:]]))[1]
        if results is not None:
            print(json.dumps(results), flush=True)


def settings_of(asked: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run from the options of the command line.

    Args:
        asked: By name; None for the default.
    """
    names = {field.name for field in fields(RunSettings)}
    values: dict[str, Any] = {name: value for name, value in asked.items() if name in names and value is not None}
    for name in ("text", "validation"):
        values[name] = tuple(values.get(name, ()))
    return RunSettings(**{"model": "gpt2"} | values)
