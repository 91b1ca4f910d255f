"""Checkpoints of nanoGPT: `ckpt.pt`, with the tokenizer's files beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.pickled import read_plain
from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats import openai_gpt2
from keras_transformers.checkpoints.formats.bert_checkpoint import check_rows, check_same
from keras_transformers.checkpoints.formats.torch_run import (
    Run,
    check_heads,
    count_layers,
    find_run,
    is_tied,
    read_run,
    table_shape,
)
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of, parsed
from keras_transformers.text.pipelines.library import refusals_as_errors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import byte_pair_vocabulary, character_vocabulary
from keras_transformers.utils.json_file import NUMBER, Kind
from keras_transformers.utils.untrusted import shown

WRITER = "nanoGPT"
MARKS = ("n_layer", "n_head", "n_embd", "block_size")
KINDS: dict[str, Kind] = {**dict.fromkeys((*MARKS, "vocab_size"), int), "bias": bool, "dropout": NUMBER}
NAMES = {"vocab_size": "vocab_size", "block_size": "n_positions", "n_embd": "n_embd", "n_layer": "n_layer"}
KERNEL = re.compile(r"transformer\.h\.\d+\.(?:attn|mlp)\.c_\w+\.weight")
CHARACTERS = "meta.pkl"
BYTE_PAIRS = (50257, 50304)  # rows of a model that was trained on GPT-2's tokens; the second fills up a multiple of 64


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read the checkpoint of a run of nanoGPT's train.py."""
    path = find_run(place, MARKS)
    if path is None:
        return None
    run = read_run(path, KINDS, user_options)
    if "transformer.wte.weight" not in run.tensors:
        return None
    tokenizer = _read_tokenizer(run, folder_of(place))
    return parsed(
        _values(run, tokenizer),
        path,
        writer=WRITER,
        place=place,
        tensors=lambda: [_to_torch(tensor) for tensor in run.tensors.values()],
        tokenizers=lambda: (tokenizer, tokenizer),
        assumed=["the activation is gelu with tanh, as before nanoGPT had the option `bias`"] * _is_old(run),
    )


def _is_old(run: Run) -> bool:
    return "bias" not in run.arguments


def _values(run: Run, tokenizer: Tokenizer) -> dict[str, Any]:
    rows, width = table_shape(run, "transformer.wte.weight")
    sizes = {
        "vocab_size": rows,
        "n_embd": width,
        "n_positions": table_shape(run, "transformer.wpe.weight")[0],
        "n_layer": count_layers(run, lambda number: f"transformer.h.{number}.mlp.c_fc.weight"),
    }
    check_same({theirs: run.arguments.get(ours) for ours, theirs in NAMES.items()}, sizes, run.path)
    inner = table_shape(run, "transformer.h.0.mlp.c_fc.weight")[0]
    specials = {tokenizer.id_to_token(number): number for number in tokenizer.special_ids}
    end = specials.get(byte_pair_vocabulary.END)
    rate = run.arguments.get("dropout", 0.0)
    return sizes | {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new" if _is_old(run) else "gelu", "n_inner": inner,
        "n_head": check_heads(run, run.arguments["n_head"], width),
        "use_bias": "transformer.ln_f.bias" in run.tensors,
        "tie_word_embeddings": is_tied(run, "lm_head.weight", "transformer.wte.weight"),
        "resid_pdrop": rate, "embd_pdrop": rate, "attn_pdrop": rate, "bos_token_id": end, "eos_token_id": end,
    }  # fmt: skip


def _to_torch(tensor: Tensor) -> Tensor:
    """Return a tensor in the layout of GPT-2's class, whose kernels are (input, output)."""
    return tensor.map(np.transpose) if KERNEL.fullmatch(tensor.name) and len(tensor.shape) == 2 else tensor


def _read_tokenizer(run: Run, folder: Path) -> Tokenizer:
    """Read the tokenizer from files beside a checkpoint.

    Raises:
        ValueError: There are none, or they are of another model.
    """
    rows, _ = table_shape(run, "transformer.wte.weight")
    if any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        tokenizer, path = Tokenizer.from_folder(folder, {"model_type": "gpt2"}), folder / "tokenizer.json"
    elif (folder / openai_gpt2.VOCABULARY).is_file():
        tokenizer, path = openai_gpt2.read_tokenizer(folder), folder / openai_gpt2.VOCABULARY
    elif (folder / CHARACTERS).is_file():
        tokenizer, path = _read_characters(folder / CHARACTERS), folder / CHARACTERS
    else:
        raise ValueError(_without_tokenizer(run, rows, folder))
    check_rows(tokenizer.vocabulary_size, rows, path)
    return tokenizer


def _read_characters(path: Path) -> Tokenizer:
    """Read the characters of a data set that nanoGPT's prepare.py wrote."""
    values = read_plain(path)
    letters: Any = values.get("stoi") if isinstance(values, dict) else None
    numbers: list[Any] = [*letters.values()] if isinstance(letters, dict) else [None]
    is_right = all(type(number) is int for number in numbers) and sorted(numbers) == [*range(len(numbers))]
    if not is_right or not all(isinstance(letter, str) and len(letter) == 1 for letter in letters):
        raise ValueError(
            f"{path} holds no characters with their ids from 0 on, as `stoi`: received {shown(letters)}. Give the "
            f"{CHARACTERS} that the prepare.py of a character-level data set of nanoGPT wrote, or a tokenizer.json."
        )
    with refusals_as_errors(path):
        return Tokenizer(character_vocabulary.build(dict(letters), ()))


def _without_tokenizer(run: Run, rows: int, folder: Path) -> str:
    """Return the error of a checkpoint alone."""
    data = run.config.get("dataset")
    dataset = f"data/{data}/{CHARACTERS}" if isinstance(data, str) else f"the {CHARACTERS} of its data set"
    byte_pairs = "GPT-2's encoder.json and vocab.bpe (or vocab.json and merges.txt, or tokenizer.json)"
    wanted = byte_pairs if rows in BYTE_PAIRS else f"{shown(dataset)}, if it was trained on characters, or {byte_pairs}"
    return (
        f"{run.path} is a checkpoint of nanoGPT, which holds no tokenizer, and there is none in {folder}: its model "
        f"has {rows:,} tokens. Copy there {wanted}."
    )
