"""Small encoders with heads, and inputs for them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import bert
from keras_transformers.heads import classification_head, masked_lm_head, next_sentence_head, pooler
from keras_transformers.models import encoder


def small_config(**options: Any) -> TransformerConfig:
    """Two blocks of width 16; any field may be changed."""
    return bert(
        **({"vocabulary_size": 30, "num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 8} | options)
    )


def batch(config: TransformerConfig, lengths: tuple[int, ...] = (7, 3, 1), seed: int = 0) -> dict[str, np.ndarray]:
    """Random token ids of these lengths, padded on the right."""
    random = np.random.default_rng(seed)
    token_ids = random.integers(1, config.vocabulary_size, (len(lengths), max(lengths)))
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    inputs = {"token_ids": np.where(mask, token_ids, config.fill_id), "padding_mask": mask.astype("int32")}
    if config.num_segments:
        inputs["segment_ids"] = random.integers(0, config.num_segments, token_ids.shape)
    return inputs


def all_heads(config: TransformerConfig, dtype: str | None = None, **options: Any) -> keras.Model:
    """An encoder with every head of BERT."""
    model = encoder(config, dtype=dtype, **options)
    hidden_states = model.output["hidden_states"]
    positions = keras.Input((None,), dtype="int32", name="mask_positions")
    pooled = pooler(config, hidden_states, dtype)
    embedding = model.get_layer("token_embedding")
    outputs = model.output | {
        "pooled": pooled,
        "logits": classification_head(config, pooled, 3, dtype),
        "masked_lm_logits": masked_lm_head(config, embedding, hidden_states, positions, dtype),
        "next_sentence_logits": next_sentence_head(config, pooled, dtype),
    }
    return keras.Model(model.input | {"mask_positions": positions}, outputs)
