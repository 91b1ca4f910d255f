"""ONNX Runtime over the `tokenizers` library, with nothing of ours: what another program does with a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

TEXTS = [
    "a fine film",
    "wochenendtagenwecker",
    "embeddings and hillclimbing",
    "façade naïve, Ärger; e\u0301t\u00e9",
    "a 😀 day 👩‍👩‍👧",
    "a" * 2**20,
    "a grey room. It rained, a warm day, a bright film, a fine song, a cold day",
]


class Client:
    """The graph and the tokenizer of a folder."""

    def __init__(self, folder: Path, max_length: int, pad_id: int = 0):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(
            str(folder / "onnx" / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        self.names = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]
        self.read(folder, max_length, pad_id)

    def read(self, folder: Path, max_length: int, pad_id: int) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_length)
        self.tokenizer.enable_padding(pad_id=pad_id)

    def encode(self, texts: Sequence[Any]) -> list[Any]:
        return self.tokenizer.encode_batch([*texts])

    def feed(self, rows: Sequence[Any]) -> dict[str, np.ndarray]:
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        return {name: np.array([getattr(row, columns[name]) for row in rows], np.int64) for name in self.names}

    def run(self, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(self.outputs, self.session.run(None, feed), strict=True))

    def __call__(self, texts: Sequence[Any]) -> dict[str, np.ndarray]:
        return self.run(self.feed(self.encode(texts)))


def entities(tokens: Sequence[tuple[str, int, int]], text: str) -> list[tuple[str, int, int]]:
    """Group labels of tokens with their offsets, as `TokenClassificationPipeline` does for `aggregation_strategy`.

    A `B-` or another type begins an entity, `O` ends one.
    """
    found: list[list[Any]] = []
    last = "O"
    for label, start, end in tokens:
        kind = label.removeprefix("B-").removeprefix("I-")
        if label != "O" and (last == "O" or label.startswith("B-") or kind != found[-1][0]):
            found.append([kind, start, end])
        elif label != "O":
            found[-1][2] = end
        last = label
    return [(kind, start, end) for kind, start, end in found]
