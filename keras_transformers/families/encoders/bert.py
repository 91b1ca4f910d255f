"""BERT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, MASKED_LM, Names, heads


def bert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe BERT: a post-norm encoder with learned positions and two segments.

    Dropout, GELU (the exact one), the epsilon of 1e-12 and the truncated normal of 0.02 are as in the release code
    (google-research/bert). Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Encoder blocks.
        num_heads: Attention heads.
        hidden_dim: Width of the hidden states.
        intermediate_dim: Width of the feed-forward layers; `4 * hidden_dim` when None.
        max_length: Rows of the position embedding.
        **options: Any other field of `TransformerConfig`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> bert(30522, num_layers=12, num_heads=12, hidden_dim=768).intermediate_dim
    3072
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("bert", sizes, {"num_segments": 2, "epsilon": 1e-12} | options)


def bert_config(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family whose encoder is BERT's but for some facts.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        facts: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> bert_config("bert", (100, 2, 2, 16, None, 512), {}).norm_order
    'post'
    """
    shared = {
        "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu", "norm": "layer", "norm_order": "post",
        "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


def rotary_bert(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family whose encoder is BERT's with rotary positions and gated layers.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        facts: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> rotary_bert("gte", (100, 2, 2, 16, None, 512), {"max_wavelength": 1000.0}).gated
    True
    """
    shared = {
        "num_segments": 2, "epsilon": 1e-12, "positions": "rotary", "gated": True, "attention_dropout": 0.0,
    }  # fmt: skip
    return bert_config(family, sizes, shared | facts)


BERT = Names(
    model_type="bert",
    configure=bert,
    tokenizer_class="BertTokenizer",
    prefix="bert.",
    weights={
        "token_embedding": "bert.embeddings.word_embeddings",
        "token_embedding/segment_embeddings": "bert.embeddings.token_type_embeddings.weight",
        "position_embedding": "bert.embeddings.position_embeddings",
        "embedding_norm": "bert.embeddings.LayerNorm",
        "encoder_block_{i}/attention/query": "bert.encoder.layer.{i}.attention.self.query",
        "encoder_block_{i}/attention/key": "bert.encoder.layer.{i}.attention.self.key",
        "encoder_block_{i}/attention/value": "bert.encoder.layer.{i}.attention.self.value",
        "encoder_block_{i}/attention/output": "bert.encoder.layer.{i}.attention.output.dense",
        "encoder_block_{i}/attention_norm": "bert.encoder.layer.{i}.attention.output.LayerNorm",
        "encoder_block_{i}/feed_forward/intermediate": "bert.encoder.layer.{i}.intermediate.dense",
        "encoder_block_{i}/feed_forward/output": "bert.encoder.layer.{i}.output.dense",
        "encoder_block_{i}/feed_forward_norm": "bert.encoder.layer.{i}.output.LayerNorm",
        "pooler": "bert.pooler.dense",
        "masked_lm_dense": "cls.predictions.transform.dense",
        "masked_lm_norm": "cls.predictions.transform.LayerNorm",
        "masked_lm_bias/bias": "cls.predictions.bias",
        "next_sentence": "cls.seq_relationship",
        "classifier": "classifier",
        "qa_outputs": "qa_outputs",
    },
    optional=("bert.pooler.", "cls.", "classifier.", "qa_outputs."),
    redundant=r"bert\.embeddings\.(position_ids|token_type_ids)",
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    **heads(
        "Bert",
        PreTraining=("pooler", *MASKED_LM, "next_sentence"),
        MaskedLM=MASKED_LM,
        NextSentencePrediction=("pooler", "next_sentence"),
        SequenceClassification=("pooler", "classifier"),
        MultipleChoice=("pooler", "classifier"),
        TokenClassification=("classifier",),
        QuestionAnswering=("qa_outputs",),
    ),
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "num_segments": "type_vocab_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "activation": "hidden_act",
        "epsilon": "layer_norm_eps",
        "initializer_range": "initializer_range",
        "pad_id": "pad_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"position_embedding_type": "absolute", "is_decoder": False},
    equal={},
)
