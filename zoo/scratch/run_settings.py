"""The user's settings of a run, checked before any work."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from zoo.scratch.new_models import new_model, sizes_of
from zoo.scratch.new_vocabulary import check_tokenizer, is_folder

# What does not change a run's result: a resumed run may have other values.
FREE = ("out", "strategy", "prompt")
ROUNDS = 20  # usually
MOST_HELD_OUT = 0.5


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run; None for what the run is to choose.

    Args:
        model: A name of `new_models.MODELS`.
        text: Files, folders or patterns of the corpus.
        out: Folder to write.
        field: Key or column of the text in tables.
        encoding: Encoding of the text files.
        errors: `"strict"`, or `"replace"` to put U+FFFD in place of bytes that are no text.
        lines: Whether each line of a plain text file is a document.
        held_out: Share of the corpus that is held out.
        validation: Files that are held out instead.
        size: A name of `new_models.SIZES`.
        layers, heads, hidden_dim: Single values of the size.
        max_length: Tokens of a row.
        tokenizer: A name of `new_vocabulary.KINDS`, or a folder.
        vocabulary: Tokens of a learned vocabulary.
        lowercase: Whether texts are lower-cased.
        hours: Time for the training in hours; or
        steps: number of steps; or
        epochs: number of passes over the corpus.
        batch_size: Rows of a step; chosen by the steps that a time allows when None.
        learning_rate: Peak learning rate.
        dropout: Rate of all dropouts; chosen by the passes over the corpus when None.
        weight_decay: Weight decay of AdamW.
        patience: Rounds without a lower held-out loss after which the run ends.
        rounds: Number of rounds, after each of which held-out text is measured.
        prompt: Prompt for the samples.
        dtype: A Keras dtype policy.
        seed: Random seed (initialisation, shuffling, masking).
        strategy: Distribution strategy for several devices or machines.

    Raises:
        ValueError: A value is unknown or out of range, or two contradict each other.
    """

    model: str
    text: tuple[str, ...]
    out: Path
    field: str = "text"
    encoding: str = "utf-8"
    errors: str = "strict"
    lines: bool = False
    held_out: float = 0.05
    validation: tuple[str, ...] = ()
    size: str | None = None
    layers: int | None = None
    heads: int | None = None
    hidden_dim: int | None = None
    max_length: int | None = None
    tokenizer: str | None = None
    vocabulary: int | None = None
    lowercase: bool = False
    hours: float | None = None
    steps: int | None = None
    epochs: float | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    dropout: float | None = None
    weight_decay: float = 0.1
    patience: int = 5
    rounds: int = ROUNDS
    prompt: str | None = None
    dtype: str | None = None
    seed: int = 1
    strategy: str | None = None

    def __post_init__(self):
        wanted = new_model(self.model)
        if self.text and self.model == "transformer":
            raise ValueError(
                "--model transformer learns from pairs: received --text. Give --source FILE and --target FILE, or "
                "--pairs TABLE; or another --model."
            )
        if self.tokenizer is not None:
            check_tokenizer(self.tokenizer)
        sizes_of(self.size, self.layers, self.heads, self.hidden_dim)
        if self.dtype is not None:
            from zoo.scratch.kernels import check_dtype

            check_dtype(self.dtype)
        if len(given := [name for name in ("hours", "steps", "epochs") if getattr(self, name) is not None]) > 1:
            raise ValueError(f"--{' and --'.join(given)} both set the length of the training: give one of them.")
        for name in ("hours", "epochs", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"--{option(name)} must be a number above 0: received {value}.")
        for name, least in {"steps": 1, "batch_size": 1, "rounds": 1, "patience": 1, "max_length": 8}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"--{option(name)} must be at least {least}: received {value}.")
        for name in ("held_out", "dropout"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise ValueError(f"--{option(name)} must be a share from 0 to below 1: received {getattr(self, name)}.")
        if self.held_out == 0 and not self.has_validation:
            raise ValueError(
                "--held-out 0 leaves nothing to measure on: give --validation FILES, or a share such as 0.05."
            )
        if self.held_out > MOST_HELD_OUT:
            raise ValueError(f"--held-out must be at most {MOST_HELD_OUT}, half of the text: received {self.held_out}.")
        kind = self.tokenizer or wanted.tokenizer
        if self.vocabulary is not None and (kind in ("character", "bytes") or is_folder(kind)):
            raise ValueError(
                f"--vocabulary is the size of a learned vocabulary, but --tokenizer {kind} has a fixed one."
            )

    @property
    def has_validation(self) -> bool:
        """Whether there are files to measure on."""
        return bool(self.validation)

    @property
    def run_folder(self) -> Path:
        """The folder of the run beside the model: tokens, tokenizer, plan, states and figures."""
        out = self.out.resolve()
        return out.with_name(f"{out.name}.run")

    def identity(self) -> dict[str, Any]:
        """Return the settings on which the run's result depends, as JSON holds them."""
        values = {name: value for name, value in asdict(self).items() if name not in FREE}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def option(name: str) -> str:
    """Return the option of the command line for a field.

    Example:

    >>> option("batch_size"), option("start")
    ('batch-size', 'from')
    """
    return "from" if name == "start" else name.replace("_", "-")  # `from` is a word of Python


def command_of(settings: RunSettings) -> str:
    """Return the command that asks for a run, after `python -m zoo`; new tokens are in a file there.

    Example:

    >>> command_of(RunSettings("gpt2", ("my notes.txt",), Path("runs/mine"), steps=7, lowercase=True))
    "train --model gpt2 --text 'my notes.txt' --out runs/mine --lowercase --steps 7"
    """
    words = ["train"]
    for field in fields(settings):
        value, name = getattr(settings, field.name), f"--{option(field.name)}"
        if field.name == "add_tokens":
            words += [name, "FILE"] if value else []
        elif value != field.default:
            values = value if isinstance(value, tuple) else (value,)
            words += [name] if value is True else [word for one in values for word in (name, str(one))]
    return shlex.join(words)


def differences(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the settings that differ, as `--option now (before)`; one that was not known before had its default."""
    before = {field.name: field.default for field in fields(RunSettings) if field.name in now} | before
    return [
        f"--{option(name)} {now.get(name)} (was {before.get(name)})"
        for name in sorted(now.keys() | before.keys())
        if now.get(name) != before.get(name)
    ]
