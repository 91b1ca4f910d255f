"""Models of ours with the heads that a class of `transformers` has, built from the tables of names."""

from __future__ import annotations

import keras
from small_seq2seq import whole_model

from keras_transformers import heads
from keras_transformers.checkpoints.settings.names import FAMILIES, names_of
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
    mask = body.input["padding_mask"]
    of_tokens = config.head_transform == "all" and architecture in {*token_classes(config)} - {None}
    if "pooler" in layers and not of_tokens and config.kind == "encoder":
        outputs["pooled"] = heads.pooler(config, states, padding_mask=mask)
    if layers & {"masked_lm_bias", "lm_head"} and config.kind == "encoder":
        inputs["mask_positions"] = keras.Input((None,), dtype="int32", name="mask_positions")
        outputs["masked_lm_logits"] = heads.masked_lm_head(config, embedding, states, inputs["mask_positions"])
    if "next_sentence" in layers:
        outputs["next_sentence_logits"] = heads.next_sentence_head(config, outputs["pooled"])
    if "lm_head" in layers and config.kind == "decoder":
        outputs["logits"] = heads.language_model_head(config, embedding, states)
    if "classifier" in layers:
        name = "classes" if "logits" in outputs else "logits"
        outputs[name] = classes(config, outputs, mask, num_classes, of_tokens)
    if "replaced_token" in layers:
        outputs["replaced_logits" if "logits" in outputs else "logits"] = heads.replaced_token_head(config, states)
    # Where heads on tokens have the pooler's layers, a model with all heads has those on texts.
    if "qa_outputs" in layers and (of_tokens or "pooler_norm" not in layers):
        outputs["span_logits"] = heads.span_head(config, states, mask)
    return keras.Model(inputs, outputs)


def token_classes(config: TransformerConfig) -> tuple:
    """The classes of `transformers` whose heads read single tokens."""
    tasks = FAMILIES[config.family].tasks
    return tasks.get("token_classification"), tasks.get("question_answering")


def classes(config, outputs, mask, num_classes, of_tokens):
    """The logits of a classifier of texts, (B, C), or of tokens, (B, T, C)."""
    states = outputs["hidden_states"]
    if of_tokens:
        return heads.token_classification_head(config, states, num_classes)
    if config.kind == "decoder":
        return heads.classification_head(config, heads.last_token(states, mask), num_classes)
    if config.classifier_pooling == "last":
        states = heads.last_token(states, mask)
    logits = heads.classification_head(config, outputs.get("pooled", states), num_classes)
    is_late = "pooled" in outputs and config.classifier_pooling == "late"
    return heads.mean_of_tokens(logits, mask) if is_late else logits


def has_pooler(config: TransformerConfig, architecture: str | None) -> bool:
    """Whether the class without head has a pooler: its name then has the prefix of the model."""
    names = names_of(config, "a model", architecture)
    return bool(names.prefix) and names.weights.get("pooler", "").startswith(names.prefix)
