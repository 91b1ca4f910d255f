"""Layers that all models of the zoo are built from."""

from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.attention.masks import causal_mask, combine, document_mask, padding_mask, window_mask
from keras_transformers.layers.blocks.copy_weights import copy_weights
from keras_transformers.layers.blocks.decoder_block import DecoderBlock
from keras_transformers.layers.blocks.encoder_block import EncoderBlock
from keras_transformers.layers.blocks.feed_forward import FeedForward
from keras_transformers.layers.blocks.mixer_decoder_block import MixerDecoderBlock
from keras_transformers.layers.blocks.mixer_encoder_block import MixerEncoderBlock
from keras_transformers.layers.blocks.residual import residual
from keras_transformers.layers.blocks.state_decoder_block import StateDecoderBlock
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.core.embedding import TokenEmbedding
from keras_transformers.layers.core.layer_norm import LayerNormalization, OffsetRMSNormalization, RMSNormalization
from keras_transformers.layers.crf.linear_chain import CRF, Viterbi
from keras_transformers.layers.mixers.convolution import Convolution
from keras_transformers.layers.mixers.gated_delta import GatedDelta
from keras_transformers.layers.mixers.recurrence import Recurrence
from keras_transformers.layers.mixers.short_convolution import ShortConvolution
from keras_transformers.layers.positions.absolute import (
    DocumentPositions,
    LearnedPositions,
    PositionIds,
    SinusoidalPositions,
    TokenPositions,
)
from keras_transformers.layers.positions.disentangled import DisentangledPositions
from keras_transformers.layers.positions.document_lengths import DocumentLengths
from keras_transformers.layers.positions.relative import ALiBi, RelativePositionBias
from keras_transformers.layers.positions.rotary import RotaryPositions

__all__ = [
    "CRF",
    "ALiBi",
    "Attention",
    "Convolution",
    "DecoderBlock",
    "DisentangledPositions",
    "DocumentLengths",
    "DocumentPositions",
    "Dropout",
    "EncoderBlock",
    "FeedForward",
    "GatedDelta",
    "LayerNormalization",
    "LearnedPositions",
    "MixerDecoderBlock",
    "MixerEncoderBlock",
    "OffsetRMSNormalization",
    "PositionIds",
    "RMSNormalization",
    "Recurrence",
    "RelativePositionBias",
    "RotaryPositions",
    "ShortConvolution",
    "SinusoidalPositions",
    "StateDecoderBlock",
    "TokenEmbedding",
    "TokenPositions",
    "Viterbi",
    "causal_mask",
    "combine",
    "copy_weights",
    "document_mask",
    "padding_mask",
    "residual",
    "window_mask",
]
