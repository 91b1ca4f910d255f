"""Analysis of models: attention maps."""

from keras_transformers.analysis.attention_maps import plot_attention

__all__ = ["plot_attention"]
