"""A stored checkpoint in the terms of Hugging Face, whatever program wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.settings.huggingface_config import parse_config
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.text.tokenizer import Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]  # of source and target; one twice where there is one

# How the user gives the fields of `UserOptions`.
HOW_TO_GIVE = {"lowercase": "lowercase=True or lowercase=False", "num_heads": "num_heads=..."}


class UserOptions(NamedTuple):
    """Options of the user for what the files of a checkpoint do not say.

    Args:
        lowercase: Whether the tokenizer lower-cases texts.
        num_heads: Attention heads.
        pickled: Whether to accept pickled weights.
        task: Task to load, if the checkpoint holds several models: ELECTRA's has a generator, too.
    """

    lowercase: bool | None = None
    num_heads: int | None = None
    pickled: bool = False
    task: str | None = None


@dataclasses.dataclass(frozen=True)
class Stored:
    """A checkpoint, read only as far as needed.

    Args:
        writer: The program that wrote it, such as `"google-research/bert"`.
        place: Folder of the checkpoint, or the prefix of its files.
        values: Values of the config.json in the form of `transformers`.
        config: Configuration of the model.
        extra: Other facts in `values`; `huggingface_config.parse_config` returns `config` and this.
        tensors: Function that lists the tensors, by the names and in the layouts of PyTorch's classes.
        tokenizers: Reads its tokenizers, of source and target.
        assumed: Assumptions about facts that the files lack: a clause each, with the reason.
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
        """Folder of its files."""
        return folder_of(self.place)

    @property
    def source(self) -> str:
        """Name of the checkpoint in error messages."""
        return f"the checkpoint in {self.place}"


def parsed(values: Mapping[str, Any], path: Path, **facts: Any) -> Stored:
    """Return the record of a checkpoint, with its configuration parsed from the values.

    Args:
        values: As for `Stored`.
        path: Path of the file with these values, for errors.
        **facts: Other fields of `Stored`.

    Raises:
        ValueError: The values are of no model that is supported.
    """
    config, extra = parse_config(dict(values), path)
    return Stored(values=values, config=config, extra=extra, **facts)


def folder_of(place: Path) -> Path:
    """Return the folder of a checkpoint that is given by its folder, or by the prefix of its files.

    Example:

    >>> folder_of(Path("run/model.ckpt-7"))
    PosixPath('run')
    """
    return place if place.is_dir() else place.parent
