"""Transformers of OpenNMT-tf 2: object-based checkpoints with vocabularies and SentencePiece models beside them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.opennmt_run import DESCRIPTION, Run, activation, num_heads, read_run
from keras_transformers.checkpoints.formats.opennmt_text import SIDES, Side, read_sides
from keras_transformers.checkpoints.formats.tf_checkpoint import (
    VALUE,
    find_prefix,
    load_checkpoint,
    object_graph,
    read_variables,
)
from keras_transformers.checkpoints.stored import Stored, Tokenizers, UserOptions, parsed
from keras_transformers.text.folder import opennmt_tokenizers
from keras_transformers.text.pipelines.library import refusals_as_errors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.untrusted import shown

WRITER = "OpenNMT-tf 2"
MODEL = "model/"
INPUTS = f"{MODEL}examples_inputter/"
SOURCE, TARGET, OUTPUT = (
    f"{INPUTS}features_inputter/embedding", f"{INPUTS}labels_inputter/embedding", f"{MODEL}decoder/output_layer/kernel",
)  # fmt: skip
POSITIONS = f"{MODEL}encoder/position_encoder"
BLOCK = re.compile(r"(encoder|decoder)/layers/(\d+)/(self_attention|attention/0|ffn)/(.+)/(\w+)")
SUBLAYERS = {"self_attention": "attention", "attention/0": "cross_attention", "ffn": "feed_forward"}
PARTS = {
    "layer/linear_queries": "/query", "layer/linear_keys": "/key", "layer/linear_values": "/value",
    "layer/linear_output": "/output", "layer/inner": "/intermediate", "layer/outer": "/output",
    "input_layer_norm": "_norm", "output_layer_norm": "_norm",  # before the sublayer, or after it
}  # fmt: skip
LEAVES = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
REST = {"decoder/output_layer/bias": "output_bias.bias"} | {
    f"{side}/layer_norm/{leaf}": f"{side}_final_norm.{LEAVES[leaf]}"
    for side in ("encoder", "decoder")
    for leaf in ("gamma", "beta")
}
# Parts of other models of OpenNMT-tf, by patterns of their keys.
OTHERS = {
    r".*/relative_position_\w+": "relative positions (TransformerBaseRelative, TransformerBigRelative)",
    r".*/position_encoder/.*": "learned positions (PositionEmbedder)",
    r".*inputters?/(inputters/)?\d+/.*|encoder/(encoders|layers/\d+/layers)/.*|decoder/.*/attention/[1-9]\d*/.*": (
        "several inputs (ParallelInputter or MixedInputter)"
    ),
    r".*(lstm|gru|rnn|cell|bridge|attention_mechanism|attention_layer|conv).*": "recurrent or convolutional layers",
}
LENGTH, MOST_NEW = 512, 250  # defaults: tokens of a text, and OpenNMT-tf's `maximum_decoding_length`
FOLLOWED = {"beam_width": "num_beams", "maximum_decoding_length": "max_new_tokens",
            "minimum_decoding_length": "min_new_tokens"}  # fmt: skip
MOST_BEAMS, MOST_TOKENS = 1 << 10, 1 << 16
# Options of decoding that are ignored, as they are other formulas or random, with the value that changes nothing.
NOT_FOLLOWED = {"length_penalty": 0, "coverage_penalty": 0, "sampling_topk": 1, "decoding_noise": None,
                "replace_unknown_target": False}  # fmt: skip


class Weights(NamedTuple):
    """The variables of a model.

    Args:
        prefix: Prefix of the checkpoint, for errors.
        tables: The embeddings of source and target and the output's kernel, each by its key; two that are one variable
            have one key.
        others: Other variables by key, without `model/`.
    """

    prefix: Path
    tables: Mapping[str, tuple[str, Tensor]]
    others: Mapping[str, Tensor]

    def is_one(self, name: str, other: str) -> bool:
        """Return whether two tables are one variable."""
        return self.tables[name][0] == self.tables[other][0]

    def count(self, side: str) -> int:
        """Count the layers of a stack."""
        found = (match for key in self.others if (match := BLOCK.fullmatch(key)))
        return len({match[2] for match in found if match[1] == side})


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a checkpoint of a `Transformer`, `folder/ckpt-N` or the newest one of a folder."""
    prefix = find_prefix(place)
    if prefix is None:
        return None
    reader = load_checkpoint(prefix)
    variables = read_variables(prefix, reader)
    run = read_run(prefix.parent) if is_ours(prefix, variables) else None
    if run is None:
        return None
    weights = _find_weights(prefix, variables, object_graph(prefix, reader))
    rows = dict(zip(SIDES, (weights.tables[name][1].shape[0] for name in (SOURCE, TARGET)), strict=True))
    values, assumed = _values(weights, run, user_options)
    sides = read_sides(run, rows)
    return parsed(
        values,
        prefix,
        writer=WRITER,
        place=place,
        tensors=lambda: list(_tensors(weights)),
        tokenizers=functools.partial(_tokenizers, prefix, sides),
        assumed=(*dict.fromkeys((*assumed, *(clause for side in sides for clause in side.assumed))),),
    )


def is_ours(prefix: Path, variables: Iterable[str]) -> bool:
    """Return whether OpenNMT-tf wrote a checkpoint.

    Raises:
        ValueError: There is no model in it.
    """
    if any(key.startswith(INPUTS) for key in variables):
        return True
    if (prefix.parent / DESCRIPTION).is_file():
        raise ValueError(
            f"{prefix} holds no model, maybe only the state of an optimizer: expected variables such as {SOURCE}. "
            "Give another checkpoint of the run."
        )
    return False


def _find_weights(prefix: Path, variables: Mapping[str, Tensor], graph: Any) -> Weights:
    """Sort the variables of a model into its tables and its other weights.

    Raises:
        ValueError: The model is not supported.
    """
    held = {key: tensor for key, tensor in variables.items() if key.startswith(MODEL)}
    keys = {name: _key_at(graph, name) for name in (SOURCE, TARGET, OUTPUT)}
    others = {
        key.removeprefix(MODEL).removesuffix(VALUE): tensor
        for key, tensor in held.items()
        if key not in keys.values() and not key.startswith(INPUTS)
    }
    strange = [key for key in others if not _our_name(key)]
    strange += [key.removeprefix(MODEL) for key in held if key.startswith(INPUTS) and key not in keys.values()]
    tables = {name: (key, held[key]) for name, key in keys.items() if key in held}
    lacking = [name.removeprefix(MODEL) for name in keys if name not in tables or len(tables[name][1].shape) != 2]
    if not any(key.startswith("encoder/") for key in others):
        _refuse(prefix, "no encoder (a LanguageModel)")
    if strange:
        kinds = (kind for pattern, kind in OTHERS.items() for key in strange if re.fullmatch(pattern, key))
        _refuse(prefix, next(kinds, f"weights that have no place here: {shown(strange)}"))
    if lacking:
        _refuse(prefix, f"nothing at {shown(lacking)}")
    if _node_at(graph, POSITIONS) is None:
        _refuse(prefix, "no positions")
    return Weights(prefix, tables, others)


def _refuse(prefix: Path, kind: str) -> NoReturn:
    """Raise the error of a model that is not supported."""
    raise ValueError(
        f"{prefix} holds a model of OpenNMT-tf with {kind}, which is not supported: expected a Transformer with an "
        "encoder, a decoder and sinusoidal positions. Give the checkpoint of one."
    )


def _node_at(graph: Any, path: str) -> Any | None:
    """Return an object of the record by the path of attributes to it, or None."""
    index = 0
    for name in path.split("/"):
        if not 0 <= index < len(graph.nodes):
            return None
        index = next((child.node_id for child in graph.nodes[index].children if child.local_name == name), -1)
    return graph.nodes[index] if 0 <= index < len(graph.nodes) else None


def _key_at(graph: Any, path: str) -> str:
    """Return the key of a variable by a path to it, or "". A variable with several paths has one key."""
    node = _node_at(graph, path)
    return next((attribute.checkpoint_key for attribute in node.attributes), "") if node else ""


def _our_name(key: str) -> str:
    """Return the name that a weight has here, or "" if it has no place.

    Example:

    >>> _our_name("decoder/layers/0/attention/0/layer/linear_keys/kernel")
    'decoder_block_0.cross_attention.key.weight'
    """
    match = BLOCK.fullmatch(key)
    if match is None:
        return REST.get(key, "")
    side, number, sublayer, part, leaf = match.groups()
    if part not in PARTS or leaf not in LEAVES:
        return ""
    return f"{side}_block_{int(number)}.{SUBLAYERS[sublayer]}{PARTS[part].replace('/', '.')}.{LEAVES[leaf]}"


def _tensors(weights: Weights) -> Iterable[Tensor]:
    """List the tensors by the names of the family "transformer"; dense kernels as (outputs, inputs)."""
    source, target, output = (weights.tables[name][1] for name in (SOURCE, TARGET, OUTPUT))
    yield target._replace(name="token_embedding.weight")
    if not weights.is_one(SOURCE, TARGET):
        yield source._replace(name="encoder_token_embedding.weight")
    if not weights.is_one(TARGET, OUTPUT):
        yield output.map(np.transpose)._replace(name="lm_head.weight")
    for key, tensor in weights.others.items():
        tensor = tensor._replace(name=_our_name(key))
        is_kernel = key.endswith("/kernel")
        yield tensor.map(np.transpose) if is_kernel else tensor
        bias = f"{key.removesuffix('kernel')}bias"
        if is_kernel and bias not in weights.others:  # mha_bias=False
            shape = tensor.shape[1:]
            yield Tensor(_our_name(bias), shape, "float32", functools.partial(np.zeros, shape, "float32"))


def _values(weights: Weights, run: Run, user_options: UserOptions) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the model's config.json, and the assumptions behind them."""
    rows, width = weights.tables[TARGET][1].shape
    heads, assumed = num_heads(run, user_options, width, weights.prefix)
    function, of_activation = activation(run, weights.prefix)
    decoding, of_decoding = _decoding(run)
    inner = weights.others.get("encoder/layers/0/ffn/layer/inner/bias")
    is_post = any("/output_layer_norm/" in key for key in weights.others)
    values = {
        "model_type": "transformer",
        "architectures": ["TransformerForSeq2SeqLM"],
        "vocabulary_size": rows,
        "encoder_vocabulary_size": None if weights.is_one(SOURCE, TARGET) else weights.tables[SOURCE][1].shape[0],
        "num_layers": weights.count("encoder"),
        "num_decoder_layers": weights.count("decoder"),
        "num_heads": heads,
        "hidden_dim": width,
        "intermediate_dim": inner.shape[0] if inner and inner.shape else None,
        "max_length": max(LENGTH, decoding["max_new_tokens"] + 2),
        "dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.1,
        "activation": function,
        "epsilon": 1e-3,
        "norm_order": "post" if is_post else "pre",
        "embedding_norm": False,
        "position_layout": "opennmt",
        "tie_embeddings": weights.is_one(TARGET, OUTPUT),
        "output_bias": "decoder/output_layer/bias" in weights.others,
        "pad_id": 0, "decoder_start_id": 1, "eos_ids": [2],
    }  # fmt: skip
    return values | decoding, [*assumed, *of_activation, *of_decoding]


def _decoding(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of generation, as generation_config.json calls them, and the assumptions behind them.

    Raises:
        ValueError: A YAML file has a value that is no number of tokens or beams.
    """
    given = {key: run.params[key] for key in FOLLOWED if run.params.get(key) is not None}
    for key, value in given.items():
        least = int(key != "minimum_decoding_length")
        most = MOST_BEAMS if key == "beam_width" else MOST_TOKENS
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(
                f"{run.source}: {key} must be a whole number from {least} to {most:,}: received {shown(value)}."
            )
    settings = {"max_new_tokens": MOST_NEW, "length_penalty": 0.0} | {FOLLOWED[key]: given[key] for key in given}
    assumed = []
    if "beam_width" not in given:
        assumed.append("texts are written without beams (beam_width: 1), as no YAML file says it")
    for key, neutral in NOT_FOLLOWED.items():
        if run.params.get(key, neutral) not in (neutral, None):
            assumed.append(
                f"texts are written without {key}: {shown(run.params[key])}, which means something else here"
            )
    return settings, assumed


def _tokenizers(prefix: Path, sides: Iterable[Side]) -> Tokenizers:
    with refusals_as_errors(prefix):
        source, target = (Tokenizer(side.build(), opennmt_tokenizers.files()) for side in sides)
        return source, target
