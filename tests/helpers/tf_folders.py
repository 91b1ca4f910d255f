"""Folders as Google's programs write them, with random weights, and the numbers that those programs compute."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (*SPECIAL, *"abcdefghij", *("##" + letter for letter in "abcdefghij"), "fine", "film", "dull", "story")
IDS = np.array([[2, 25, 26, 6, 3], [2, 27, 28, 3, 0]])
MASK = (IDS != 0).astype("int32")
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
Variables = dict[str, np.ndarray]
# From google-research/bert to `official.nlp`, first to last.
GARDEN = (
    (r"^bert/embeddings/word_embeddings$", "word_embeddings/embeddings"),
    (r"^bert/embeddings/position_embeddings$", "position_embedding/embeddings"),
    (r"^bert/embeddings/token_type_embeddings$", "type_embeddings/embeddings"),
    (r"^bert/embeddings/LayerNorm/", "embeddings/layer_norm/"),
    (r"^bert/pooler/dense/", "pooler_transform/"),
    (r"^bert/encoder/", "transformer/"),
    (r"/attention/self/", "/self_attention/"),
    (r"/attention/output/dense/", "/self_attention/attention_output/"),
    (r"/attention/output/LayerNorm/", "/self_attention_layer_norm/"),
    (r"/(intermediate|output)/dense/", r"/\1/"),
    (r"/output/LayerNorm/", "/output_layer_norm/"),
    (r"^cls/predictions/output_bias$", "bert/cls/predictions/output_bias/bias"),
    (r"^cls/predictions/", "bert/cls/predictions/"),
)


def bert_variables(
    width: int = 8, layers: int = 2, inner: int = 12, seed: int = 0, rows: int = len(WORDS), positions: int = 16
) -> Variables:
    """An encoder by the names of google-research/bert."""
    random = np.random.default_rng(seed)
    bert: Variables = {}

    def fill(name: str, *shape: int, mean: float = 0):
        bert[name] = random.normal(mean, 0.3, shape).astype("float32")

    def dense(name: str, size: int, units: int):
        fill(f"{name}/kernel", size, units)
        fill(f"{name}/bias", units)

    def norm(name: str):
        fill(f"{name}/gamma", width, mean=1)
        fill(f"{name}/beta", width)

    for name, count in {"word": rows, "token_type": 2, "position": positions}.items():
        fill(f"bert/embeddings/{name}_embeddings", count, width)
    norm("bert/embeddings/LayerNorm")
    for block in (f"bert/encoder/layer_{index}" for index in range(layers)):
        for part in ("self/query", "self/key", "self/value", "output/dense"):
            dense(f"{block}/attention/{part}", width, width)
        norm(f"{block}/attention/output/LayerNorm")
        dense(f"{block}/intermediate/dense", width, inner)
        dense(f"{block}/output/dense", inner, width)
        norm(f"{block}/output/LayerNorm")
    dense("bert/pooler/dense", width, width)
    return bert


def pretraining_variables(width: int = 8, seed: int = 1) -> Variables:
    """Both heads of pre-training."""
    random = np.random.default_rng(seed)
    shapes = {
        "cls/predictions/transform/dense/kernel": (width, width), "cls/predictions/transform/dense/bias": (width,),
        "cls/predictions/transform/LayerNorm/gamma": (width,), "cls/predictions/transform/LayerNorm/beta": (width,),
        "cls/predictions/output_bias": (len(WORDS),), "cls/seq_relationship/output_weights": (2, width),
        "cls/seq_relationship/output_bias": (2,),
    }  # fmt: skip
    return {name: random.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}


def head_variables(prefix: str, labels: int, width: int = 8, seed: int = 2) -> Variables:
    """The head of run_classifier.py (no prefix) or run_squad.py ("cls/squad/")."""
    random = np.random.default_rng(seed)
    shapes = {f"{prefix}output_weights": (labels, width), f"{prefix}output_bias": (labels,)}
    return {name: random.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}


def slots(variables: Mapping[str, np.ndarray]) -> Variables:
    """What BERT's optimizer keeps."""
    kept = {f"{name}/{slot}": np.zeros_like(x) for name, x in variables.items() for slot in ("adam_m", "adam_v")}
    return kept | {"global_step": np.array(7, "int64")}


def write_variables(prefix: Path, variables: Mapping[str, Any]) -> None:
    """Write a checkpoint of these names."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=[tf.constant(value) for value in variables.values()],
    )


def bert_config(variables: Mapping[str, np.ndarray], heads: int = 2, **more: Any) -> dict[str, Any]:
    """The values of the bert_config.json that describes variables."""
    rows, width = variables["bert/embeddings/word_embeddings"].shape
    return {
        "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": width,
        "initializer_range": 0.02, "intermediate_size": variables["bert/encoder/layer_0/intermediate/dense/bias"].size,
        "max_position_embeddings": len(variables["bert/embeddings/position_embeddings"]),
        "num_attention_heads": heads, "type_vocab_size": 2, "vocab_size": rows,
        "num_hidden_layers": sum(name.endswith("intermediate/dense/bias") for name in variables), **more,
    }  # fmt: skip


def write_vocabulary(folder: Path, words: tuple[str, ...] = WORDS) -> None:
    """Write a vocab.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def google_bert(
    folder: Path, variables: Variables, prefix: str = "bert_model.ckpt", heads: int = 2, **more: Any
) -> Path:
    """Write a folder of google-research/bert."""
    write_variables(folder / prefix, variables)
    write_vocabulary(folder)
    (folder / "bert_config.json").write_text(json.dumps(bert_config(variables, heads, **more)))
    return folder


def garden_variables(variables: Variables, heads: int = 2) -> Variables:
    """Variables of google-research/bert by the names and in the layouts of `official.nlp`."""
    renamed = {}
    for name, array in variables.items():
        if re.search(r"self/(query|key|value)/kernel", name):
            array = array.reshape(len(array), heads, -1)
        elif re.search(r"self/(query|key|value)/bias", name):
            array = array.reshape(heads, -1)
        elif name.endswith("attention/output/dense/kernel"):
            array = array.reshape(heads, -1, array.shape[1])
        for pattern, new in GARDEN:
            name = re.sub(pattern, new, name)
        renamed[name] = array
    return renamed


def write_objects(prefix: Path, variables: Variables, attributes: Mapping[str, Any] | None = None) -> None:
    """Write an object-based checkpoint.

    Args:
        prefix: Of the checkpoint.
        variables: By the names of their layers; keys are others, which tell nothing.
        attributes: Names of attributes and of those of the objects that they hold, or None for none.
    """
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    root, stored = graph.nodes.add(), {}
    for number, (name, value) in enumerate(variables.items()):
        key = f"{name}{VALUE}" if name in ("do_lower_case", "save_counter") else f"model/variables/{number}{VALUE}"
        root.children.add(node_id=len(graph.nodes), local_name=str(number))
        graph.nodes.add().attributes.add(name="VARIABLE_VALUE", full_name=name, checkpoint_key=key)
        stored[key] = value
    for name, inner in (attributes or {}).items():
        root.children.add(node_id=len(graph.nodes), local_name=name)
        node = graph.nodes.add()
        for child in inner or ():
            node.children.add(node_id=1, local_name=child)
    write_variables(prefix, stored | {"_CHECKPOINTABLE_OBJECT_GRAPH": graph.SerializeToString()})


def tf_hub(folder: Path, variables: Variables, lowercase: bool | None = True) -> Path:
    """Write a folder of TF-Hub; its graph is no graph, as nothing reads it."""
    said = {} if lowercase is None else {"do_lower_case": np.array(lowercase)}
    write_objects(folder / "variables/variables", variables | said)
    write_vocabulary(folder / "assets")
    (folder / "saved_model.pb").write_bytes(b"\xff a graph that nothing may read")
    return folder


def by_name(stored: Any) -> Variables:
    """The values of a record's tensors."""
    return {tensor.name: tensor.read() for tensor in stored.tensors()}


def bert_numbers(variables: Variables, heads: int = 2) -> np.ndarray:
    """The hidden states of an encoder for `IDS` and `MASK`, in float64. Returns (2, 5, width)."""
    v = {name: array.astype("float64") for name, array in variables.items()}

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ v[f"{name}/kernel"] + v[f"{name}/bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12) * v[f"{name}/gamma"] + v[f"{name}/beta"]

    def split(x: np.ndarray) -> np.ndarray:
        return x.reshape(*IDS.shape, heads, -1).transpose(0, 2, 1, 3)

    table = {name: v[f"bert/embeddings/{name}_embeddings"] for name in ("word", "position", "token_type")}
    x = table["word"][IDS] + table["position"][: IDS.shape[1]] + table["token_type"][0]
    x = norm("bert/embeddings/LayerNorm", x)
    for index in range(sum(name.endswith("intermediate/dense/bias") for name in v)):
        block = f"bert/encoder/layer_{index}"
        q, k, w = (split(dense(f"{block}/attention/self/{part}", x)) for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + (1 - MASK[:, None, None]) * -1e4
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True) @ w).transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(f"{block}/attention/output/LayerNorm", x + dense(f"{block}/attention/output/dense", y))
        y = dense(f"{block}/output/dense", gelu(dense(f"{block}/intermediate/dense", x)))
        x = norm(f"{block}/output/LayerNorm", x + y)
    return x


def gelu(x: np.ndarray) -> np.ndarray:
    """Google's gelu."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
