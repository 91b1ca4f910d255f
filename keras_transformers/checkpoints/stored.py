"""A checkpoint as it is stored, in the words of Hugging Face, whatever program wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.checkpoints.tensors import Tensor
from keras_transformers.config import TransformerConfig
from keras_transformers.text.tokenizer import Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]  # of source and target; one twice where there is one

# How the user says what files do not, by the field of `Said`: of the command line's verbs only `convert` asks for it.
HOW_TO_SAY = {
    "lowercase": "lowercase=True or lowercase=False (to `python -m zoo convert`: --lowercase or --cased)",
    "num_heads": "num_heads=... (to `python -m zoo convert`: --num-heads)",
}


class Said(NamedTuple):
    """What the user says of a checkpoint, where its files do not.

    Args:
        lowercase: Whether the tokenizer lower-cases texts.
        num_heads: Attention heads.
        pickled: Whether to accept pickled weights.
    """

    lowercase: bool | None = None
    num_heads: int | None = None
    pickled: bool = False


@dataclasses.dataclass(frozen=True)
class Stored:
    """A checkpoint, read only as far as needed.

    Args:
        writer: The program that wrote it, such as `"google-research/bert"`.
        place: Its folder, or the prefix of its files.
        values: What a config.json of `transformers` says of it.
        config: Of the model.
        extra: What else `values` says: this and `config` are what `huggingface_config.parse_config` returns.
        tensors: Lists its tensors, by the names and in the layouts of PyTorch's classes.
        tokenizers: Reads its tokenizers, of source and target.
        assumed: What its files do not say and something else implies, a clause each.
    """

    writer: str
    place: Path
    values: Mapping[str, Any]
    config: TransformerConfig
    extra: Mapping[str, Any]
    tensors: Callable[[], list[Tensor]]
    tokenizers: Callable[[], Tokenizers]
    assumed: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def source(self) -> str:
        """What error messages call it."""
        return f"the checkpoint in {self.place}"
