"""A stack of decoder blocks, run whole, as prefill, and step by step; on arrays and on symbolic tensors alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from arrays import normal, randomize, to_numpy

from keras_transformers.layers import ALiBi, DecoderBlock, RelativePositionBias, RotaryPositions, causal_mask
from keras_transformers.layers.attention.cache import has_places

B, T, S, D, N = 2, 6, 8, 8, 4  # S: room in the cache
PROMPTS = np.array([4, 2])  # tokens of each row's prompt; the shorter one is padded on the right


class Stack:
    """Two blocks, and the layer that makes their rotary angles or position bias."""

    def __init__(self, positions: str | None, cross_attention: bool = False, dtype: str = "float32", **options: Any):
        head_dim = D // N
        options |= {"cross_attention": cross_attention, "dtype": dtype, "return_cache": True}
        self.blocks = [DecoderBlock(N, 12, name=f"b{index}", **options) for index in range(2)]
        self.positions = {
            None: None,
            "rotary": RotaryPositions(head_dim, name="rotary"),
            "relative": RelativePositionBias(N, bidirectional=False, dtype=dtype, name="relative"),
            "alibi": ALiBi(N, dtype=dtype, name="alibi"),
        }[positions]
        self.encoder_inputs = {}
        if cross_attention:
            mask = np.array([[[True, True, True]], [[True, False, True]]])
            self.encoder_inputs = {"context": normal(B, 3, D, seed=7), "encoder_attention_mask": mask}
        self.layers = [*self.blocks, *([self.positions] if self.positions else [])]
        self.full(normal(B, T, D))
        for layer in self.layers:
            randomize(layer, scale=0.3)

    def __call__(self, hidden_states, queries, keys, caches=(None, None), **inputs):
        """Hidden states (B, T, D) and the caches; with `caches`, tokens are written at the positions `queries`."""
        mask, new = causal_mask(queries, keys), []
        for block, cache in zip(self.blocks, caches, strict=True):
            cached = {} if cache is None else {"cache": cache, "cache_positions": queries}
            hidden_states, cache = block(
                hidden_states, attention_mask=mask, **self._shared(queries, keys), **inputs, **cached
            )
            new.append(cache)
        return hidden_states, new

    def _shared(self, queries, keys) -> dict[str, Any]:
        if self.positions is None:
            return {}
        if isinstance(self.positions, RotaryPositions):
            return {"rotary": self.positions(queries)}
        return {"position_bias": self.positions(queries, keys)}

    def full(self, hidden_states: np.ndarray) -> np.ndarray:
        """The whole sequence at once."""
        positions = np.arange(hidden_states.shape[1])[None]
        return to_numpy(self(hidden_states, positions, positions, **self.encoder_inputs)[0])

    def cached(self, hidden_states: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Prefill of ragged prompts, then one step after the other: pairs of positions (B, 1) and outputs (B, 1, D)."""
        prompt = np.arange(PROMPTS.max())[None]
        _, caches = self(hidden_states[:, : PROMPTS.max()], prompt, prompt, **self.encoder_inputs)
        caches, steps = make_room(caches), []
        inputs = {name: value for name, value in self.encoder_inputs.items() if name != "context"}
        for index in range(T - PROMPTS.max()):
            queries = PROMPTS[:, None] + index
            token = np.take_along_axis(hidden_states, queries[..., None], axis=1)
            outputs, caches = self(token, queries, np.arange(S)[None], caches, **inputs)
            steps.append((queries, to_numpy(outputs)))
        return steps


def make_room(caches: Any) -> Any:
    """Caches of the prompt with zeros up to S; those of the encoder and states stay as they are."""

    def pad(name, array):
        if not has_places(name) or name.startswith("cross"):
            return array
        return np.pad(array, ((0, 0), (0, 0), (0, S - array.shape[2]), (0, 0)))

    return [{name: pad(name, array) for name, array in cache.items()} for cache in to_numpy(list(caches))]
