"""The user's settings of a run that continues the training of a model, checked before any work."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from keras_transformers.data.sources.text_tables import read_whole
from keras_transformers.text.wider_vocabulary import check_new_tokens
from zoo.scratch.run_settings import RunSettings, option

USUAL_MODEL = "gpt2"  # of the command line, where none is given
# What the trained model has itself.
OF_NEW_MODELS = ("model", "size", "layers", "heads", "hidden_dim", "tokenizer", "vocabulary", "lowercase")


@dataclass(frozen=True)
class FurtherSettings(RunSettings):
    """The settings of a run that continues the training of a model; see `RunSettings` for the others.

    Args:
        start: The model: as for `zoo.load`.
        add_tokens: New tokens of its vocabulary.

    Raises:
        ValueError: As for `RunSettings`; or a setting is one of new models only, `out` is the folder of `start`, or a
            new token is empty or there twice.
    """

    model: str = field(default=USUAL_MODEL, kw_only=True)
    start: str = field(kw_only=True)
    add_tokens: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self):
        usual = {one.name: one.default for one in fields(self)}
        if given := [f"--{option(name)}" for name in OF_NEW_MODELS if getattr(self, name) != usual[name]]:
            raise ValueError(
                f"--from {self.start} already has a size and a tokenizer, but {', '.join(given)} is for new models: "
                "leave one of them out. (--add-tokens FILE widens the vocabulary.)"
            )
        super().__post_init__()
        if self.add_tokens:
            check_new_tokens(self.add_tokens)
        if Path(self.start).is_dir() and self.out.is_dir() and self.out.samefile(self.start):
            raise ValueError(
                f"--out {self.out} is the folder of --from, which an interrupted run reads again: give another --out."
            )

    def identity(self) -> dict[str, Any]:
        """Return the settings on which the run's result depends; of the start, what it holds, too."""
        return super().identity() | {"start": f"{self.start}, content {self._content}"}

    @cached_property
    def _content(self) -> str:
        from zoo._find import find
        from zoo.scratch.origin import content_digest

        return content_digest(find(self.start))


def read_tokens(path: str | os.PathLike, encoding: str = "utf-8", errors: str = "strict") -> tuple[str, ...]:
    """Return the new tokens in a file, one per line; empty lines are left out.

    Args:
        path: A file.
        encoding, errors: As for `TextFiles`.

    Raises:
        ValueError: There is no such file, it is of another encoding or has no token, or a token is there twice or has
            whitespace around it; the message has the line.
    """
    lines = read_whole(Path(path), encoding, errors).splitlines()
    tokens: dict[str, int] = {}
    for number, token in enumerate(lines, 1):
        if token != token.strip():
            raise ValueError(f"{path}, line {number}: {token!r} has whitespace around it: expected one token per line.")
        if token in tokens:
            raise ValueError(f"{path}, line {number}: {token!r} is in line {tokens[token]}, too. Remove one.")
        if token:
            tokens[token] = number
    if not tokens:
        raise ValueError(f"{path} has no tokens: expected one per line, such as metformin.")
    return tuple(tokens)
