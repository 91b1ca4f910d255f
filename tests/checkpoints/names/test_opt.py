"""OPT's config.json: the model of 350M, whose embeddings are narrower than its blocks, and what is refused."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import opt
from keras_transformers.models import decoder

OPT_350M = {
    "_remove_final_layer_norm": False, "activation_dropout": 0.0, "activation_function": "relu",
    "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": False,
    "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 4096, "hidden_size": 1024, "init_std": 0.02, "layerdrop": 0.0,
    "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 16, "num_hidden_layers": 24,
    "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "use_cache": True, "vocab_size": 50272,
    "word_embed_proj_dim": 512,
}  # fmt: skip
SIZES = (50272, 24, 16, 1024)


def read(folder, **changes):
    (folder / "config.json").write_text(json.dumps(OPT_350M | changes))
    return read_config(folder)[0]


def test_the_released_file_of_the_model_of_350m(tmp_path):
    assert read(tmp_path) == opt(*SIZES, norm_order="post", embedding_dim=512)


@pytest.mark.parametrize("width", [None, 1024])
def test_embeddings_as_wide_as_the_blocks_have_no_projection(tmp_path, width):
    config = read(tmp_path, word_embed_proj_dim=width, do_layer_norm_before=True)
    assert config == opt(*SIZES) == opt(*SIZES, embedding_dim=1024)
    assert make_config(config, "OPTForCausalLM")["word_embed_proj_dim"] == 1024


@pytest.mark.parametrize(
    "changes", [{"_remove_final_layer_norm": True}, {"layer_norm_elementwise_affine": False}, {"layerdrop": 0.1}]
)
def test_what_is_refused_by_name(tmp_path, changes):
    (key,) = changes
    with pytest.raises(ValueError, match=f"config.json: {key}=.* is not supported"):
        read(tmp_path, **changes)


def test_projections_of_a_small_model():
    """Tokens are projected before positions are added, and the last hidden states back."""
    model = decoder(opt(30, 1, 2, 16, max_length=8, embedding_dim=6))
    widths = {layer.name: layer.output.shape[-1] for layer in model.layers if layer.name.endswith("projection")}
    assert widths == {"token_projection": 16, "output_projection": 6}
    assert model.output["hidden_states"].shape == (None, None, 6)
    with pytest.raises(ValueError, match="unknown outputs"):
        decoder(opt(30, 1, 2, 16, embedding_dim=6), outputs=["all_hidden_states"])
