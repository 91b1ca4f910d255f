"""Roles of attention heads on a text: where their attention goes, in a few numbers and a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

MOST = 0.5  # least share of the attention that names a head
NAMES = {
    "previous": "mostly the token before",
    "following": "mostly the token behind",
    "own": "mostly the token itself",
    "special": "mostly special tokens",
    "first": "mostly the first token",
}


class Role(NamedTuple):
    """The targets of a head's attention, as the mean over the queries of a text.

    Args:
        previous, own, following, first: Share of the previous token, the token itself, the following token, the first
            token; over the queries that have such a token, `first` over all but the first query.
        special: Share of special tokens.
        distance: Mean distance in tokens.
        entropy: Entropy in bits: 0 for one token, log2(T) for T equal weights.
        name: The role in words.
    """

    previous: float
    own: float
    following: float
    first: float
    special: float
    distance: float
    entropy: float
    name: str


def head_roles(scores: Any, special: Sequence[bool] | None = None) -> list[list[Role]]:
    """Return the role of every head of self-attention on one text.

    A head may have another role on another text: take the mean over many texts before you name it.
    Papers: Clark et al. 2019, https://arxiv.org/abs/1906.04341; Voita et al. 2019, https://arxiv.org/abs/1905.09418.

    Args:
        scores: (L, N, T, T).
        special: Whether each token is special, such as `[CLS]`.

    Returns:
        For each layer a list of `Role`, one a head.

    Example:

    >>> before = np.eye(4, k=-1) + np.eye(4)[:, :1] * np.eye(4)[0]
    >>> head_roles(before[None, None])[0][0].name
    'mostly the token before'
    """
    scores = np.asarray(ops.convert_to_numpy(scores), "float64")
    is_special = np.zeros(scores.shape[-1], bool) if special is None else np.asarray(special, bool)
    return [[_role(head, is_special) for head in layer] for layer in scores]


def _role(head: np.ndarray, special: np.ndarray) -> Role:
    places = np.arange(len(head))
    distances = np.abs(places[:, None] - places)
    shares = {
        "previous": _mean(np.diagonal(head, -1)),
        "own": _mean(np.diagonal(head)),
        "following": _mean(np.diagonal(head, 1)),
        "first": _mean(head[1:, 0]),
        "special": _mean(head[:, special].sum(-1)) if special.any() else 0.0,
    }
    logs = np.log2(np.where(head > 0, head, 1.0))
    entropy = float(-(head * logs).sum(-1).mean())
    return Role(
        **shares, distance=float((head * distances).sum(-1).mean()), entropy=entropy, name=_name(shares, entropy)
    )


def _name(shares: dict[str, float], entropy: float) -> str:
    name = max(NAMES, key=lambda each: shares[each])
    return NAMES[name] if shares[name] >= MOST else f"spread over some {2**entropy:.0f} tokens"


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else 0.0
