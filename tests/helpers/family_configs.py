"""The config.json of a small model of each family, as a dict."""

from __future__ import annotations

from keras_transformers import families
from keras_transformers.checkpoints.names import FAMILIES, architecture_of
from keras_transformers.checkpoints.settings.huggingface_config import make_config

SIZES = {"vocabulary_size": 90, "num_layers": 2, "hidden_dim": 16, "max_length": 24}
MAKERS = {"openai-gpt": families.gpt1}
MORE = {"llama": {"num_kv_heads": 2}, "transformer": {"norm_order": "pre", "block_options": [{"attention_window": 8}]}}


def config_of(family: str) -> dict:
    """The config.json of a small model."""
    make = MAKERS.get(family) or getattr(families, family)
    sizes = SIZES | {"num_heads": 4} | ({"intermediate_dim": 32} if family == "llama" else {})
    config = make(**sizes, **MORE.get(family, {}))
    task = "seq2seq_lm" if config.kind == "encoder_decoder" else "causal_lm"
    task = "classification" if family in ("bert", "convolutional", "gpt2") else task
    has_labels = {"labels": ["no", "yes"], "problem": "single_label"} if task == "classification" else {}
    values = make_config(config, architecture_of(task, family), **has_labels)
    return values | {"zoo_task": {"name": task, "stride": 4}, "auto_map": {"AutoModel": "evil.Model"}}


CONFIGS = {family: config_of(family) for family in sorted(FAMILIES)}
