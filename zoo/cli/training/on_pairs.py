"""`train --source --target` and `train --pairs`: a new model from pairs of texts."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from zoo._console import STARTED
from zoo.scratch.pairs.pair_settings import PairSettings


def train_on_pairs(asked: Mapping[str, Any]) -> None:
    """Train a new model on pairs by the options of the command line."""
    for name in ("name", "data"):
        if asked[name] is not None:
            raise ValueError(f"received pairs, and {name.upper()} of a recipe, {asked[name]}: give one of them.")
    settings = pair_settings_of(asked)
    from zoo._environment import quiet_unless_chief
    from zoo.scratch.api.new import run

    with quiet_unless_chief(settings.strategy):
        results = run(settings, shlex.join(["train", *sys.argv[2:]]), STARTED)[1]
        if results is not None:
            print(json.dumps(results), flush=True)


def pair_settings_of(asked: Mapping[str, Any]) -> PairSettings:
    """Return the settings of a run on pairs from the options of the command line.

    Args:
        asked: Values of the options by name; None for the default.
    """
    names = {field.name for field in fields(PairSettings)}
    values: dict[str, Any] = {name: value for name, value in asked.items() if name in names and value is not None}
    for name in ("text", "validation"):
        values[name] = tuple(values.get(name, ()))
    values.setdefault("model", "transformer")
    return PairSettings(**values)
