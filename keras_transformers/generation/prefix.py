"""Prefixes of prompts, which are read once: the cache after a prefix, kept for the calls to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.generation.program import Program
from keras_transformers.utils.compiled import Compiled
from keras_transformers.utils.fingerprint import fingerprint
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.text_checks import check_texts
from keras_transformers.utils.untrusted import shown

MOST_KEPT = 4  # prefixes; each takes the memory of the cache of one row


class Prefix(NamedTuple):
    """A text before every prompt. Its last token is read with each prompt, so that a prompt may be empty."""

    token_ids: Tensor  # int32 (F,)
    blocks: list[dict[str, Tensor]]  # for each block "key" and "value", each (1, K, F, H), or a state, (1, ...)


class PrefixStates:
    """The prefixes that were used last, computed again when the weights have changed.

    Args:
        model: The model, whose weights are compared.
        program: Program of the model, whose `prefill` reads prefixes.
        compiled: Function that compiles a function without arguments; used to compare the weights.
    """

    def __init__(self, model: keras.Model, program: Program, compiled: Callable[[Callable], Callable]):
        self._fingerprint = compiled(lambda: [fingerprint(weight) for weight in model.weights])
        self._read = Compiled(model, lambda inputs: program.prefill(inputs)["cache"])
        self._kept: dict[tuple[int, ...], Prefix] = {}
        self._weights: list[np.ndarray] = []
        self._lock = Lock()  # a thread must not keep a state of weights that another one has seen change

    def __call__(self, ids: Sequence[int]) -> Prefix:
        """Return the prefix of token ids, of which there is one at least."""
        with self._lock:
            return self._find(tuple(ids))

    def _find(self, key: tuple[int, ...]) -> Prefix:
        weights = [np.asarray(ops.convert_to_numpy(rows)) for rows in self._fingerprint()]
        if [rows.tobytes() for rows in weights] != [rows.tobytes() for rows in self._weights]:
            self._kept, self._weights = {}, weights
        self._kept[key] = prefix = self._kept.pop(key, None) or self._compute(key)
        self._kept = dict([*self._kept.items()][-MOST_KEPT:])
        return prefix

    def _compute(self, ids: tuple[int, ...]) -> Prefix:
        token_ids = np.array([ids], "int32")  # (1, F)
        mask = np.arange(len(ids), dtype="int32")[None] < len(ids) - 1  # all but the last token: (1, F)
        blocks = self._read({"token_ids": token_ids, "padding_mask": mask.astype("int32")})
        return Prefix(ops.convert_to_tensor(token_ids[0]), blocks)


def check_prefix(prefix: Any) -> None:
    """Raise a `ValueError` if a prefix is no str, or not valid Unicode."""
    if not isinstance(prefix, str):
        raise ValueError(f"prefix is one str, for all texts: received {shown(prefix)}.")
    check_texts("prefix", [prefix])
