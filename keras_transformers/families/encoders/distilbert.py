"""DistilBERT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config
from keras_transformers.families.encoders.roberta import named_classes


def distilbert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe DistilBERT: BERT without segments, whose classifier has ReLU and a separate dropout.

    The epsilon is fixed in the code of `transformers`, which is the release code.
    Paper: Sanh et al. 2019, https://arxiv.org/abs/1910.01108.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> distilbert(30522, num_layers=6, num_heads=12, hidden_dim=768).pooler_activation
    'relu'
    """
    facts = {"epsilon": 1e-12, "pooler_activation": "relu", "classifier_dropout": 0.2}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("distilbert", sizes, facts | options)


BODY, LAYER = "distilbert.", "distilbert.transformer.layer.{i}."

DISTILBERT = BERT._replace(
    model_type="distilbert",
    configure=distilbert,
    prefix=BODY,
    weights={
        "token_embedding": BODY + "embeddings.word_embeddings",
        "position_embedding": BODY + "embeddings.position_embeddings",
        "embedding_norm": BODY + "embeddings.LayerNorm",
        "encoder_block_{i}/attention/query": LAYER + "attention.q_lin",
        "encoder_block_{i}/attention/key": LAYER + "attention.k_lin",
        "encoder_block_{i}/attention/value": LAYER + "attention.v_lin",
        "encoder_block_{i}/attention/output": LAYER + "attention.out_lin",
        "encoder_block_{i}/attention_norm": LAYER + "sa_layer_norm",
        "encoder_block_{i}/feed_forward/intermediate": LAYER + "ffn.lin1",
        "encoder_block_{i}/feed_forward/output": LAYER + "ffn.lin2",
        "encoder_block_{i}/feed_forward_norm": LAYER + "output_layer_norm",
        "pooler": "pre_classifier",
        "masked_lm_dense": "vocab_transform",
        "masked_lm_norm": "vocab_layer_norm",
        "masked_lm_bias/bias": "vocab_projector.bias",
        "classifier": "classifier",
        "qa_outputs": "qa_outputs",
    },
    optional=("vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "pre_classifier.", "classifier.",
              "qa_outputs."),
    redundant=r"distilbert\.embeddings\.position_ids",
    copies={"vocab_projector.weight": BODY + "embeddings.word_embeddings.weight"},
    **named_classes("DistilBert"),
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "n_layers",
        "num_heads": "n_heads",
        "hidden_dim": "dim",
        "intermediate_dim": "hidden_dim",
        "max_length": "max_position_embeddings",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "classifier_dropout": "seq_classif_dropout",
        "activation": "activation",
        "initializer_range": "initializer_range",
        "pad_id": "pad_token_id",
    },
    # A table of sines is stored like one that was learned, but is not trained.
    fixed={"sinusoidal_pos_embds": False},
)  # fmt: skip
