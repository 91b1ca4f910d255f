"""All pairs of options, in few cases."""

from __future__ import annotations

import itertools
from typing import Any


def pairwise(**choices: list[Any]) -> list[dict[str, Any]]:
    """Cases that together hold every two values of every two options: the greedy choice from their product."""
    cases = [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    pairs = [set(itertools.combinations(((name, repr(value)) for name, value in case.items()), 2)) for case in cases]
    missing, chosen = set().union(*pairs), []
    while missing:
        best = max(range(len(cases)), key=lambda index: len(missing & pairs[index]))
        chosen.append(cases[best])
        missing -= pairs[best]
    return chosen
