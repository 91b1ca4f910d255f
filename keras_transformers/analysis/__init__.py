"""Analysis of models: what layers cost, what their heads attend to, and what each layer adds to an answer."""

from keras_transformers.analysis.attention.attention_maps import plot_alignment, plot_attention, plot_heads
from keras_transformers.analysis.attention.pooled_maps import pooled
from keras_transformers.analysis.attention.rollout import rollout

__all__ = ["plot_alignment", "plot_attention", "plot_heads", "pooled", "rollout"]
