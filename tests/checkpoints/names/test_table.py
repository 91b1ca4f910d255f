"""Names looked up in tables: ours to theirs, and those of older files to today's."""

from __future__ import annotations

import pytest

from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.families.table import look_up, modern_name, their_name

LEAVES = {"kernel": ".weight", "bias": ".bias"}
WEIGHTS = {
    "a_block_{i}/dense": "layer.{i}.fc",
    "a_block_{i}/dense/scale": "layer.{i}.odd",
    "embedding/table": "wte",
}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a_block_0/dense/kernel", "layer.0.fc.weight"),
        ("a_block_12/dense/bias", "layer.12.fc.bias"),
        ("a_block_3/dense/scale", "layer.3.odd"),  # a whole path stands before that of its layer
        ("embedding/table", "wte"),
        ("a_block_0/dense/gamma", None),
        ("a_block_0/other/kernel", None),
        ("embedding", None),
    ],
)
def test_a_path_is_looked_up_whole_or_by_its_layer(path, name):
    assert look_up(path, WEIGHTS, LEAVES) == name


@pytest.mark.parametrize(
    ("family", "path", "name", "transposed"),
    [
        ("bert", "encoder_block_1/attention_norm/gamma", "layer.1.attention.output.LayerNorm.weight", False),
        ("bert", "encoder_block_1/attention/output/kernel", "layer.1.attention.output.dense.weight", True),
        ("gpt2", "decoder_block_1/feed_forward/intermediate/kernel", "transformer.h.1.mlp.c_fc.weight", False),
        ("marian", "decoder_block_0/cross_attention/key/bias", "decoder.layers.0.encoder_attn.k_proj.bias", False),
    ],
)
def test_kernels_are_stored_transposed_but_gpts(family, path, name, transposed):
    found, is_transposed = their_name(path, FAMILIES[family])
    assert found.endswith(name) and is_transposed is transposed


def test_a_weight_without_a_place():
    with pytest.raises(ValueError, match="the bert format of Hugging Face has no place for the weight 'router/kernel'"):
        their_name("router/kernel", FAMILIES["bert"])


@pytest.mark.parametrize(
    ("family", "old", "new"),
    [
        ("bert", "bert.embeddings.LayerNorm.beta", "bert.embeddings.LayerNorm.bias"),
        ("bert", "encoder.layer.0.output.dense.weight", "bert.encoder.layer.0.output.dense.weight"),
        ("bert", "cls.predictions.bias", "cls.predictions.bias"),
        ("gpt2", "h.0.ln_1.weight", "transformer.h.0.ln_1.weight"),
        ("gpt2", "lm_head.weight", "lm_head.weight"),
        ("bart", "final_logits_bias", "final_logits_bias"),
        ("gte", "new.pooler.dense.weight", "gte.pooler.dense.weight"),
        ("gte", "encoder.layer.0.attn_ln.weight", "gte.encoder.layer.0.attn_ln.weight"),
        ("gte", "lm_head.norm.weight", "lm_head.norm.weight"),
    ],
)
def test_names_of_older_files(family, old, new):
    assert modern_name(old, FAMILIES[family]) == new


def of_one_model(paths):
    """The paths that a model may have at once: of decoders, of encoders, of blocks with and without attention."""
    with_one_stack = not any("/cross_attention/" in path for path in paths)
    for left_out in ("decoder_block", "encoder_block") if with_one_stack else ("no block",):
        for without in ("/attention_norm", "/mixer_norm"):
            yield {path: name for path, name in paths.items() if left_out not in path and not path.endswith(without)}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_two_weights_of_a_class_have_one_name(family):
    names = FAMILIES[family]
    heads = {layer for layers in names.architectures.values() for layer in layers}
    for architecture, layers in names.architectures.items():
        merged = names.weights | names.weights_of.get(architecture, {})
        own = {path: name for path, name in merged.items() if path.split("/")[0] not in heads - {*layers}}
        assert len(own) >= len(names.weights) - len(heads)
        for paths in of_one_model(own):
            assert len({*paths.values()}) == len(paths)
    assert set(names.required) <= names.fields.keys()
    for architecture, weights in names.weights_of.items():
        assert architecture in names.architectures and weights.keys() <= names.weights.keys()
    for table in names.variants.values():
        assert table.model_type == names.model_type


@pytest.mark.parametrize("family", FAMILIES)
def test_every_task_has_an_architecture_of_the_family(family):
    assert set(FAMILIES[family].tasks.values()) <= FAMILIES[family].architectures.keys()
