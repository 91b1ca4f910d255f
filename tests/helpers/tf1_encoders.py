"""Checkpoints of google-research/electra and albert, by the Saver of TensorFlow 1, and their numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tf_folders import IDS, MASK, WORDS, Variables, slots, write_vocabulary

from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import CONTROL, UNIGRAM, UNKNOWN, Piece

PIECES = (
    Piece("<pad>", 0, CONTROL), Piece("<unk>", 0, UNKNOWN), Piece("[CLS]", 0, CONTROL), Piece("[SEP]", 0, CONTROL),
    Piece("[MASK]", 0, CONTROL),
    *(Piece(text, -1.0 - number) for number, text in enumerate(("▁", "▁fine", "▁film", "a", "b", "é", "1,", "▁a"))),
)  # fmt: skip


def gelu_erf(x: np.ndarray) -> np.ndarray:
    """ELECTRA's gelu, the exact one."""
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


class Shapes:
    """The shapes of variables by name, collected layer by layer."""

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[int, ...]] = {}

    def dense(self, name: str, size: int, units: int) -> None:
        self.shapes |= {f"{name}/kernel": (size, units), f"{name}/bias": (units,)}

    def norm(self, name: str, width: int) -> None:
        self.shapes |= {f"{name}/gamma": (width,), f"{name}/beta": (width,)}

    def tables(self, scope: str, rows: int, width: int) -> None:
        for name, count in {"word": rows, "token_type": 2, "position": 16}.items():
            self.shapes[f"{scope}/{name}_embeddings"] = (count, width)
        self.norm(f"{scope}/LayerNorm", width)

    def filled(self, seed: int) -> Variables:
        """Random values, those of norms around one."""
        random = np.random.default_rng(seed)
        return {
            name: random.normal(float(name.endswith("gamma")), 0.3, shape).astype("float32")
            for name, shape in self.shapes.items()
        }


def electra_variables(
    width: int = 8, embedding: int = 6, generator: int = 4, own: bool = False, seed: int = 0
) -> Variables:
    """A discriminator of two layers and a generator of one, by the names of google-research/electra."""
    shapes = Shapes()
    shapes.tables("electra/embeddings", len(WORDS), embedding)
    if own:
        shapes.tables("generator/embeddings", len(WORDS), embedding)
    for scope, size, layers in (("electra", width, 2), ("generator", generator, 1)):
        if size != embedding:
            shapes.dense(f"{scope}/embeddings_project", embedding, size)
        for block in (f"{scope}/encoder/layer_{index}" for index in range(layers)):
            for part in ("self/query", "self/key", "self/value", "output/dense"):
                shapes.dense(f"{block}/attention/{part}", size, size)
            shapes.norm(f"{block}/attention/output/LayerNorm", size)
            shapes.dense(f"{block}/intermediate/dense", size, 4 * size)
            shapes.dense(f"{block}/output/dense", 4 * size, size)
            shapes.norm(f"{block}/output/LayerNorm", size)
    shapes.dense("discriminator_predictions/dense", width, width)
    shapes.dense("discriminator_predictions/dense_1", width, 1)
    shapes.dense("generator_predictions/dense", generator, embedding)
    shapes.norm("generator_predictions/LayerNorm", embedding)
    shapes.shapes["generator_predictions/output_bias"] = (len(WORDS),)
    return shapes.filled(seed)


def albert_variables(width: int = 8, embedding: int = 6, groups: int = 1, rows: int = len(PIECES)) -> Variables:
    """A pre-trained model by the names of google-research/albert."""
    shapes = Shapes()
    shapes.tables("bert/embeddings", rows, embedding)
    shapes.dense("bert/encoder/embedding_hidden_mapping_in", embedding, width)
    for at in (f"bert/encoder/transformer/group_{group}/inner_group_0" for group in range(groups)):
        for part in ("self/query", "self/key", "self/value", "output/dense"):
            shapes.dense(f"{at}/attention_1/{part}", width, width)
        shapes.norm(f"{at}/LayerNorm", width)
        shapes.dense(f"{at}/ffn_1/intermediate/dense", width, 12)
        shapes.dense(f"{at}/ffn_1/intermediate/output/dense", 12, width)
        shapes.norm(f"{at}/LayerNorm_1", width)
    shapes.dense("bert/pooler/dense", width, width)
    shapes.dense("cls/predictions/transform/dense", width, embedding)
    shapes.norm("cls/predictions/transform/LayerNorm", embedding)
    shapes.shapes |= {"cls/predictions/output_bias": (rows,), "cls/seq_relationship/output_weights": (2, width)}
    shapes.shapes["cls/seq_relationship/output_bias"] = (2,)
    return shapes.filled(0)


class Numbers:
    """What the programs compute for `IDS` and `MASK`, in float64."""

    def __init__(self, variables: Variables, act: Callable[[np.ndarray], np.ndarray]):
        self.v = {name: array.astype("float64") for name, array in variables.items()}
        self.act = act

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.v[f"{name}/kernel"] + self.v[f"{name}/bias"]

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12) * self.v[f"{name}/gamma"] + self.v[f"{name}/beta"]

    def embed(self, scope: str) -> np.ndarray:
        table = {name: self.v[f"{scope}/{name}_embeddings"] for name in ("word", "position", "token_type")}
        x = table["word"][IDS] + table["position"][: IDS.shape[1]] + table["token_type"][0]
        return self.norm(f"{scope}/LayerNorm", x)

    def attend(self, name: str, x: np.ndarray, heads: int) -> np.ndarray:
        parts = (self.dense(f"{name}/self/{part}", x) for part in ("query", "key", "value"))
        q, k, w = (part.reshape(*IDS.shape, heads, -1).transpose(0, 2, 1, 3) for part in parts)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + (1 - MASK[:, None, None]) * -1e4
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True) @ w).transpose(0, 2, 1, 3).reshape(x.shape)
        return x + self.dense(f"{name}/output/dense", y)

    def electra(self, scope: str, layers: int, heads: int, embeddings: str = "electra/embeddings") -> np.ndarray:
        x = self.embed(embeddings)
        if f"{scope}/embeddings_project/kernel" in self.v:
            x = self.dense(f"{scope}/embeddings_project", x)
        for at in (f"{scope}/encoder/layer_{index}" for index in range(layers)):
            x = self.norm(f"{at}/attention/output/LayerNorm", self.attend(f"{at}/attention", x, heads))
            y = self.dense(f"{at}/output/dense", self.act(self.dense(f"{at}/intermediate/dense", x)))
            x = self.norm(f"{at}/output/LayerNorm", x + y)
        return x

    def replaced(self, x: np.ndarray) -> np.ndarray:
        scope = "discriminator_predictions"
        return self.dense(f"{scope}/dense_1", self.act(self.dense(f"{scope}/dense", x)))[..., 0]

    def generated(self, x: np.ndarray, embeddings: str = "electra/embeddings") -> np.ndarray:
        scope = "generator_predictions"
        y = self.norm(f"{scope}/LayerNorm", self.act(self.dense(f"{scope}/dense", x)))
        return y @ self.v[f"{embeddings}/word_embeddings"].T + self.v[f"{scope}/output_bias"]

    def albert(self, layers: int, heads: int, groups: int = 1) -> np.ndarray:
        x = self.dense("bert/encoder/embedding_hidden_mapping_in", self.embed("bert/embeddings"))
        for layer in range(layers):
            at = f"bert/encoder/transformer/group_{int(layer / layers * groups)}/inner_group_0"
            x = self.norm(f"{at}/LayerNorm", self.attend(f"{at}/attention_1", x, heads))
            y = self.act(self.dense(f"{at}/ffn_1/intermediate/dense", x))
            x = self.norm(f"{at}/LayerNorm_1", x + self.dense(f"{at}/ffn_1/intermediate/output/dense", y))
        return x

    def albert_words(self, x: np.ndarray) -> np.ndarray:
        scope = "cls/predictions"
        y = self.norm(f"{scope}/transform/LayerNorm", self.act(self.dense(f"{scope}/transform/dense", x)))
        return y @ self.v["bert/embeddings/word_embeddings"].T + self.v[f"{scope}/output_bias"]


def save(prefix: Path, variables: Variables) -> None:
    """Write a checkpoint by the Saver of TensorFlow 1, with the optimizer's slots."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in {**variables, **slots(variables)}.items():
            v1.get_variable(name, initializer=value, use_resource=False)
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(prefix))


def electra_folder(folder: Path, variables: Variables, name: str = "electra_small") -> Path:
    """Write the folder of a published ELECTRA: no file says its sizes."""
    save(folder / name, variables)
    write_vocabulary(folder)
    return folder


def albert_folder(folder: Path, variables: Variables, layers: int = 4, heads: int = 2, **more: Any) -> Path:
    """Write the folder of a published ALBERT."""
    save(folder / "model.ckpt-best", variables)
    rows, width = len(variables["bert/embeddings/word_embeddings"]), variables["bert/pooler/dense/bias"].size
    values = {
        "attention_probs_dropout_prob": 0, "hidden_act": "gelu", "hidden_dropout_prob": 0, "embedding_size": 6,
        "hidden_size": width, "initializer_range": 0.02, "intermediate_size": 12, "max_position_embeddings": 16,
        "num_attention_heads": heads, "num_hidden_layers": layers, "num_hidden_groups": 1, "net_structure_type": 0,
        "gap_size": 0, "num_memory_blocks": 0, "inner_group_num": 1, "down_scale_factor": 1, "type_vocab_size": 2,
        "vocab_size": rows, **more,
    }  # fmt: skip
    (folder / "albert_config.json").write_text(json.dumps(values))
    (folder / "30k-clean.model").write_bytes(spm_file.serialize(spm_file.SentencePieceModel(PIECES, UNIGRAM)))
    return folder
