"""Analysis of models: what layers cost, and what their heads attend to."""

from keras_transformers.analysis.attention.attention_maps import plot_alignment, plot_attention, plot_heads
from keras_transformers.analysis.attention.pooled_maps import pooled
from keras_transformers.analysis.attention.rollout import rollout

__all__ = ["plot_alignment", "plot_attention", "plot_heads", "pooled", "rollout"]
