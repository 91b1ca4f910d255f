from __future__ import annotations

import json

import numpy as np
import pytest
from gpt2_folder import GPT, HEADS, LAYERS, POSITIONS, TOKENS, write
from tf_folders import by_name, gelu

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

IDS = np.array([[70, 71, 5, 258, 9, 40]])


def numbers(gpt, ids, heads=HEADS):
    """The logits of openai/gpt-2, in float64."""
    v = {name.removeprefix("model/"): array.astype("float64") for name, array in gpt.items()}

    def conv(name, x):
        return x @ v[f"{name}/w"][0] + v[f"{name}/b"]

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * v[f"{name}/g"] + v[f"{name}/b"]

    x = v["wte"][ids] + v["wpe"][: ids.shape[1]]
    for block in (f"h{index}" for index in range(LAYERS)):
        parts = np.split(conv(f"{block}/attn/c_attn", norm(f"{block}/ln_1", x)), 3, -1)
        q, k, w = (part.reshape(*ids.shape, heads, -1).transpose(0, 2, 1, 3) for part in parts)
        scores = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) * np.tri(ids.shape[1])
        y = (scores / scores.sum(-1, keepdims=True) @ w).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + conv(f"{block}/attn/c_proj", y)
        x = x + conv(f"{block}/mlp/c_proj", gelu(conv(f"{block}/mlp/c_fc", norm(f"{block}/ln_2", x))))
    return norm("ln_f", x) @ v["wte"].T


def test_names_and_layouts(tmp_path):
    stored = find_stored(write(tmp_path))
    tensors = by_name(stored)
    assert (stored.writer, len(tensors)) == ("openai/gpt-2", len(GPT))
    kernel = GPT["model/h1/attn/c_attn/w"]
    np.testing.assert_array_equal(tensors["transformer.h.1.attn.c_attn.weight"], kernel[0])
    np.testing.assert_array_equal(tensors["transformer.ln_f.weight"], GPT["model/ln_f/g"])
    config = stored.config
    assert (config.num_heads, config.max_length, config.activation, config.epsilon) == (2, POSITIONS, "gelu_tanh", 1e-5)
    assert config.eos_ids == (TOKENS.index("<|endoftext|>"),)
    source, target = stored.tokenizers()
    assert source is target
    assert source.encode([" fine"])[0].ids == [TOKENS.index(token) for token in ("Ġf", "i", "n", "e")]


@pytest.mark.parametrize("key, value", [("n_vocab", 10**9), ("n_ctx", 1024), ("n_embd", 768), ("n_layer", 12)])
def test_sizes_that_contradict_the_variables(tmp_path, key, value):
    with pytest.raises(ValueError, match=f"hparams.json says .*{value}.*two models"):
        find_stored(write(tmp_path, **{key: value}))


@pytest.mark.parametrize("said", [UserOptions(num_heads=4), UserOptions(lowercase=True)])
def test_what_the_files_say_otherwise(tmp_path, said):
    with pytest.raises(ValueError, match="Leave it out"):
        find_stored(write(tmp_path), said)


def test_heads_that_only_the_user_says(tmp_path):
    folder = write(tmp_path, n_head=None)
    with pytest.raises(ValueError, match="num_heads="):
        find_stored(folder)
    assert find_stored(folder, UserOptions(num_heads=4)).config.num_heads == 4


@pytest.mark.parametrize("name", ["hparams.json", "model.ckpt.index", "encoder.json", "vocab.bpe"])
def test_a_file_is_missing(tmp_path, name):
    write(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ValueError, match=r"only a part|not there|no encoder.json|vocab.bpe"):
        find_stored(tmp_path).tokenizers()


def test_a_vocabulary_of_another_size(tmp_path):
    folder = write(tmp_path)
    (folder / "encoder.json").write_text(json.dumps({token: number for number, token in enumerate(TOKENS[:-1])}))
    with pytest.raises(ValueError, match=r"encoder.json has 258 tokens, and the model 259"):
        find_stored(folder)


@pytest.mark.integration
def test_the_numbers_of_the_program(tmp_path):
    task = zoo.load(write(tmp_path / "old"))
    task.save(tmp_path / "new")
    for loaded in (task, zoo.load(tmp_path / "new")):
        logits = loaded.model.predict({"token_ids": IDS, "padding_mask": np.ones_like(IDS)}, verbose=0)["logits"]
        np.testing.assert_allclose(logits, numbers(GPT, IDS), atol=1e-5)
