"""Folders as openai/gpt-2's download_model.py fetches them, with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tf_folders import Variables, write_variables

from keras_transformers.text.vocabularies.byte_pair_vocabulary import byte_letters

WIDTH, LAYERS, POSITIONS, HEADS = 8, 2, 12, 2
TOKENS = [*byte_letters(), "Ġf", "fi", "<|endoftext|>"]
MERGES = "#version: 0.2\nĠ f\nf i\n"


def variables(seed: int = 0, positions: int = POSITIONS) -> Variables:
    """A GPT-2 by the names of its program."""
    random = np.random.default_rng(seed)
    gpt = {
        "model/wte": random.normal(0, 0.3, (len(TOKENS), WIDTH)),
        "model/wpe": random.normal(0, 0.3, (positions, WIDTH)),
    }
    for block in [*(f"model/h{index}/" for index in range(LAYERS)), "model/"]:
        for norm in ("ln_1", "ln_2") if block != "model/" else ("ln_f",):
            gpt[f"{block}{norm}/g"] = random.normal(1, 0.3, WIDTH)
            gpt[f"{block}{norm}/b"] = random.normal(0, 0.3, WIDTH)
        layers = {"attn/c_attn": (1, 3), "attn/c_proj": (1, 1), "mlp/c_fc": (1, 4), "mlp/c_proj": (4, 1)}
        for name, (size, units) in (layers if block != "model/" else {}).items():
            gpt[f"{block}{name}/w"] = random.normal(0, 0.3, (1, size * WIDTH, units * WIDTH))
            gpt[f"{block}{name}/b"] = random.normal(0, 0.3, units * WIDTH)
    return {name: array.astype("float32") for name, array in gpt.items()}


GPT = variables()


def write(folder: Path, gpt: Variables = GPT, prefix: str = "model.ckpt", **hparams: int) -> Path:
    """Write a folder; `hparams` are of hparams.json."""
    sizes = {
        "n_vocab": len(TOKENS),
        "n_ctx": len(gpt["model/wpe"]),
        "n_embd": WIDTH,
        "n_head": HEADS,
        "n_layer": LAYERS,
    } | hparams
    write_variables(folder / prefix, gpt)
    (folder / "hparams.json").write_text(json.dumps(sizes))
    (folder / "encoder.json").write_text(json.dumps({token: number for number, token in enumerate(TOKENS)}))
    (folder / "vocab.bpe").write_text(MERGES, encoding="utf-8")
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt"\n')
    return folder
