"""Functions from a configuration to a functional `keras.Model` of hidden states."""

from keras_transformers.models.decoder import decoder
from keras_transformers.models.encoder import encoder
from keras_transformers.models.encoder_decoder import encoder_decoder

__all__ = ["decoder", "encoder", "encoder_decoder"]
