"""Models of ours with the heads that a class of `transformers` has, built from the tables of names."""

from __future__ import annotations

import keras
from small_seq2seq import whole_model

from keras_transformers import heads
from keras_transformers.checkpoints.names import FAMILIES, names_of
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.models import decoder, encoder, encoder_decoder


def class_model(config: TransformerConfig, architecture: str | None, num_classes: int = 3) -> keras.Model:
    """The counterpart of a class of `transformers`; of None, one with the heads of all of the family's classes."""
    architectures = FAMILIES[config.family].architectures
    if config.kind == "encoder_decoder":
        return whole_model(config) if architectures.get(architecture, True) else encoder_decoder(config)
    layers = {layer for layers in architectures.values() for layer in layers}
    if architecture is not None:
        layers = set(architectures.get(architecture, ()))
        if not layers and has_pooler(config, architecture):
            layers = {"pooler"}
    body = (encoder if config.kind == "encoder" else decoder)(config)
    inputs, outputs = dict(body.input), dict(body.output)
    states = outputs["hidden_states"]
    embedding = body.get_layer("token_embedding")
    if "pooler" in layers:
        outputs["pooled"] = heads.pooler(config, states)
    if "masked_lm_bias" in layers:
        inputs["mask_positions"] = keras.Input((None,), dtype="int32", name="mask_positions")
        outputs["masked_lm_logits"] = heads.masked_lm_head(config, embedding, states, inputs["mask_positions"])
    if "next_sentence" in layers:
        outputs["next_sentence_logits"] = heads.next_sentence_head(config, outputs["pooled"])
    if "lm_head" in layers and config.kind == "decoder":
        outputs["logits"] = heads.language_model_head(config, embedding, states)
    if "classifier" in layers:
        of_text = outputs.get("pooled", states)  # (B, D), or (B, T, D) where tokens are classified
        if config.kind == "decoder":
            of_text = heads.last_token(states, body.input["padding_mask"])  # (B, D)
        name = "classes" if "logits" in outputs else "logits"
        outputs[name] = heads.classification_head(config, of_text, num_classes)
    if "replaced_token" in layers:
        outputs["replaced_logits" if "logits" in outputs else "logits"] = heads.replaced_token_head(config, states)
    if "qa_outputs" in layers:
        outputs["span_logits"] = heads.span_head(config, states, body.input["padding_mask"])
    return keras.Model(inputs, outputs)


def has_pooler(config: TransformerConfig, architecture: str | None) -> bool:
    """Whether the class without head has a pooler: its name then has the prefix of the model."""
    names = names_of(config, "a model", architecture)
    return bool(names.prefix) and names.weights.get("pooler", "").startswith(names.prefix)
