"""The model and the metrics of tasks whose predictions are generated texts."""

from __future__ import annotations

import keras

from keras_transformers.heads import language_model_head
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.training.metrics import target_metrics


def language_model(setup: Setup, backbone: keras.Model) -> keras.Model:
    """Return a decoder, or an encoder-decoder, with the head of a language model: `logits` (B, T, V)."""
    embedding = backbone.get_layer("token_embedding")
    logits = language_model_head(setup.config, embedding, backbone.output["hidden_states"], setup.dtype)
    outputs = {"logits": logits, **setup.optional_outputs(backbone)}
    return keras.Model(backbone.input, outputs, name=f"{setup.kind.name}_model")


def language_model_metrics() -> dict[str, list[keras.metrics.Metric]]:
    """Return the metrics of next-token prediction."""
    return {"logits": [target_metrics.Accuracy(), target_metrics.Perplexity(), target_metrics.MeanCrossEntropy()]}
