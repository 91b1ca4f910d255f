"""Small models of two stacks of each family, inputs for them, and decoding with their twins."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from arrays import to_numpy
from decoding import make_room
from family_cases import PAIRS

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import convolutional, recurrent
from keras_transformers.heads import language_model_head
from keras_transformers.models import encoder_decoder
from keras_transformers.models.decoder import prefill, step

FAMILIES = PAIRS
# Without self-attention.
COUNTERPARTS = {
    "rnn_seq2seq": (recurrent, {"cross_attention": False}),
    "gru_seq2seq": (recurrent, {"cross_attention": False, "mixer": "gru", "intermediate_dim": 16}),
    "rnn_attention": (recurrent, {}),
    "cnn_seq2seq": (convolutional, {}),
}
SIZES = {"vocabulary_size": 30, "num_layers": 1, "num_decoder_layers": 2, "num_heads": 4, "hidden_dim": 16}
LENGTHS = (5, 3)


def small_config(family: str = "transformer", **options: Any) -> TransformerConfig:
    """One block and two blocks of width 16; any field may be changed."""
    configure, own = (FAMILIES | COUNTERPARTS)[family]
    if family in COUNTERPARTS:
        own = own | {"kind": "encoder_decoder"}
    return configure(**(SIZES | {"intermediate_dim": 24, "max_length": 8} | own | options))


def whole_model(config: TransformerConfig, dtype: str | None = None, **options: Any) -> keras.Model:
    """A model with the head of a language model."""
    model = encoder_decoder(config, dtype=dtype, **options)
    embedding = model.get_layer("token_embedding")
    logits = language_model_head(config, embedding, model.output["hidden_states"], dtype)
    return keras.Model(model.input, {**model.output, "logits": logits})


def pairs(lengths: tuple[int, ...] = LENGTHS, length: int = 6, seed: int = 0) -> dict[str, np.ndarray]:
    """Random source tokens, padded on the right to the longest of these lengths, and target tokens, not padded."""
    random = np.random.default_rng(seed)
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    target = random.integers(1, SIZES["vocabulary_size"] - 3, (len(lengths), length))
    return {
        "encoder_token_ids": np.where(mask, random.integers(1, 28, mask.shape), 0),
        "encoder_padding_mask": mask.astype("int32"),
        "token_ids": target,
        "padding_mask": np.ones_like(target),
    }


def decode(
    config: TransformerConfig, model: keras.Model, inputs: dict[str, np.ndarray], prompts: np.ndarray, stride: int = 1
) -> list:
    """Prefill of targets of these lengths, then steps of `stride` tokens: pairs of positions (B, T) and outputs."""
    ids, longest = inputs["token_ids"], prompts.max()
    mask = (np.arange(longest) < prompts[:, None]).astype("int32")
    first = prefill(config, model)(inputs | {"token_ids": ids[:, :longest] * mask, "padding_mask": mask})
    scores = ["cross_attention_scores"] if config.cross_attention else []
    twin, cache, steps = step(config, model, scores), make_room(first["cache"]), []
    source = {"encoder_padding_mask": inputs["encoder_padding_mask"]}
    for start in range(0, ids.shape[1] - longest, stride):
        positions = prompts[:, None] + start + np.arange(stride)
        new = np.take_along_axis(ids, positions, axis=1)
        outputs = to_numpy(twin({"token_ids": new, "cache_positions": positions, "cache": cache, **source}))
        cache = outputs["cache"]
        steps.append((positions, outputs))
    return steps
