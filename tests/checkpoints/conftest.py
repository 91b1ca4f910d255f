"""Models of our own, and reference checkpoints made by `transformers`."""

from __future__ import annotations

import re
import types

import keras
import numpy as np
import pytest
from class_models import class_model

from keras_transformers.families import bert

LOGITS = {"MaskedLM": "masked_lm_logits", "NextSentencePrediction": "next_sentence_logits"}  # by their classes
SMALL = {"vocabulary_size": 90, "num_layers": 3, "num_heads": 4, "hidden_dim": 32, "max_length": 24}


def randomise(model, seed=0):
    """Gives every weight a random value that matters: no bias is zero, no norm is one."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        fan_in = weight.shape[0] if weight.path.endswith("kernel") else 1
        centre = 1.0 if weight.path.endswith(("gamma", "scale")) else 0.0
        weight.assign(centre + random.normal(0, 1 if fan_in == 1 else 1.5 / fan_in**0.5, weight.shape))


def batch(config, rows=2, length=None, seed=0):
    """Random ids with padding on the right, two segments and a source; all positions are asked for."""
    random = np.random.default_rng(seed)
    length = length or config.max_length
    real = np.arange(length) < random.integers(length // 2, length + 1, (rows, 1))
    token_ids = np.where(real, random.integers(5, config.vocabulary_size, (rows, length)), config.fill_id)
    segment_ids = (np.arange(length) >= random.integers(1, length, (rows, 1))) * real * (config.num_segments > 1)
    inputs = {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": real,
        "mask_positions": np.tile(np.arange(length), (rows, 1)),
    }
    if config.kind == "encoder_decoder":
        real = np.arange(length + 3) < random.integers(length // 2, length + 4, (rows, 1))
        ids = random.integers(5, config.encoder_vocabulary_size or config.vocabulary_size, real.shape)
        inputs |= {"encoder_token_ids": np.where(real, ids, config.fill_id), "encoder_padding_mask": real}
    return {name: array.astype("int32") for name, array in inputs.items()}


def predict(model, inputs):
    """The outputs of our model, padding rows zeroed where there is a row for each token."""
    outputs = model({name: inputs[name] for name in model.input})
    return {name: mask(keras.ops.convert_to_numpy(output), inputs, name) for name, output in outputs.items()}


def mask(array, inputs, name):
    real = inputs["encoder_padding_mask" if name.startswith("encoder_") else "padding_mask"]
    if array.shape == real.shape:  # a number for each token
        return array * real
    return array * real[..., None] if array.ndim == 3 else array


def difference(left, right):
    """The largest difference of two dicts of outputs, over the names that both have."""
    shared = left.keys() & right.keys()
    assert shared
    return max(float(np.abs(left[name] - right[name]).max()) for name in shared)


@pytest.fixture(scope="session")
def ours():
    """`build`, `randomise`, `batch`, `predict`, `difference` and a small `config`."""
    return types.SimpleNamespace(
        build=class_model,
        randomise=randomise,
        batch=batch,
        predict=predict,
        difference=difference,
        config=bert(**SMALL),
    )


def make_reference(folder, architecture="BertForPreTraining", seed=0, gain=1.5, **options):
    """Saves a checkpoint made by `transformers`, all of its weights random and large; returns the model.

    With a larger `gain` faults show more, and so do the roundings of a deep model.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(seed)
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**options)).eval()
    embedding = model.get_input_embeddings().weight  # which may be named after the output layer that it is tied to
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), *model.named_buffers()]:
            if not (weight.requires_grad or (name == "final_logits_bias" and architecture.startswith("Marian"))):
                continue  # sines and cosines
            if name.endswith("bias"):
                weight.normal_(0, 0.3)
            elif weight.ndim == 1:  # a norm
                weight.normal_(1, 0.3)
            elif weight is embedding or re.search("embed|wte|wpe|shared", name):
                weight.normal_(0, 0.15)
            else:
                fan_in = weight.shape[0 if ".c_" in name else 1]  # GPT keeps (input, output)
                unscaled = (
                    getattr(model.config, "d_kv", 1) if name.endswith(".q.weight") else 1
                )  # T5, else its softmax would be hard
                weight.normal_(0, gain / (fan_in * unscaled) ** 0.5)
    model.save_pretrained(folder)
    return model


def their_inputs(model, inputs):
    """The inputs of a model of `transformers`, by its names."""
    torch = pytest.importorskip("torch")
    names = {"token_ids": "input_ids", "padding_mask": "attention_mask"}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        names["segment_ids"] = "token_type_ids"
    if model.config.is_encoder_decoder:
        names = {f"encoder_{ours}": theirs for ours, theirs in names.items()} | {
            ours: f"decoder_{theirs}" for ours, theirs in names.items()
        }
    return {theirs: torch.from_numpy(inputs[ours]).long() for ours, theirs in names.items()}


def predict_reference(model, inputs):
    """The outputs of a model of `transformers`, under our names."""
    torch = pytest.importorskip("torch")
    tensors = their_inputs(model, inputs)
    kind = type(model).__name__
    if kind.endswith("MultipleChoice"):  # of one choice
        tensors = {name: tensor[:, None] for name, tensor in tensors.items()}
    with torch.no_grad():
        outputs = model(**tensors)
    if "start_logits" in outputs:
        spans = torch.stack([outputs["start_logits"], outputs["end_logits"]], -1)
        return {"span_logits": mask(spans.numpy(), inputs, "span_logits")}
    renamed = {
        "last_hidden_state": "hidden_states",
        "encoder_last_hidden_state": "encoder_hidden_states",
        "pooler_output": "pooled",
        "prediction_logits": "masked_lm_logits",
        "seq_relationship_logits": "next_sentence_logits",
        "logits": LOGITS.get(kind.partition("For")[2], "logits"),
    }
    return {
        renamed[name]: mask(output.numpy(), inputs, renamed[name])
        for name, output in outputs.items()
        if name in renamed
    }


@pytest.fixture(scope="session")
def theirs():
    """`make`, `inputs` and `predict` for the reference models of `transformers`, and the options of a small one."""
    options = {"vocab_size": 90, "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32}
    options |= {"intermediate_size": 128, "max_position_embeddings": 24}
    return types.SimpleNamespace(make=make_reference, inputs=their_inputs, predict=predict_reference, small=options)
