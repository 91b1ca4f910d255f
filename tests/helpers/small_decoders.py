"""Small decoders of each family, inputs for them, and decoding with their twins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
import pytest
from arrays import to_numpy
from decoding import make_room
from family_case import SIZES
from family_cases import DECODERS

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import convolutional, recurrent
from keras_transformers.heads import classification_head, language_model_head
from keras_transformers.models import decoder
from keras_transformers.models.decoder import prefill, step

FAMILIES = DECODERS
# Without self-attention.
COUNTERPARTS = {
    "simple_rnn": (recurrent, {"mixer": "simple_rnn"}),
    "gru": (recurrent, {"mixer": "gru", "positions": "sinusoidal", "norm_order": "post", "embedding_norm": True}),
    "lstm": (recurrent, {"intermediate_dim": 16}),
    "cnn": (convolutional, {"kind": "decoder"}),
    "plain_cnn": (convolutional, {"kind": "decoder", "gated": False, "activation": "relu", "norm": "rms"}),
}

# A family for each kind of cache, positions and norms; parity tests decode with every family.
KINDS = ("gpt2", "llama", "gpt_neox", "gemma3_text", "lfm2", "qwen3_5_text", "lstm", "cnn", "plain_cnn")


def by_kind(families: Iterable[str]) -> list[Any]:
    """Parameters of a test: a family of each kind in every run, the others at night."""
    return [pytest.param(family, marks=() if family in KINDS else pytest.mark.slow) for family in families]


def small_config(family: str = "gpt2", **options: Any) -> TransformerConfig:
    """Two blocks of width 16; any field may be changed."""
    if family in COUNTERPARTS:
        configure, own = COUNTERPARTS[family]
        return configure(**(SIZES | {"intermediate_dim": 24} | own | options))
    configure, own = FAMILIES[family]
    return configure(**(SIZES | own | options))


def token_ids(rows: int = 2, length: int = 6, seed: int = 0) -> np.ndarray:
    """Random tokens that may be raised by 3."""
    return np.random.default_rng(seed).integers(1, SIZES["vocabulary_size"] - 3, (rows, length))


def whole(ids: np.ndarray, documents: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Inputs of a decoder; all tokens of a row are one text, unless told otherwise."""
    return {"token_ids": ids, "padding_mask": np.ones_like(ids) if documents is None else documents}


def all_heads(config: TransformerConfig) -> keras.Model:
    """A decoder with the heads of a language model and of a classifier."""
    model = decoder(config)
    states = model.output["hidden_states"]
    logits = language_model_head(config, model.get_layer("token_embedding"), states)
    return keras.Model(model.input, {"logits": logits, "classes": classification_head(config, states[:, 0], 3)})


def decode(
    config: TransformerConfig, model: keras.Model, ids: np.ndarray, prompts: np.ndarray, stride: int = 1
) -> list:
    """Prefill of prompts of these lengths, then steps of `stride` tokens: pairs of positions (B, T) and outputs."""
    mask = (np.arange(prompts.max()) < prompts[:, None]).astype("int32")
    cache = make_room(prefill(config, model)(whole(ids[:, : prompts.max()] * mask, mask))["cache"])
    twin, steps = step(config, model), []
    for start in range(0, ids.shape[1] - prompts.max(), stride):
        positions = prompts[:, None] + start + np.arange(stride)
        new = np.take_along_axis(ids, positions, axis=1)
        outputs = to_numpy(twin({"token_ids": new, "cache_positions": positions, "cache": cache}))
        cache = outputs["cache"]
        steps.append((positions, outputs["hidden_states"]))
    return steps
