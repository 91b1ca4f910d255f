"""Names of DistilBERT."""

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.roberta import named_classes

BODY, LAYER = "distilbert.", "distilbert.transformer.layer.{i}."

DISTILBERT = BERT._replace(
    model_type="distilbert",
    configure=families.distilbert,
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
