"""Positions in attention, MPNet's beside learned ones and DeBERTa's: the numbers of `transformers`."""

import keras
import numpy as np
import pytest

from keras_transformers.checkpoints.files.tensors import by_name, read_tensors
from keras_transformers.checkpoints.settings.huggingface_config import make_config
from keras_transformers.checkpoints.weights.assign import assign
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.config.choices import first_position
from keras_transformers.families import bert, deberta_v2
from keras_transformers.families.encoders.bert import BERT
from keras_transformers.families.encoders.deberta_v2 import DEBERTA_V2
from keras_transformers.families.table import their_name
from keras_transformers.models import encoder

pytestmark = pytest.mark.parity
BLOCK = "encoder.layer.{i}"
PARTS = {"query": "q", "key": "k", "value": "v", "output": "o"}
WEIGHTS = {ours: theirs.removeprefix("bert.") for ours, theirs in BERT.weights.items()}
WEIGHTS |= {f"encoder_block_{{i}}/attention/{ours}": f"{BLOCK}.attention.attn.{it}" for ours, it in PARTS.items()}
WEIGHTS |= {
    "encoder_block_{i}/attention_norm": f"{BLOCK}.attention.LayerNorm",
    "positions": "encoder.relative_attention_bias",
}


def test_learned_and_relative_positions(tmp_path, ours, theirs):
    """A text of more tokens than the exact buckets of distances, so that the logarithmic ones count, too."""
    reference = theirs.make(
        tmp_path, "MPNetModel", vocab_size=90, num_hidden_layers=2, num_attention_heads=4, hidden_size=32,
        intermediate_size=64, max_position_embeddings=66, layer_norm_eps=1e-2,
    )  # fmt: skip
    config = bert(
        90, num_layers=2, num_heads=4, hidden_dim=32, intermediate_dim=64, max_length=64, num_segments=0, epsilon=1e-2,
        positions=["learned", "relative"], pad_id=1, position_offset=first_position(),
    )  # fmt: skip
    model = encoder(config)
    tensors = by_name(((tensor.name, tensor) for tensor in read_tensors(tmp_path)), tmp_path)
    names = BERT._replace(weights=WEIGHTS, prefix="")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
    assign(model, kept, lambda path: their_name(path, names))
    inputs = ours.batch(config)
    inputs["token_ids"][:, 7] = config.pad_id  # typed in the text
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4
    model.get_layer("positions").embeddings.assign(np.zeros((32, 4)))
    assert ours.difference(ours.predict(model, inputs), expected) > 1e-2


@pytest.mark.parametrize("linear_from", [None, 100], ids=["all at once", "in chunks"])
def test_distances_beyond_the_buckets_and_their_gradients(tmp_path, ours, theirs, linear_from):
    """300 tokens, of which 256 are a chunk, with 4 near distances: states and gradients of all weights."""
    import tensorflow as tf
    import torch

    config = deberta_v2(
        90,
        num_layers=2,
        num_heads=4,
        hidden_dim=32,
        intermediate_dim=64,
        max_length=64,
        position_buckets=8,
        epsilon=1e-2,
    )
    reference = theirs.make(tmp_path, "DebertaV2Model", gain=1.0, **make_config(config, "DebertaV2Model"))
    model = encoder(config)
    load_weights(model, tmp_path)
    for index in range(2):
        model.get_layer(f"encoder_block_{index}").attention.linear_from = linear_from
    inputs = ours.batch(config, length=300)
    real = inputs["padding_mask"][..., None]
    upstream = np.random.default_rng(1).normal(size=(2, 300, 32)).astype("float32") * real

    states = reference(*(torch.from_numpy(inputs[name]).long() for name in ("token_ids", "padding_mask")))[0]
    (states * torch.from_numpy(upstream)).sum().backward()
    with tf.GradientTape() as tape:
        found = model({name: inputs[name] for name in model.input})["hidden_states"]
        total = tf.reduce_sum(found * upstream)
    assert np.abs((keras.ops.convert_to_numpy(found) - states.detach().numpy()) * real).max() < 1e-4

    expected = {f"deberta.{name}": weight.grad.numpy() for name, weight in reference.named_parameters()}
    weights = model.trainable_variables
    for weight, gradient in zip(weights, tape.gradient(total, [weight.value for weight in weights]), strict=True):
        name, is_transposed = their_name(weight.path, DEBERTA_V2)
        gradient = tf.convert_to_tensor(gradient).numpy()
        difference = np.abs((gradient.T if is_transposed else gradient) - expected[name]).max()
        assert difference < 1e-4 * max(1, np.abs(expected[name]).max()), name
    assert len(weights) == len(expected)
