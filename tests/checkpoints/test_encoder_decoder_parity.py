"""Logits of models of two stacks equal those of `transformers`, in both directions."""

import json

import numpy as np
import pytest
from mutations import drop, effects, rewrite, swap

from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import transformer

pytestmark = pytest.mark.parity
BOUND = 1e-4
BART = {
    "vocab_size": 90, "d_model": 32, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 27,
}  # fmt: skip
MARIAN = BART | {
    "pad_token_id": 89, "decoder_start_token_id": 89, "eos_token_id": 0, "scale_embedding": True,
    "activation_function": "swish",
}  # fmt: skip
T5 = {
    "vocab_size": 90, "d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4,
    "decoder_start_token_id": 0, "n_positions": 24,
}  # fmt: skip
SEPARATE = {"share_encoder_decoder_embeddings": False}
CASES = {
    "marian": ("MarianMTModel", MARIAN),
    "marian-relu": ("MarianMTModel", MARIAN | {"activation_function": "relu", "scale_embedding": False}),
    "marian-separate": ("MarianMTModel", MARIAN | SEPARATE | {"decoder_vocab_size": 95}),
    "marian-separate-equal": ("MarianMTModel", MARIAN | SEPARATE | {"decoder_vocab_size": 90}),
    "t5": ("T5ForConditionalGeneration", T5),
    "t5-silu": ("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-silu", "layer_norm_epsilon": 1e-2}),
    "t5-1.1": ("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "t5-bare": ("T5Model", T5),
    "bart": ("BartForConditionalGeneration", BART),
    "bart-relu": ("BartForConditionalGeneration", BART | {"activation_function": "relu", "scale_embedding": True}),
    "bart-bare": ("BartModel", BART),
    "mbart": ("MBartForConditionalGeneration", BART | {"scale_embedding": True, "decoder_start_token_id": 4}),
}


def make(folder, theirs, case):
    architecture, options = CASES[case]
    reference = theirs.make(folder, architecture, **options)
    return untie(folder, reference) if case == "t5-1.1" else reference


def untie(folder, reference):
    """As Google's files of version 1.1 are; transformers 5 makes no such model but from a file."""
    import torch

    matrix = torch.randn(reference.lm_head.weight.shape, generator=torch.Generator().manual_seed(1)) / 3
    rewrite(folder, lambda tensors: tensors | {"lm_head.weight": matrix})
    values = json.loads((folder / "config.json").read_text())
    del values["scale_decoder_outputs"]
    (folder / "config.json").write_text(json.dumps(values | {"tie_word_embeddings": False}))
    return type(reference).from_pretrained(folder).eval()


def read(folder, ours, **options):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"])
    load_weights(model, folder, **options)
    return config, model


@pytest.mark.parametrize("case", CASES)
def test_both_ways(tmp_path, ours, theirs, case):
    reference = make(tmp_path / "theirs", theirs, case)
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config, length=24)
    expected = theirs.predict(reference, inputs)
    assert "encoder_hidden_states" in expected
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    extra = read_config(tmp_path / "theirs")[1]
    save_folder(tmp_path / "ours", model, config, None, **extra)
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert ours.difference(theirs.predict(again, inputs), expected) == 0
    assert read_config(tmp_path / "ours") == (config, extra)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"):
        assert getattr(again.config, name, None) == getattr(reference.config, name, None)


def test_what_transformers_saves_again(tmp_path, ours, theirs):
    """Its version 5 then says that the embeddings of version 1.1 are tied, and stores both."""
    reference = make(tmp_path / "theirs", theirs, "t5-1.1")
    reference.save_pretrained(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "config.json").read_text())["tie_word_embeddings"] is True
    config, model = read(tmp_path / "again", ours)
    assert config == read_config(tmp_path / "theirs")[0]
    inputs = ours.batch(config, length=24)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_a_transformer_with_halves_is_a_marian(tmp_path, ours, theirs):
    config = transformer(90, 2, 4, 32, position_layout="halves", pad_id=3, eos_ids=[2])
    model = ours.build(config, "TransformerForSeq2SeqLM")
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture="TransformerForSeq2SeqLM")
    reference = pytest.importorskip("transformers").MarianMTModel.from_pretrained(tmp_path).eval()
    inputs = ours.batch(config, length=24)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    again, loaded = read(tmp_path, ours)
    assert (again.family, again.activation, again.pad_id, again.decoder_start_id) == ("marian", "relu", 3, 3)
    assert ours.difference(ours.predict(loaded, inputs), expected) < BOUND
    assert reference.generation_config.forced_eos_token_id is None


def with_copies(tensors):
    """As files of older versions, which store tied weights under each of their names, and sines and cosines."""
    import torch

    names = ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head")
    waves = {f"model.{side}.embed_positions.weight": torch.ones(27, 32) for side in ("encoder", "decoder")}
    return tensors | waves | {f"{name}.weight": tensors["model.shared.weight"] for name in names}


def with_a_copy_alone(tensors):
    tensors["model.encoder.embed_tokens.weight"] = tensors.pop("model.shared.weight")
    return tensors


def with_an_idle_bias(tensors):
    import torch

    return tensors | {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(32, 4)}


OLDER = {
    "marian with copies": ("marian", with_copies),
    "marian with a copy alone": ("marian", with_a_copy_alone),
    "bart with a copy alone": ("bart", with_a_copy_alone),
    "t5 with an idle bias": ("t5", with_an_idle_bias),
}


@pytest.mark.parametrize("case", OLDER)
def test_older_files(tmp_path, ours, theirs, case):
    name, change = OLDER[case]
    reference = make(tmp_path, theirs, name)
    rewrite(tmp_path, change)
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config, length=24)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_three_tables_for_one_are_refused(tmp_path, ours, theirs):
    """What transformers 5 makes of a Marian that is not tied."""
    theirs.make(tmp_path, "MarianMTModel", **MARIAN, tie_word_embeddings=False)
    with pytest.raises(ValueError, match=r"model\.encoder\.embed_tokens\.weight differs from model\.shared\.weight"):
        read(tmp_path, ours)


def test_what_cannot_be_loaded(tmp_path, ours, theirs):
    make(tmp_path, theirs, "bart")
    rewrite(tmp_path, lambda tensors: tensors | {"final_logits_bias": tensors["final_logits_bias"] + 1})
    with pytest.raises(ValueError, match="unexpected:\n  final_logits_bias"):
        read(tmp_path, ours)
    rewrite(tmp_path, lambda tensors: tensors | {"lm_head.weight": tensors["model.shared.weight"] + 1})
    with pytest.raises(ValueError, match=r"lm_head\.weight differs from model\.shared\.weight.*tie_word_embeddings"):
        read(tmp_path, ours)


def swap_norms(model):
    block = model.get_layer("decoder_block_1")
    swap(block.attention_norm, block.cross_attention_norm)


def swap_attentions(model):
    block = model.get_layer("decoder_block_0")
    swap(block.attention, block.cross_attention)


def drop_positions(model, end="position_embedding"):
    for side in ("encoder", "decoder"):
        drop(model.get_layer(f"{side}_{end}"))


def drop_relative_positions(model):
    drop_positions(model, "positions")


def interleave_waves(model):
    for side in ("encoder", "decoder"):
        model.get_layer(f"{side}_position_embedding").layout = "interleaved"


SIZES = {
    "marian": ("MarianMTModel", {
        "vocab_size": 58101, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
        "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "gain": 1.0,
        "max_position_embeddings": 512, "scale_embedding": True, "activation_function": "swish",
    }),
    "t5_small": ("T5ForConditionalGeneration", {"decoder_start_token_id": 0, "n_positions": 512, "gain": 1.0}),
    "bart_base": ("BartForConditionalGeneration", {
        "vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
        "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
        "max_position_embeddings": 1024, "gain": 1.0,
    }),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_checkpoints_of_real_size_both_ways_and_mutated(tmp_path, ours, theirs, capsys, name):
    architecture, options = SIZES[name]
    reference = theirs.make(tmp_path / "theirs", architecture, **options)
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config, rows=2, length=64)
    expected = theirs.predict(reference, inputs)
    loaded = ours.difference(ours.predict(model, inputs), expected)
    save_folder(tmp_path / "ours", model, config, None, architecture=architecture)
    kind = type(reference)
    del reference
    again = theirs.predict(kind.from_pretrained(tmp_path / "ours").eval(), inputs)
    of_positions = {"marian": interleave_waves, "t5_small": drop_relative_positions, "bart_base": drop_positions}
    mutated = effects(
        model,
        (swap_norms, swap_attentions, of_positions[name]),
        restore=lambda: load_weights(model, tmp_path / "theirs"),
        difference=lambda: ours.difference(ours.predict(model, inputs), expected),
    )
    scale = max(float(np.abs(array).max()) for array in expected.values())
    with capsys.disabled():
        print(f"\n{name}: loaded {loaded:.1e}, mutated {mutated}, largest number {scale:.1f}")
    assert ours.difference(again, expected) == 0
    assert loaded < BOUND
    assert min(mutated.values()) > 100 * BOUND
