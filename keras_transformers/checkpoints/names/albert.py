"""Names of ALBERT."""

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT

BODY, GROUP = "albert.", "albert.encoder.albert_layer_groups.{i}.albert_layers.0."


def _named(architecture: str) -> str:
    return architecture.replace("Bert", "Albert")


ALBERT = BERT._replace(
    model_type="albert",
    configure=families.albert,
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
