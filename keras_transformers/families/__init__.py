"""Functions from the sizes of a model to its `TransformerConfig`, which hold the facts of each family."""

from keras_transformers.families.baselines import convolutional, recurrent
from keras_transformers.families.decoders import gpt1, gpt2, llama, mistral
from keras_transformers.families.encoder_decoders import bart, marian, mbart, t5, transformer
from keras_transformers.families.encoders import (
    albert,
    bert,
    camembert,
    deberta_v2,
    distilbert,
    electra,
    mpnet,
    roberta,
    xlm_roberta,
)
from keras_transformers.families.pre_norm_encoders import eurobert, modernbert
from keras_transformers.families.rotary_encoders import gte, nomic_bert

__all__ = ["albert", "bart", "bert", "camembert", "convolutional", "deberta_v2", "distilbert", "electra", "eurobert",
           "gpt1", "gpt2", "gte", "llama", "marian", "mbart", "mistral", "modernbert", "mpnet", "nomic_bert",
           "recurrent", "roberta", "t5", "transformer", "xlm_roberta"]  # fmt: skip
