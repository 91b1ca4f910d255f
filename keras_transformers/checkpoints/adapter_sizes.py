"""The rank and the scale of each layer of a LoRA adapter of `peft`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.utils.untrusted import shown

MOST = 10**6  # of the rank, and of alpha
DEFAULT = 8  # of both
# Patterns come with the file: these cannot take endless time, as no repetition stands inside another.
LONGEST, MOST_REPEATS = 500, 3
REPEAT, NESTED = re.compile(r"[*+?{]"), re.compile(r"\)[*+?{]|\\[1-9]")


class AdapterSizes(NamedTuple):
    """Rank and alpha of the layers of an adapter.

    Args:
        rank, alpha: Values for the layers that no pattern names.
        ranks, alphas: Rank and alpha by a pattern of the layer's name; the first pattern that matches counts.
        by_root: Whether the scale is alpha / sqrt(rank) (rsLoRA), not alpha / rank.
    """

    rank: int
    alpha: float
    ranks: Mapping[str, int]
    alphas: Mapping[str, float]
    by_root: bool

    def of(self, layer: str) -> tuple[int, float]:
        """Return the rank of a layer, and the scale of its product B A.

        Example:

        >>> AdapterSizes(2, 8, {"query": 4}, {}, False).of("encoder.layer.0.query")
        (4, 2.0)
        """
        rank, alpha = _matching(self.ranks, layer, self.rank), _matching(self.alphas, layer, self.alpha)
        return rank, alpha / (math.sqrt(rank) if self.by_root else rank)


def read_sizes(values: Mapping[str, Any], path: Path) -> AdapterSizes:
    """Read ranks and alphas of an adapter_config.json, whose types are checked.

    Raises:
        ValueError: A number is out of range, or a pattern is no regular expression that can be tried safely.
    """
    ranks, alphas = values.get("rank_pattern", {}), values.get("alpha_pattern", {})
    rank, alpha = values.get("r", DEFAULT), values.get("lora_alpha", DEFAULT)
    for key, numbers, least in (
        ("r", [rank], 1), ("lora_alpha", [alpha], -MOST),
        ("rank_pattern", ranks.values(), 1), ("alpha_pattern", alphas.values(), -MOST),
    ):  # fmt: skip
        kinds = (int,) if least == 1 else (int, float)
        if not all(type(number) in kinds and least <= number <= MOST for number in numbers):
            raise ValueError(f"{path}: {key}={shown(values[key])}: expected {least} to {MOST}. Correct the file.")
    for pattern in (*ranks, *alphas):
        if not _is_safe(pattern):
            raise ValueError(
                f"{path}: the pattern {shown(pattern)} of layers is not supported: expected the end of a layer's name, "
                f"or a regular expression of it of at most {LONGEST} characters with at most {MOST_REPEATS} "
                "repetitions, none of them of a group."
            )
    return AdapterSizes(rank, alpha, ranks, alphas, bool(values.get("use_rslora")))


def _is_safe(pattern: str) -> bool:
    if len(pattern) > LONGEST or len(REPEAT.findall(pattern)) > MOST_REPEATS or NESTED.search(pattern):
        return False
    try:
        re.compile(rf"(.*\.)?({pattern})$")
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _matching(numbers: Mapping[str, Any], layer: str, default: Any) -> Any:
    """Return the number of the first pattern that is a layer's name, or the end of it after a dot; else the default."""
    matching = (number for pattern, number in numbers.items() if re.match(rf"(.*\.)?({pattern})$", layer))
    return next(matching, default)
