from __future__ import annotations

import os
from pathlib import Path

import pytest

from keras_transformers import families
from keras_transformers.families import albert, bart, bert, electra, marian, roberta, t5, transformer
from keras_transformers.families.table import Names


def test_bert_base():
    """The bert_config.json of the release, under our names."""
    config = bert(30522, num_layers=12, num_heads=12, hidden_dim=768)
    released = {
        "family": "bert", "vocabulary_size": 30522, "num_layers": 12, "num_heads": 12, "hidden_dim": 768,
        "intermediate_dim": 3072, "max_length": 512, "num_segments": 2, "dropout": 0.1, "attention_dropout": 0.1,
        "activation": "gelu", "epsilon": 1e-12, "norm": "layer", "norm_order": "post", "positions": "learned",
        "num_kv_heads": 12, "head_dim": 64, "gated": False, "attention_bias": True, "attention_output_bias": True,
        "feed_forward_bias": True, "intermediate_bias": True, "norm_bias": True, "head_norm": None,
        "attention_soft_cap": None, "attention_gate": False, "memory_heads": None, "memory_key_heads": None,
        "memory_key_dim": None, "memory_value_dim": None, "rotary_scaling": None, "partial_rotary_factor": 1.0,
        "initializer_range": 0.02, "tie_embeddings": True, "pad_id": 0, "kind": "encoder",
        "output_initializer_range": None,
        "embedding_norm": True, "max_wavelength": 10000.0, "bos_id": None, "eos_ids": (), "activation_dropout": 0.0,
        "final_dropout": False, "position_layout": "interleaved", "attention_scale": None, "scale_outputs": False,
        "embedding_initializer_range": None, "output_bias": False, "logits_soft_cap": None, "scale_embeddings": False,
        "num_decoder_layers": None, "encoder_vocabulary_size": None, "decoder_start_id": None,
        "pooler_activation": "tanh", "pooler_dropout": 0.0, "classifier_dropout": None, "position_offset": 0,
        "embedding_dim": None, "embedding_dropout": None, "parallel": False,
        "residual_scale": 1.0, "embedding_scale": 1.0, "logits_divisor": 1.0,
        "num_block_groups": None, "classifier_pooling": "first",
        "head_transform": "masked_lm", "head_bias": True,
        "position_buckets": None, "max_distance": None,
        "mixer": "attention", "cross_attention": True, "kernel_size": 3,
        "block_options": (),
    }  # fmt: skip
    assert config.to_dict() == released


def test_a_projection_is_only_where_widths_differ():
    """In ELECTRA; ALBERT always has one."""
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16}
    assert [electra(100, **sizes, embedding_dim=width).embedding_dim for width in (None, 8, 16)] == [None, 8, None]
    assert albert(100, **sizes, embedding_dim=16).embedding_dim == 16


def test_options_go_before_the_facts():
    config = bert(100, 2, 2, 16, intermediate_dim=20, dropout=0.0, epsilon=1e-5)
    assert (config.intermediate_dim, config.dropout, config.epsilon) == (20, 0.0, 1e-5)


def test_what_follows_from_an_option():
    assert transformer(100, pad_id=3).decoder_start_id == 3
    assert (marian(100).pad_id, marian(100).decoder_start_id, marian(100, pad_id=5).decoder_start_id) == (99, 99, 5)
    assert bart(100, 1, 2, 16, eos_ids=(7, 8)).decoder_start_id == 7
    assert (roberta(100, 1, 2, 16).position_offset, roberta(100, 1, 2, 16, pad_id=4).position_offset) == (2, 5)
    rates = [roberta(100, 1, 2, 16, **of).pooler_dropout for of in ({"dropout": 0.3}, {"classifier_dropout": 0.0})]
    assert rates == [0.3, 0.0]
    old, new = t5(100, 1, 2, 16), t5(100, 1, 2, 16, gated=True)
    assert (old.activation, old.tie_embeddings, old.scale_outputs) == ("relu", True, True)
    assert (new.activation, new.tie_embeddings, new.scale_outputs) == ("gelu_tanh", False, False)


def test_editors_see_the_functions():
    """`__init__.pyi` names them, as no list in the code does; UPDATE_GOLDEN=1 writes it."""
    names = {**{name: make.__module__ for name, make in families.FUNCTIONS.items()}, "Names": Names.__module__}
    lines = (f"from {module} import {name} as {name}" for name, module in names.items())
    stub = "\n".join([*sorted(lines), "", "FAMILIES: dict[str, Names]", ""])
    path = Path(families.__file__).with_suffix(".pyi")
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(stub)
    assert path.read_text() == stub


def test_two_tables_of_one_family_are_refused(monkeypatch):
    monkeypatch.setattr(
        families.decoders.mistral, "OTHER", families.FAMILIES["mistral"]._replace(prefix="other."), False
    )
    with pytest.raises(
        ImportError, match="two tables of names for 'mistral': begin the name of a part with an undersc"
    ):
        families.collect(families._find_tables(families.__name__, list(families.__path__)))
