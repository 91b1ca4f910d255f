from __future__ import annotations

from functools import cache
from math import erf

import keras
import numpy as np
import pytest
from family_cases import ATTENTION
from keras import ops

from keras_transformers.analysis.residual.logit_lens import LogitLens
from keras_transformers.analysis.residual.residual_stream import record_stream
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.families import bert, convolutional, llama, recurrent
from keras_transformers.heads import (
    classification_head,
    language_model_head,
    last_token,
    masked_lm_head,
    text_classification_head,
)
from keras_transformers.models import decoder, encoder, encoder_decoder

SIZES = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
INNER = {"intermediate_dim": 24}
TWO = {"kind": "encoder_decoder"}
CONFIGS = {
    **{name: case.small(vocabulary_size=40, max_length=12) for name, case in ATTENTION.items()},
    "pre-norm encoder": bert(40, **SIZES, norm_order="pre"),
    "llama, untied": llama(40, **SIZES, **INNER, tie_embeddings=False),
    "lstm": recurrent(40, **SIZES, **INNER),
    "cnn": convolutional(40, **SIZES, **INNER, kind="decoder"),
    "cnn encoder": convolutional(40, **SIZES, **INNER),
    "rnn with attention": recurrent(40, **SIZES, **INNER, **TWO),
    "rnn without": recurrent(40, **SIZES, **INNER, **TWO, cross_attention=False),
    "cnn of two stacks": convolutional(40, **SIZES, **INNER, **TWO),
}  # fmt: skip
MODELS = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}
# A head that is affine behind the last norm: only then is a logit the sum of what was added.
AFFINE = [
    name
    for name, config in CONFIGS.items()
    if config.norm_order == "pre" and config.kind != "encoder" and config.head_transform != "all"
]
IDS = np.array([[3, 7, 9, 21, 5]], "int32")


def lively(model: keras.Model) -> keras.Model:
    """With all biases and norms random: where they are zeros and ones, a lost one is not seen."""
    generator = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(variable + 0.4 * generator.normal(size=variable.shape))
    return model


@cache
def model_of(name: str) -> keras.Model:
    """With the head of a language model, or of an encoder: its masked LM, and a classifier behind the pooler."""
    config = CONFIGS[name]
    body = MODELS[config.kind](config)
    states, embedding = body.output["hidden_states"], body.get_layer("token_embedding")
    if config.kind != "encoder":
        outputs = {"logits": language_model_head(config, embedding, states)}
        outputs["classes"] = classification_head(config, last_token(states, body.input["padding_mask"]), 3)
        return lively(keras.Model(body.input, outputs))
    positions = keras.Input((None,), dtype="int32", name="mask_positions")
    outputs = {"logits": masked_lm_head(config, embedding, states, positions)}
    outputs["classes"] = text_classification_head(config, states, body.input["padding_mask"], 3)
    return lively(keras.Model({**body.input, "mask_positions": positions}, outputs))


def inputs_of(name: str) -> dict[str, np.ndarray]:
    known = {"padding_mask": np.ones_like(IDS), "token_ids": IDS, "mask_positions": np.array([[1, 3]], "int32")}
    known |= {"segment_ids": np.array([[0, 0, 1, 1, 1]], "int32"), "encoder_token_ids": IDS[:, ::-1] + 4}
    return {key: known.get(key, np.ones_like(IDS)) for key in model_of(name).input}


def parts_of(name: str, block: int) -> list[str]:
    config = CONFIGS[name]
    parts = [config.block(block).mixer if config.kind == "decoder" and config.mixer == "attention" else config.mixer]
    if config.kind == "encoder_decoder" and config.cross_attention:
        parts.append("cross_attention")
    return parts + (["feed_forward"] if config.mixer == "attention" else [])


@pytest.mark.integration
@pytest.mark.parametrize("name", CONFIGS)
def test_the_last_step_is_what_the_model_answers(name):
    config, model, inputs = CONFIGS[name], model_of(name), inputs_of(name)

    steps = record_stream(config, model, inputs)

    blocks = range(config.num_blocks("encoder" if config.kind == "encoder" else "decoder"))
    assert [(step.layer, step.part) for step in steps[1:]] == [(n, part) for n in blocks for part in parts_of(name, n)]
    expected = model(inputs)
    for output in ("logits", "classes"):
        *before, last = LogitLens(config, model, output).read(steps, inputs)
        np.testing.assert_allclose(last, ops.convert_to_numpy(expected[output])[0], atol=1e-5)
        assert np.abs(before[-1] - last).max() > 1e-2  # the last sub-layer does something


@pytest.mark.integration(quick=["gpt2", "llama"])
@pytest.mark.parametrize("output", ["logits", "classes"])
@pytest.mark.parametrize("name", AFFINE)
def test_what_the_steps_of_a_pre_norm_model_add_makes_the_answer(name, output):
    config, model, inputs = CONFIGS[name], model_of(name), inputs_of(name)
    steps = record_stream(config, model, inputs)
    lens = LogitLens(config, model, output)

    added = list(lens.additions(steps, inputs))

    total = np.sum(added, axis=0) + lens.rest(steps, inputs)
    np.testing.assert_allclose(total, ops.convert_to_numpy(model(inputs)[output])[0], atol=1e-4)
    np.testing.assert_allclose(sum(step.added for step in steps), steps[-1].states, atol=1e-4)


def test_additions_are_those_that_numpy_computes():
    config, model, inputs = CONFIGS["gpt2"], model_of("gpt2"), inputs_of("gpt2")
    steps = record_stream(config, model, inputs)
    norm, table = model.get_layer("final_norm"), model.get_layer("token_embedding")
    gamma, beta = (ops.convert_to_numpy(weight) for weight in norm.weights)
    (vectors,) = [ops.convert_to_numpy(weight) for weight in table.weights]
    last = steps[-1].states
    deviation = np.sqrt(last.var(-1, keepdims=True) + config.epsilon)

    lens = LogitLens(config, model, "logits")

    for step, found in zip(steps, lens.additions(steps, inputs), strict=True):
        expected = (step.added - step.added.mean(-1, keepdims=True)) / deviation * gamma @ vectors.T
        np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(lens.rest(steps, inputs)[0], beta @ vectors.T, atol=1e-4)


def test_the_lens_is_what_numpy_computes_of_berts_head():
    """Post-norm; dense, gelu and norm before the projection with its bias."""
    config, model, inputs = CONFIGS["bert"], model_of("bert"), inputs_of("bert")
    steps = record_stream(config, model, inputs)
    found = list(LogitLens(config, model, "logits").read(steps, inputs))

    weights = {name: [ops.convert_to_numpy(w) for w in model.get_layer(f"masked_lm_{name}").weights]
               for name in ("dense", "norm", "bias")}  # fmt: skip
    vectors = ops.convert_to_numpy(model.get_layer("token_embedding").weights[0])
    for step, logits in zip(steps, found, strict=True):
        hidden = step.states[[1, 3]] @ weights["dense"][0] + weights["dense"][1]
        hidden = hidden * 0.5 * (1 + np.vectorize(erf)(hidden / np.sqrt(2)))
        hidden = (hidden - hidden.mean(-1, keepdims=True)) / np.sqrt(hidden.var(-1, keepdims=True) + config.epsilon)
        expected = (hidden * weights["norm"][0] + weights["norm"][1]) @ vectors.T + weights["bias"][0]
        np.testing.assert_allclose(logits, expected, atol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["bert", "gpt1"])
def test_steps_of_a_post_norm_model_are_normed_and_its_blocks_give_their_last_ones(name):
    config, model, inputs = CONFIGS[name], model_of(name), inputs_of(name)
    body = MODELS[config.kind](config, outputs=["all_hidden_states"])
    body.set_weights([weight for layer in body.layers for weight in model.get_layer(layer.name).get_weights()])

    steps = record_stream(config, model, inputs)

    states = ops.convert_to_numpy(body({key: inputs[key] for key in body.input})["all_hidden_states"])[0]
    np.testing.assert_allclose([step.states for step in steps[::2]], states, atol=1e-5)
    block = model.get_layer(f"{config.kind}_block_1")
    added = steps[2].states + steps[3].added
    np.testing.assert_allclose(ops.convert_to_numpy(block.attention_norm(added[None]))[0], steps[3].states, atol=1e-5)
    assert np.abs(sum(step.added for step in steps) - steps[-1].states).max() > 0.1  # no sum


@pytest.mark.integration
def test_half_precision_is_read_as_the_model_answers_it():
    config = CONFIGS["gpt2"]
    body = decoder(config, dtype="bfloat16")
    logits = language_model_head(config, body.get_layer("token_embedding"), body.output["hidden_states"], "bfloat16")
    model = lively(keras.Model(body.input, {"logits": logits}))
    inputs = {"token_ids": IDS, "padding_mask": np.ones_like(IDS)}

    *_, last = LogitLens(config, model, "logits").read(record_stream(config, model, inputs), inputs)

    expected = ops.convert_to_numpy(ops.cast(model(inputs)["logits"], "float32"))[0]
    np.testing.assert_allclose(last, expected, atol=2e-2)


SIZES_OF_BERT = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
REFERENCES = {
    "GPT2LMHeadModel": {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 12},
    "BertForMaskedLM": {**SIZES_OF_BERT, "intermediate_size": 64, "max_position_embeddings": 12},
    "LlamaForCausalLM": {
        **SIZES_OF_BERT, "intermediate_size": 24, "num_key_value_heads": 2, "max_position_embeddings": 12,
    },
}  # fmt: skip


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore:.* names start or end tokens")
@pytest.mark.parametrize("architecture", REFERENCES)
def test_the_stream_is_that_of_transformers(architecture, tmp_path):
    """Its `hidden_states`: the embeddings, and what is behind each block, at the end behind the last norm."""
    import torch
    from references import make_reference

    reference = make_reference(tmp_path, architecture, REFERENCES[architecture], {}, scale=10.0)
    config, _ = read_config(tmp_path)
    body = MODELS[config.kind](config)
    states, embedding, inputs = body.output["hidden_states"], body.get_layer("token_embedding"), dict(body.input)
    if config.kind == "encoder":
        inputs["mask_positions"] = keras.Input((None,), dtype="int32", name="mask_positions")
        model = keras.Model(inputs, {"logits": masked_lm_head(config, embedding, states, inputs["mask_positions"])})
    else:
        model = keras.Model(inputs, {"logits": language_model_head(config, embedding, states)})
    load_weights(model, tmp_path)
    given = {"token_ids": IDS, "padding_mask": np.ones_like(IDS), "segment_ids": 0 * IDS}
    given["mask_positions"] = np.arange(IDS.shape[1], dtype="int32")[None]
    given = {key: given[key] for key in model.input}

    steps = record_stream(config, model, given)

    with torch.no_grad():
        theirs = reference(torch.tensor(IDS, dtype=torch.long), output_hidden_states=True)
    blocks = [step.states for step in steps[::2]]
    assert len(blocks) == len(theirs.hidden_states) == 3
    if config.norm_order == "pre":
        blocks[-1] = ops.convert_to_numpy(model.get_layer("final_norm")(blocks[-1][None]))[0]
    for ours, expected in zip(blocks, theirs.hidden_states, strict=True):
        np.testing.assert_allclose(ours, expected[0].numpy(), atol=1e-4)
    *_, last = LogitLens(config, model, "logits").read(steps, given)
    np.testing.assert_allclose(last, theirs.logits[0].numpy(), atol=1e-4)
