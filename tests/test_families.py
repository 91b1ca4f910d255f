from __future__ import annotations

from keras_transformers.families import bert


def test_bert_base():
    """The bert_config.json of the release, under our names."""
    config = bert(30522, num_layers=12, num_heads=12, hidden_dim=768)
    released = {
        "family": "bert", "vocabulary_size": 30522, "num_layers": 12, "num_heads": 12, "hidden_dim": 768,
        "intermediate_dim": 3072, "max_length": 512, "num_segments": 2, "dropout": 0.1, "attention_dropout": 0.1,
        "activation": "gelu", "epsilon": 1e-12, "norm": "layer", "norm_order": "post", "positions": "learned",
        "num_kv_heads": 12, "head_dim": 64, "gated": False, "use_bias": True, "initializer_range": 0.02,
        "tie_embeddings": True, "pad_id": 0, "kind": "encoder", "output_initializer_range": None,
        "embedding_norm": True, "max_wavelength": 10000.0, "bos_id": None, "eos_ids": (),
    }  # fmt: skip
    assert config.to_dict() == released


def test_options_go_before_the_facts():
    config = bert(100, 2, 2, 16, intermediate_dim=20, dropout=0.0, epsilon=1e-5)
    assert (config.intermediate_dim, config.dropout, config.epsilon) == (20, 0.0, 1e-5)
