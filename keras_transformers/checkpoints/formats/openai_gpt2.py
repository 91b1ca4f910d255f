"""The files of openai/gpt-2: hparams.json, encoder.json, vocab.bpe and `model.ckpt.*`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.bert_checkpoint import check_rows, check_same
from keras_transformers.checkpoints.formats.tf_checkpoint import find_prefix, load_checkpoint, read_variables
from keras_transformers.checkpoints.stored import HOW_TO_GIVE, Stored, UserOptions, folder_of, parsed
from keras_transformers.text.pipelines.library import refusals_as_errors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import byte_pair_vocabulary
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.untrusted import shown

WRITER = "openai/gpt-2"
SIZES, VOCABULARY, MERGES = "hparams.json", "encoder.json", "vocab.bpe"
NAMES = {"n_vocab": "vocab_size", "n_ctx": "n_positions", "n_embd": "n_embd", "n_layer": "n_layer", "n_head": "n_head"}
END = "<|endoftext|>"
LAYER = re.compile(r"model/(?:h(\d+)/)?(ln_1|ln_2|ln_f|attn/c_attn|attn/c_proj|mlp/c_fc|mlp/c_proj)/([gbw])")


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder of one of the models that openai/gpt-2's download_model.py fetches, or that its users trained."""
    folder = folder_of(place)
    if not any((folder / name).is_file() for name in (SIZES, VOCABULARY)):
        return None
    prefix = find_prefix(place)
    if prefix is None or not (folder / SIZES).is_file():
        raise ValueError(
            f"{folder} holds only a part of a GPT-2: expected {SIZES}, {VOCABULARY}, {MERGES} and model.ckpt.*, as "
            "download_model.py of openai/gpt-2 fetches them. Fetch the others too."
        )
    variables = read_variables(prefix, load_checkpoint(prefix))
    if "model/wte" not in variables:
        return None
    vocabulary = byte_pair_vocabulary.read_vocabulary(folder / VOCABULARY)
    values = _read_values(folder, variables, vocabulary, user_options)
    return parsed(
        values,
        folder / SIZES,
        writer=WRITER,
        place=place,
        tensors=lambda: [to_torch(tensor) for tensor in variables.values()],
        tokenizers=lambda: (read_tokenizer(folder),) * 2,
    )


def _read_values(
    folder: Path, variables: Mapping[str, Tensor], vocabulary: Mapping[str, int], user_options: UserOptions
) -> dict:
    path = folder / SIZES
    hparams = read_object(path)
    check_types(hparams, dict.fromkeys(NAMES, int), path)
    options = {theirs: hparams[ours] for ours, theirs in NAMES.items() if hparams.get(ours) is not None}
    if user_options.num_heads not in (None, options.setdefault("n_head", user_options.num_heads)):
        raise ValueError(
            f"{path} says n_head={options['n_head']}, the attention heads: received "
            f"num_heads={user_options.num_heads}. Leave it out."
        )
    if options["n_head"] is None:
        raise ValueError(f"{path} does not say n_head, the attention heads. Give {HOW_TO_GIVE['num_heads']}.")
    sizes = _sizes(variables, folder)
    check_same(options, sizes, path)
    check_rows(max(vocabulary.values()) + 1, sizes["vocab_size"], folder / VOCABULARY)
    end = vocabulary.get(END)
    return options | sizes | {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "bos_token_id": end, "eos_token_id": end,
    }  # fmt: skip


def _sizes(variables: Mapping[str, Tensor], folder: Path) -> dict[str, int]:
    shapes = [variables[name].shape if name in variables else () for name in ("model/wte", "model/wpe")]
    if any(len(shape) != 2 for shape in shapes):
        raise ValueError(f"{folder}: model/wte and model/wpe have the shapes {shown(shapes)}: expected two tables.")
    layers = {match[1] for match in map(LAYER.fullmatch, variables) if match and match[1]}
    (rows, width), (positions, _) = shapes
    return {"vocab_size": rows, "n_embd": width, "n_positions": positions, "n_layer": len(layers)}


def to_torch(tensor: Tensor) -> Tensor:
    """Return a variable by the name and in the layout of PyTorch's class: (1, in, out) loses its first axis."""
    if tensor.name in ("model/wte", "model/wpe"):
        return tensor._replace(name=f"transformer.{tensor.name[-3:]}.weight")
    match = LAYER.fullmatch(tensor.name)
    if match is None:
        return tensor
    block = f"h.{match[1]}." if match[1] else ""
    leaf = "bias" if match[3] == "b" else "weight"
    renamed = tensor._replace(name=f"transformer.{block}{match[2].replace('/', '.')}.{leaf}")
    return renamed.map(lambda array: array[0]) if tensor.shape[:1] == (1,) and len(tensor.shape) == 3 else renamed


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read encoder.json and vocab.bpe."""
    paths = folder / VOCABULARY, folder / MERGES
    with refusals_as_errors(paths[0]):
        return Tokenizer(byte_pair_vocabulary.build_gpt2(*byte_pair_vocabulary.read(*paths)))
