"""Functions from a configuration to a plain functional `keras.Model` of hidden states."""

from keras_transformers.models.decoder import decoder
from keras_transformers.models.encoder import encoder

__all__ = ["decoder", "encoder"]
