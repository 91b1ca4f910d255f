"""ALBERT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config


def albert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ALBERT: BERT with narrow embeddings, and one block's weights for all blocks.

    The second version, as released (google-research/albert): no dropout but the classifier's, and the tanh
    approximation of GELU. Paper: Lan et al. 2019, https://arxiv.org/abs/1909.11942.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> albert(30000, num_layers=12, num_heads=12, hidden_dim=768).embedding_dim
    128
    """
    facts = {
        "num_segments": 2, "epsilon": 1e-12, "embedding_dim": 128, "num_block_groups": 1, "dropout": 0.0,
        "attention_dropout": 0.0, "classifier_dropout": 0.1, "activation": "gelu_tanh", "bos_id": 2, "eos_ids": (3,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("albert", sizes, facts | options)


BODY, GROUP = "albert.", "albert.encoder.albert_layer_groups.{i}.albert_layers.0."


def _named(architecture: str) -> str:
    return architecture.replace("Bert", "Albert")


ALBERT = BERT._replace(
    model_type="albert",
    configure=albert,
    tokenizer_class="AlbertTokenizer",
    prefix=BODY,
    weights={
        **{ours: it.replace("bert.", BODY) for ours, it in BERT.weights.items() if "embedding" in ours},
        "embedding_projection": BODY + "encoder.embedding_hidden_mapping_in",
        "encoder_block_{i}/attention/query": GROUP + "attention.query",
        "encoder_block_{i}/attention/key": GROUP + "attention.key",
        "encoder_block_{i}/attention/value": GROUP + "attention.value",
        "encoder_block_{i}/attention/output": GROUP + "attention.dense",
        "encoder_block_{i}/attention_norm": GROUP + "attention.LayerNorm",
        "encoder_block_{i}/feed_forward/intermediate": GROUP + "ffn",
        "encoder_block_{i}/feed_forward/output": GROUP + "ffn_output",
        "encoder_block_{i}/feed_forward_norm": GROUP + "full_layer_layer_norm",
        "pooler": BODY + "pooler",
        "masked_lm_dense": "predictions.dense",
        "masked_lm_norm": "predictions.LayerNorm",
        "masked_lm_bias/bias": "predictions.bias",
        "classifier": "classifier",
        "qa_outputs": "qa_outputs",
    },
    # The head of sentence order is not that of next sentences.
    optional=(BODY + "pooler.", "predictions.", "sop_classifier.", "classifier.", "qa_outputs."),
    redundant=r"albert\.embeddings\.(position_ids|token_type_ids)",
    copies={
        "predictions.decoder.weight": BODY + "embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    },
    architectures={
        _named(architecture): layers for architecture, layers in BERT.architectures.items() if
        "next_sentence" not in layers
    },
    tasks={task: _named(architecture) for task, architecture in BERT.tasks.items() if task != "pretraining"},
    fields={
        **BERT.fields,
        "embedding_dim": "embedding_size",
        "num_block_groups": "num_hidden_groups",
        "classifier_dropout": "classifier_dropout_prob",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    fixed=BERT.fixed | {"inner_group_num": 1},
)  # fmt: skip
