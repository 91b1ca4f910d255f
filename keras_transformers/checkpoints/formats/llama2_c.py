"""Checkpoints of llama2.c: `ckpt.pt`, with the tokenizer's file beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
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
from keras_transformers.text.folder import llama2_c_tokenizer
from keras_transformers.text.pipelines.library import refusals_as_errors
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import NUMBER, Kind
from keras_transformers.utils.untrusted import shown

WRITER = "llama2.c"
MARKS = ("dim", "n_layers", "n_heads", "max_seq_len")
KINDS: dict[str, Kind] = {**dict.fromkeys((*MARKS, "n_kv_heads", "vocab_size"), int), "norm_eps": NUMBER,
                          "dropout": NUMBER}  # fmt: skip
TABLE, OUTPUT = "tok_embeddings.weight", "output.weight"
NAMES = {
    TABLE: "model.embed_tokens.weight", OUTPUT: "lm_head.weight", "norm.weight": "model.norm.weight",
    "attention.wq": "self_attn.q_proj", "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj", "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip
LAYER = re.compile(r"layers\.(\d+)\.(.+)\.weight")
CONSTANTS = re.compile(r"freqs_(cos|sin|cis)|layers\.\d+\.attention\.mask")
BEGIN, END = 1, 2  # the ids of <s> and </s>; <s> stands between the texts that a model is trained on


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read the checkpoint of a run of llama2.c's train.py."""
    path = find_run(place, MARKS)
    if path is None:
        return None
    run = read_run(path, KINDS, user_options)
    if TABLE not in run.tensors:
        return None
    values = _values(run)
    tokenizer = _read_tokenizer(run, folder_of(place))
    heads = {"wq": values["num_attention_heads"], "wk": values["num_key_value_heads"]}
    tensors = [tensor for name, tensor in run.tensors.items() if not CONSTANTS.fullmatch(name)]
    return parsed(
        values,
        path,
        writer=WRITER,
        place=place,
        tensors=lambda: [_to_torch(tensor, heads) for tensor in tensors],
        tokenizers=lambda: (tokenizer, tokenizer),
    )


def _values(run: Run) -> dict[str, Any]:
    rows, width = table_shape(run, TABLE)
    sizes = {
        "vocab_size": rows,
        "hidden_size": width,
        "num_hidden_layers": count_layers(run, lambda number: f"layers.{number}.feed_forward.w1.weight"),
    }
    said = {"vocab_size": "vocab_size", "dim": "hidden_size", "n_layers": "num_hidden_layers"}
    check_same({theirs: run.arguments.get(ours) for ours, theirs in said.items()}, sizes, run.path)
    heads = check_heads(run, run.arguments["n_heads"], width)
    kv_heads = run.arguments.get("n_kv_heads")
    return sizes | {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "rope_theta": 10000.0,
        "num_attention_heads": heads, "num_key_value_heads": check_heads(run, kv_heads or heads, heads),
        "intermediate_size": table_shape(run, "layers.0.feed_forward.w1.weight")[0], "attention_bias": False,
        "max_position_embeddings": run.arguments["max_seq_len"], "rms_norm_eps": run.arguments.get("norm_eps", 1e-5),
        "tie_word_embeddings": is_tied(run, OUTPUT, TABLE), "bos_token_id": BEGIN, "eos_token_id": [END, BEGIN],
    }  # fmt: skip


def _to_torch(tensor: Tensor, heads: dict[str, int]) -> Tensor:
    """Return a tensor by the name and in the layout of Llama's class."""
    match = LAYER.fullmatch(tensor.name)
    if match is None:
        return tensor._replace(name=NAMES.get(tensor.name, tensor.name))
    renamed = tensor._replace(name=f"model.layers.{match[1]}.{NAMES.get(match[2], match[2])}.weight")
    kind = match[2].rpartition(".")[2]
    return renamed.map(lambda array: _halved(array, heads[kind])) if kind in heads else renamed


def _halved(kernel: np.ndarray, heads: int) -> np.ndarray:
    """Return a kernel whose rotary pairs are neighbours, (heads * width, input), with the pairs a half apart."""
    pairs = kernel.reshape(heads, -1, 2, kernel.shape[-1])
    return pairs.swapaxes(1, 2).reshape(kernel.shape)


def _read_tokenizer(run: Run, folder: Path) -> Tokenizer:
    """Read the SentencePiece model beside a checkpoint, or the file that the C program reads in its place.

    Raises:
        ValueError: There is none, or several, or one of another model.
    """
    rows, _ = table_shape(run, TABLE)
    models = [*folder.glob("tokenizer.model")] or sorted(folder.glob("*.model"))
    binaries = [*folder.glob("tokenizer.bin")] or sorted(folder.glob("tok*.bin"))
    found = models or binaries
    if len(found) != 1:
        held = f"it holds {shown([path.name for path in found])}" if found else "there is none"
        raise ValueError(
            f"{run.path} is a checkpoint of llama2.c, which holds no tokenizer: expected one in {folder}, and {held}. "
            f"Its model has {rows:,} tokens: copy there the tokenizer.model that it was trained with (32,000: Llama "
            "2's), or data/tokN.model, or the tokenizer.bin of the C program."
        )
    with refusals_as_errors(found[0]):
        model = spm_file.read(found[0]) if models else llama2_c_tokenizer.read(found[0])
        check_rows(len(model.pieces), rows, found[0])
        return Tokenizer(llama2_c_tokenizer.build(model), llama2_c_tokenizer.files())
