"""Heads: functions from hidden states to the outputs of a task, by the functional API."""

from keras_transformers.heads.classification_head import (
    classification_head,
    text_classification_head,
    token_classification_head,
)
from keras_transformers.heads.grouped_rows import grouped
from keras_transformers.heads.language_model import language_model_head
from keras_transformers.heads.masked_lm_head import masked_lm_head
from keras_transformers.heads.next_sentence import next_sentence_head
from keras_transformers.heads.pooling import last_token, mean_of_tokens, of_pooled, pooler
from keras_transformers.heads.replaced_token_head import replaced_token_head
from keras_transformers.heads.span import span_head

__all__ = [
    "classification_head",
    "grouped",
    "language_model_head",
    "last_token",
    "masked_lm_head",
    "mean_of_tokens",
    "next_sentence_head",
    "of_pooled",
    "pooler",
    "replaced_token_head",
    "span_head",
    "text_classification_head",
    "token_classification_head",
]
