"""The configuration of a model: `TransformerConfig`, options of single blocks, and limits of sizes."""

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.rotary_scaling import RotaryScaling
from keras_transformers.config.transformer_config import TransformerConfig

__all__ = ["BlockOptions", "RotaryScaling", "TransformerConfig"]
