"""Heads: from hidden states to the outputs of a task, by the functional API."""

from keras_transformers.heads.classification import classification_head
from keras_transformers.heads.language_model import language_model_head
from keras_transformers.heads.masked_lm import masked_lm_head
from keras_transformers.heads.next_sentence import next_sentence_head
from keras_transformers.heads.pooling import last_token, pooler

__all__ = [
    "classification_head",
    "language_model_head",
    "last_token",
    "masked_lm_head",
    "next_sentence_head",
    "pooler",
]
