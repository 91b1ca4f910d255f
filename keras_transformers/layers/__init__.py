"""Reusable layers: every model of the zoo is built from these."""

from keras_transformers.layers.attention import Attention
from keras_transformers.layers.convolution import Convolution
from keras_transformers.layers.decoder_block import DecoderBlock
from keras_transformers.layers.dropout import Dropout
from keras_transformers.layers.embedding import TokenEmbedding
from keras_transformers.layers.encoder_block import EncoderBlock
from keras_transformers.layers.feed_forward import FeedForward
from keras_transformers.layers.layer_norm import LayerNormalization
from keras_transformers.layers.masks import causal_mask, combine, document_mask, padding_mask, window_mask
from keras_transformers.layers.mixer_decoder_block import MixerDecoderBlock
from keras_transformers.layers.mixer_encoder_block import MixerEncoderBlock
from keras_transformers.layers.positions import DocumentPositions, LearnedPositions, PositionIds, SinusoidalPositions
from keras_transformers.layers.recurrence import Recurrence
from keras_transformers.layers.relative import ALiBi, RelativePositionBias
from keras_transformers.layers.residual import residual
from keras_transformers.layers.rotary import RotaryPositions

__all__ = [
    "ALiBi",
    "Attention",
    "Convolution",
    "DecoderBlock",
    "DocumentPositions",
    "Dropout",
    "EncoderBlock",
    "FeedForward",
    "LayerNormalization",
    "LearnedPositions",
    "MixerDecoderBlock",
    "MixerEncoderBlock",
    "PositionIds",
    "Recurrence",
    "RelativePositionBias",
    "RotaryPositions",
    "SinusoidalPositions",
    "TokenEmbedding",
    "causal_mask",
    "combine",
    "document_mask",
    "padding_mask",
    "residual",
    "window_mask",
]
