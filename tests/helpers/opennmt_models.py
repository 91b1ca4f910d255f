"""Small Transformers of OpenNMT-tf, written as `tf.train.Checkpoint` writes them; and what they compute, in NumPy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from spm_models import MODEL, SYMBOLS

from keras_transformers.text.sentencepiece.spm_file import NORMAL, Piece, SentencePieceModel, serialize

SPECIAL = ["<blank>", "<s>", "</s>"]
TARGET_MODEL = SentencePieceModel((*SYMBOLS, *(Piece(letter, -5.0) for letter in "▁xyz"), Piece("▁xy", -2.0)))
FEATURES, LABELS = (f"examples_inputter/{side}_inputter/embedding" for side in ("features", "labels"))
KERNEL = "decoder/output_layer/kernel"
TINY = 'from opennmt import models\nmodel = lambda: models.get_model_from_catalog("TransformerTiny")\n'
SOURCES = ["a cat", "cat at tac  bad", "cats at a ﬁ"]


class Model(NamedTuple):
    """A model that was written.

    Args:
        arrays: By the paths of the variables.
        prefix: Of the checkpoint.
        heads: Attention heads.
        post: Whether norms are behind the sublayers.
    """

    arrays: dict[str, np.ndarray]
    prefix: Path
    heads: int
    post: bool

    def logits(self, ids: np.ndarray, mask: np.ndarray, decoder_ids: np.ndarray) -> np.ndarray:
        """The logits (B, T, V) of targets that are forced, from sources (B, S)."""
        length = decoder_ids.shape[1]
        states = self._stack("encoder", self.arrays[FEATURES][ids], mask[:, None, None] > 0, None)
        memory = (states, mask[:, None, None] > 0)
        causal = np.tril(np.ones((length, length), bool))
        out = self._stack("decoder", self.arrays[LABELS][decoder_ids], causal, memory)
        kernel = self.arrays[KERNEL]
        kernel = kernel.T if kernel is self.arrays[LABELS] else kernel
        return out @ kernel + self.arrays.get("decoder/output_layer/bias", 0)

    def greedy(self, ids: np.ndarray, steps: int) -> list[int]:
        """What a source (1, S) is rewritten to, one likeliest token after the other."""
        written = [1]
        while len(written) <= steps and written[-1] != 2:
            logits = self.logits(ids, np.ones_like(ids), np.array([written]))
            written.append(int(logits[0, -1].argmax()))
        return written[1:]

    def _stack(self, side: str, states: np.ndarray, mask: np.ndarray, memory: tuple | None) -> np.ndarray:
        width, length = states.shape[-1], states.shape[1]
        rates = 10000.0 ** (-np.arange(width // 2) / max(width // 2 - 1, 1))
        angles = np.arange(1, length + 1)[:, None] * rates
        states = states * width**0.5 + np.concatenate([np.sin(angles), np.cos(angles)], -1)
        for number in range(sum(f"{side}/layers/{i}/ffn/layer/inner/kernel" in self.arrays for i in range(9))):
            block = f"{side}/layers/{number}"
            states = self._around(f"{block}/self_attention", states, lambda p, x: self._attend(p, x, x, mask))
            if memory:
                states = self._around(f"{block}/attention/0", states, lambda p, x: self._attend(p, x, *memory))
            states = self._around(f"{block}/ffn", states, self._feed_forward)
        return states if self.post else self._norm(f"{side}/layer_norm", states)

    def _around(self, path: str, states: np.ndarray, layer: Any) -> np.ndarray:
        if self.post:
            return self._norm(f"{path}/output_layer_norm", states + layer(f"{path}/layer", states))
        return states + layer(f"{path}/layer", self._norm(f"{path}/input_layer_norm", states))

    def _norm(self, path: str, x: np.ndarray) -> np.ndarray:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
        return scaled * self.arrays[f"{path}/gamma"] + self.arrays[f"{path}/beta"]

    def _dense(self, path: str, x: np.ndarray) -> np.ndarray:
        return x @ self.arrays[f"{path}/kernel"] + self.arrays.get(f"{path}/bias", 0)

    def _feed_forward(self, path: str, x: np.ndarray) -> np.ndarray:
        return self._dense(f"{path}/outer", np.maximum(self._dense(f"{path}/inner", x), 0))

    def _attend(self, path: str, x: np.ndarray, memory: np.ndarray, mask: np.ndarray) -> np.ndarray:
        def heads(name, x):
            return self._dense(f"{path}/linear_{name}", x).reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2)

        query, key, value = heads("queries", x), heads("keys", memory), heads("values", memory)
        scores = np.where(mask, query @ key.swapaxes(2, 3) / query.shape[-1] ** 0.5, -1e30)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = (weights / weights.sum(-1, keepdims=True)) @ value
        return self._dense(f"{path}/linear_output", context.swapaxes(1, 2).reshape(x.shape))


def write(
    folder: Path,
    *,
    seed: int = 0,
    width: int = 8,
    heads: int = 2,
    layers: tuple[int, int] = (2, 1),
    share: str = "",
    post: bool = False,
    biases: bool = True,
    more: Mapping[str, Sequence[int]] = {},
    without: Sequence[str] = (),
    description: str = TINY,
) -> Model:
    """Write a checkpoint `ckpt-7`, vocabularies and SentencePiece models.

    Args:
        share: What is one variable: `"input"`, the embeddings; `"target"`, that of the target and the output's
            kernel; `"all"`.
        post: Whether norms are behind the sublayers.
        biases: Whether attention and output have some.
        more: Shapes of further variables, by path.
        without: Beginnings of paths of objects that are left out.
        description: Of model_description.py; none if empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"both": MODEL} if share in ("input", "all") else {"en": MODEL, "de": TARGET_MODEL}
    rows = [write_text(folder, name, model) + 1 for name, model in texts.items()]
    shapes = _shapes(width, layers, rows, share, post, biases) | dict(more)
    random = np.random.default_rng(seed)
    variables = {
        path: tf.Variable(random.normal(path.endswith("gamma"), 0.5, shape).astype("float32"))
        for path, shape in shapes.items()
        if not path.startswith(tuple(without))
    }
    aliases = {"input": {LABELS: FEATURES}, "target": {KERNEL: LABELS}, "all": {LABELS: FEATURES, KERNEL: FEATURES}}
    for alias, path in aliases.get(share, {}).items():
        variables[alias] = variables[path]
    model = tree(variables)
    if "encoder/position_encoder" not in without:
        model.encoder.position_encoder = tf.Module()
    optimizer = tree({"iter": tf.Variable(3), "kernel/m": tf.Variable([1.0])})
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(7))
    prefix = Path(checkpoint.write(str(folder / "ckpt-7")))
    if description:
        (folder / "model_description.py").write_text(description)
    arrays = {path: variable.numpy() for path, variable in variables.items()}
    arrays |= {alias: arrays[path] for alias, path in aliases.get(share, {}).items()}
    return Model(arrays, prefix, heads, post)


def write_text(folder: Path, name: str, model: SentencePieceModel) -> int:
    """Write a SentencePiece model and its vocabulary, in another order; returns the number of lines."""
    (folder / f"{name}.model").write_bytes(serialize(model))
    lines = [*SPECIAL, *sorted(piece.text for piece in model.pieces if piece.kind == NORMAL)]
    (folder / f"{name}.vocab").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def write_config(folder: Path, data: Mapping[str, Any] = {}, params: Mapping[str, Any] = {}) -> None:
    """Write the YAML file of a run: JSON is YAML, too."""
    (folder / "config.yml").write_text(json.dumps({"model_dir": "run", "data": {**data}, "params": {**params}}))


def tree(variables: Mapping[str, tf.Variable]) -> tf.Module:
    """Objects whose attributes are the variables, by their paths; numbers stand in lists."""
    nested: dict[str, Any] = {}
    for path, variable in variables.items():
        *parents, last = path.split("/")
        place = nested
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = variable
    return _objects(nested)


def _objects(nested: Any) -> Any:
    if not isinstance(nested, dict):
        return nested
    made = {name: _objects(value) for name, value in nested.items()}
    if all(name.isdecimal() for name in made):
        return [made[str(number)] for number in range(len(made))]
    module = tf.Module()
    for name, value in made.items():
        setattr(module, name, value)
    return module


def _shapes(
    width: int, layers: tuple[int, int], rows: Sequence[int], share: str, post: bool, biases: bool
) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {FEATURES: (rows[0], width)}
    shapes |= {} if share in ("input", "all") else {LABELS: (rows[1], width)}
    shapes |= {} if share in ("target", "all") else {KERNEL: (width, rows[-1])}
    shapes |= {"decoder/output_layer/bias": (rows[-1],)} if biases else {}
    norm = "output_layer_norm" if post else "input_layer_norm"
    for side, count in zip(("encoder", "decoder"), layers, strict=True):
        norms = [] if post else [f"{side}/layer_norm"]
        for block in (f"{side}/layers/{number}" for number in range(count)):
            attentions = [f"{block}/self_attention"] + [f"{block}/attention/0"] * (side == "decoder")
            for path in attentions:
                for part in ("queries", "keys", "values", "output"):
                    shapes[f"{path}/layer/linear_{part}/kernel"] = (width, width)
                    shapes |= {f"{path}/layer/linear_{part}/bias": (width,)} if biases else {}
            inner, outer = f"{block}/ffn/layer/inner", f"{block}/ffn/layer/outer"
            shapes |= {f"{inner}/kernel": (width, 12), f"{inner}/bias": (12,)}
            shapes |= {f"{outer}/kernel": (12, width), f"{outer}/bias": (width,)}
            norms += [f"{path}/{norm}" for path in (*attentions, f"{block}/ffn")]
        shapes |= {f"{path}/{leaf}": (width,) for path in norms for leaf in ("gamma", "beta")}
    return shapes
