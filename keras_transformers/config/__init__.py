"""The description of a model: `TransformerConfig`, the options of a block that differs, and limits of sizes."""

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.transformer_config import TransformerConfig

__all__ = ["BlockOptions", "TransformerConfig"]
