"""Models of `transformers` whose blocks differ: ours give the same numbers with `block_options`."""

import re

import numpy as np
import pytest

from keras_transformers.checkpoints.files.tensors import by_name, read_tensors
from keras_transformers.checkpoints.weights.assign import assign
from keras_transformers.families import bert, llama
from keras_transformers.families.decoders.llama import LLAMA
from keras_transformers.families.table import their_name
from keras_transformers.models import encoder

pytestmark = pytest.mark.parity
BOUND = 1e-4
SIZES = {"num_layers": 4, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 48, "max_length": 24}
NO_ROPE = (1, 0, 1, 0)  # of SmolLM3: 0 for a block without positions


def smollm3(folder, theirs, windows):
    return theirs.make(
        folder, "SmolLM3ForCausalLM", vocab_size=90, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        hidden_size=32, intermediate_size=48, max_position_embeddings=24, pad_token_id=3, bos_token_id=1,
        eos_token_id=2, no_rope_layers=list(NO_ROPE), use_sliding_window=any(windows),
        sliding_window=max(windows) or None,
        layer_types=["sliding_attention" if window else "full_attention" for window in windows],
        rope_parameters={"rope_theta": 500.0, "rope_type": "default"},
    )  # fmt: skip


def our_smollm3(folder, ours, options):
    config = llama(90, **SIZES, num_kv_heads=2, max_wavelength=500.0, tie_embeddings=True, block_options=options)
    model = ours.build(config, "LlamaForCausalLM")
    tensors = by_name(((tensor.name, tensor) for tensor in read_tensors(folder)), folder)
    assign(model, tensors, lambda path: their_name(path, LLAMA))
    return config, model


@pytest.mark.parametrize("windows", [(0, 0, 0, 0), (0, 5, 5, 0)], ids=["full", "windows"])
def test_smollm3(tmp_path, ours, theirs, windows):
    reference = smollm3(tmp_path, theirs, windows)
    options = [
        {"rotary": bool(rotary), "attention_window": window or None}
        for rotary, window in zip(NO_ROPE, windows, strict=True)
    ]
    config, model = our_smollm3(tmp_path, ours, options)
    inputs = ours.batch(config)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    for index, key in [(1, "rotary"), (2, "attention_window")]:  # a fault in one block shows
        faulty = [dict(values) for values in options]
        faulty[index][key] = True if key == "rotary" else 4
        _, model = our_smollm3(tmp_path, ours, faulty)
        assert ours.difference(ours.predict(model, inputs), expected) > 100 * BOUND


def modernbert_name(path):
    """The tensor of one of our variables, which rows or columns of a fused one it is, and of how many."""
    block, number, layer = re.fullmatch(r"(encoder_block_(\d+)/)?(.*)/\w+", path).groups()
    if not block:
        names = {"token_embedding": "embeddings.tok_embeddings", "embedding_norm": "embeddings.norm"}
        return f"{names.get(layer, layer)}.weight", 0, 1
    fused = {
        "attention/query": ("attn.Wqkv", 0, 3), "attention/key": ("attn.Wqkv", 1, 3),
        "attention/value": ("attn.Wqkv", 2, 3), "attention/output": ("attn.Wo", 0, 1),
        "attention_norm": ("attn_norm", 0, 1), "feed_forward_norm": ("mlp_norm", 0, 1),
        "feed_forward/gate": ("mlp.Wi", 0, 2), "feed_forward/intermediate": ("mlp.Wi", 1, 2),
        "feed_forward/output": ("mlp.Wo", 0, 1),
    }  # fmt: skip
    name, part, parts = fused[layer]
    return f"layers.{number}.{name}.weight", part, parts


def load_modernbert(model, reference):
    tensors = {name: tensor.numpy() for name, tensor in reference.state_dict().items()}
    used = set()
    for weight in model.trainable_weights:
        name, part, parts = modernbert_name(weight.path)
        used.add(name)
        array = np.split(tensors[name], parts)[part]
        weight.assign(array.T if weight.path.endswith("kernel") else array)
    assert used == tensors.keys()


def test_modernbert(tmp_path, ours, theirs):
    """Windows on both sides, a rotary base of their own, and a first block without its attention norm."""
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    bases = {"full_attention": 500.0, "sliding_attention": 20.0}
    reference = theirs.make(
        tmp_path, "ModernBertModel", vocab_size=90, num_hidden_layers=4, num_attention_heads=4, hidden_size=32,
        intermediate_size=48, max_position_embeddings=24, pad_token_id=3, bos_token_id=1, eos_token_id=2,
        cls_token_id=1, sep_token_id=2, local_attention=7, layer_types=types, norm_eps=1e-5,
        rope_parameters={kind: {"rope_type": "default", "rope_theta": base} for kind, base in bases.items()},
    )  # fmt: skip
    window = {"attention_window": 7, "max_wavelength": 20.0}  # 3 tokens on both sides, as 6 would be
    options = [{"attention_norm": False}, window, window | {"attention_window": 6}, {}]
    config = bert(
        90, **SIZES, num_segments=0, norm_order="pre", positions="rotary", max_wavelength=500.0, gated=True,
        use_bias=False, embedding_norm=True, epsilon=1e-5, pad_id=3, block_options=options,
    )  # fmt: skip
    model = encoder(config)
    load_modernbert(model, reference)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND
    narrow = config.replace(block_options=[*options[:2], {"attention_window": 4, "max_wavelength": 20.0}, {}])
    faulty = encoder(narrow)
    load_modernbert(faulty, reference)
    assert ours.difference(ours.predict(faulty, inputs), theirs.predict(reference, inputs)) > 100 * BOUND
