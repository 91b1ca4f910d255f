"""All pairs of options, in few cases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def pairwise(**choices: list[Any]) -> list[dict[str, Any]]:
    """Cases that together hold every two values of every two options: the greedy choice from their product."""
    options = [[(option, index) for index in range(len(values))] for option, values in enumerate(choices.values())]
    missing = {pair for two in itertools.combinations(options, 2) for pair in itertools.product(*two)}
    gains, chosen = np.full([*map(len, options)], len(options) * (len(options) - 1) // 2), []
    while missing:  # `gains` holds how many missing pairs each case of the product would add
        best = np.unravel_index(gains.argmax(), gains.shape)
        chosen.append({name: values[index] for (name, values), index in zip(choices.items(), best, strict=True)})
        for pair in missing & {*itertools.combinations(enumerate(best), 2)}:
            missing.remove(pair)
            gains[tuple(dict(pair).get(option, slice(None)) for option in range(len(options)))] -= 1
    return chosen
