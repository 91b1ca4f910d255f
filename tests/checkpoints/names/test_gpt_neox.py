"""The files of GPT-NeoX and Pythia on the hub, from before version 5 of `transformers`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mutations import rewrite

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.families import gpt_neox

PYTHIA_70M = {
    "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
    "hidden_size": 512, "initializer_range": 0.02, "intermediate_size": 2048, "layer_norm_eps": 1e-05,
    "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6,
    "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": False, "torch_dtype": "float16",
    "transformers_version": "4.24.0", "use_cache": True, "use_parallel_residual": True, "vocab_size": 50304,
}  # fmt: skip
SMALL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 90}


def read(folder, values):
    (folder / "config.json").write_text(json.dumps(values))
    return read_config(folder)[0]


def test_the_released_file(tmp_path):
    assert read(tmp_path, PYTHIA_70M) == gpt_neox(50304, 6, 8, 512, bos_id=0, eos_ids=[0])


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("rotary_pct", 0.5, "partial_rotary_factor"),
        ("rotary_emb_base", 500, "max_wavelength"),
        ("use_parallel_residual", False, "parallel"),
    ],
)
def test_older_keys(tmp_path, key, value, field):
    config = read(tmp_path, PYTHIA_70M | {key: value})
    assert getattr(config, field) == value
    written = make_config(config, "GPTNeoXForCausalLM")
    assert written[key] == value
    assert read(tmp_path, written) == config


def test_ids_of_a_file_that_names_none(tmp_path):
    config = read(tmp_path, {key: value for key, value in PYTHIA_70M.items() if not key.endswith("token_id")})
    assert (config.bos_id, config.eos_ids, config.pad_id) == (0, (2,), None)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["embed_out.weight", "lm_head.weight"])
def test_both_names_and_buffers_of_weights(tmp_path, ours, theirs, name):
    """The output matrix by both of its names, and the masks and frequencies of old files."""
    import torch

    reference = theirs.make(tmp_path, "GPTNeoXForCausalLM", **(PYTHIA_70M | SMALL))

    def older(tensors):
        if name == "lm_head.weight":
            tensors[name] = tensors.pop("embed_out.weight")
        for block in range(2):
            attention = f"gpt_neox.layers.{block}.attention."
            tensors[attention + "bias"] = torch.tril(torch.ones(24, 24))[None, None]
            tensors |= {attention + "masked_bias": torch.tensor(-1e9), attention + "rotary_emb.inv_freq": torch.ones(1)}
        return tensors

    rewrite(tmp_path, older)
    config = read(tmp_path, PYTHIA_70M | SMALL)
    model = ours.build(config, "GPTNeoXForCausalLM")
    load_weights(model, tmp_path)
    inputs = ours.batch(config, length=21)
    assert np.isfinite(ours.predict(model, inputs)["logits"]).all()
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < 1e-4
