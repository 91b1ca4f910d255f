"""The user's settings of a run, each with its option of `train`, checked before any work."""

from __future__ import annotations

import codecs
import dataclasses
import math
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from zoo.terminal.options import (
    Encoding,
    Errors,
    Strategy,
    loadable,
    of_data,
    of_model,
    of_output,
    of_training,
    readable,
)

# What does not change a run's result: a resumed run may have other values.
FREE = ("out", "strategy", "prompt")
ROUNDS = 20  # usually
MOST_HELD_OUT = 0.5
# What a trained model has itself.
OF_NEW_MODELS = ("model", "size", "layers", "heads", "hidden_dim", "tokenizer", "vocabulary", "lowercase")


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run that makes a model from text; None for what the run is to choose.

    The help of a field's option says what the field is. The command line gets its options from these records: see
    `zoo.cli.training.record_options`.

    Raises:
        ValueError: A value is unknown or out of range, or two contradict each other.
    """

    model: Annotated[
        str,
        of_model(
            help="Architecture of the new model: gpt2, llama, lstm, bert or t5; transformer or t5 for pairs.",
            show_default="gpt2; transformer for pairs",
        ),
    ]
    text: Annotated[
        tuple[str, ...],
        of_data(help="File, folder or pattern of the training text, or - for stdin; repeatable."),
    ]
    out: Annotated[
        Path, of_output(help="Folder for the model. OUT.run (OUT.resume for a recipe) keeps the state of the run.")
    ]
    field: Annotated[
        str, of_data(help="Column or key with the text in .csv, .tsv, .jsonl, .json and .parquet files.")
    ] = "text"
    lines: Annotated[
        bool, of_data(help="Treat each line of a text file as a document, such as names, tweets or molecules.")
    ] = False
    encoding: Encoding = "utf-8"
    errors: Errors = "strict"
    held_out: Annotated[float, of_data(help="Fraction of the text to hold out for validation.")] = 0.05
    validation: Annotated[
        tuple[str, ...], of_data(help="Validation text file, used instead of --held-out; repeatable.")
    ] = ()
    size: Annotated[
        str | None,
        of_model(help="Model size: tiny, mini, small, medium, base or large. If omitted, chosen for --hours."),
    ] = None
    layers: Annotated[int | None, of_model(help="Number of layers; overrides --size.", min=1)] = None
    heads: Annotated[int | None, of_model(help="Number of attention heads; overrides --size.", min=1)] = None
    hidden_dim: Annotated[int | None, of_model(help="Hidden dimension; overrides --size.", min=1)] = None
    max_length: Annotated[int | None, of_model(help="Maximum length of a sequence in tokens.", min=8)] = None
    tokenizer: Annotated[
        str | None,
        of_model(
            help="Tokenizer: byte_pair, wordpiece, unigram, character, bytes or a folder. If omitted, the usual one "
            "for the model."
        ),
    ] = None
    vocabulary: Annotated[int | None, of_model(help="Size of the vocabulary to learn, in tokens.", min=1)] = None
    lowercase: Annotated[bool, of_model(help="Lower-case all texts (wordpiece and unigram).")] = False
    dropout: Annotated[
        float | None, of_model(help="Dropout rate during training. If omitted, chosen by the number of epochs.")
    ] = None
    dtype: Annotated[str | None, of_model(help="A Keras dtype policy, such as mixed_bfloat16.")] = None
    hours: Annotated[
        float | None, of_training(help="Time limit of the whole command in hours; determines the steps.")
    ] = None
    steps: Annotated[int | None, of_training(help="Number of training steps, instead of --hours.", min=1)] = None
    epochs: Annotated[
        float | None, of_training(help="Number of epochs, instead of --hours. If omitted, a recipe uses its default.")
    ] = None
    batch_size: Annotated[
        int | None,
        of_training(help="Number of sequences in a batch.", min=1, show_default="16; fewer for a short --hours"),
    ] = None
    learning_rate: Annotated[float | None, of_training(help="Peak learning rate.")] = None
    weight_decay: Annotated[float, of_training(help="Weight decay of AdamW.", show_default="0.1; 0.01 for pairs")] = 0.1
    rounds: Annotated[int, of_training(help="Number of validation rounds during training.", min=1)] = ROUNDS
    patience: Annotated[
        int, of_training(help="Stop after this many rounds without a better validation loss.", min=1)
    ] = 5
    prompt: Annotated[
        str | None, of_training(help="Prompt for the samples that a decoder generates during training.")
    ] = None
    seed: Annotated[int, of_training(help="Random seed (initialisation, shuffling, masking).")] = 1
    strategy: Strategy = None

    refused: ClassVar[tuple[str, ...]] = ()  # fields of other kinds of runs, which older versions ignored

    def __post_init__(self):
        from zoo.scratch.new_models import new_model, sizes_of
        from zoo.scratch.new_vocabulary import check_tokenizer, is_folder

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
            from zoo.scratch.speed import check_dtype

            check_dtype(self.dtype)
        self._check_ranges()
        kind = self.tokenizer or wanted.tokenizer
        if self.vocabulary is not None and (kind in ("character", "bytes") or is_folder(kind)):
            raise ValueError(
                f"--vocabulary is the size of a learned vocabulary, but --tokenizer {kind} has a fixed one."
            )

    def _check_ranges(self) -> None:
        """Refuse values that are out of range, or that contradict each other."""
        if len(given := [name for name in ("hours", "steps", "epochs") if getattr(self, name) is not None]) > 1:
            raise ValueError(f"--{' and --'.join(given)} both set the length of the training: give one of them.")
        for name in ("hours", "epochs", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"--{option(name)} must be a number above 0: received {value}.")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"--weight-decay must be a number from 0 on: received {self.weight_decay}.")
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

    def given(self, names: Iterable[str]) -> list[str]:
        """Return the options of those fields that do not have their default."""
        usual = {one.name: one.default for one in fields(self)}
        return [f"--{option(name)}" for name in names if getattr(self, name) != usual[name]]

    @property
    def has_validation(self) -> bool:
        """Return whether there are files to measure on."""
        return bool(self.validation)

    @property
    def run_folder(self) -> Path:
        """Return the folder of the run beside the model: tokens, tokenizer, plan, states and figures."""
        out = self.out.resolve()
        return out.with_name(f"{out.name}.run")

    def identity(self) -> dict[str, Any]:
        """Return the settings on which the run's result depends, by the names that plan.json has kept."""
        values = {name: value for name, value in asdict(self).items() if name not in FREE}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class FurtherSettings(RunSettings):
    """The settings of a run that continues the training of a model; see `RunSettings` for the others.

    Raises:
        ValueError: As for `RunSettings`; or a setting is one of new models only, `out` is the folder of `start`, or a
            new token is empty or there twice.
    """

    model: str = dataclasses.field(default="gpt2", kw_only=True)
    start: Annotated[
        str,
        of_model(
            "--from",
            callback=loadable,
            help="Continue training this model: a name printed by `list`, a folder or hf:org/repo.",
        ),
    ] = dataclasses.field(kw_only=True)
    add_tokens: Annotated[
        tuple[str, ...], of_model(callback=readable, help="File of new tokens, one per line, for the model of --from.")
    ] = dataclasses.field(default=(), kw_only=True)

    def __post_init__(self):
        if given := self.given(OF_NEW_MODELS):
            raise ValueError(
                f"--from {self.start} already has a size and a tokenizer, but {', '.join(given)} is for new models: "
                "leave one of them out. (--add-tokens FILE widens the vocabulary.)"
            )
        super().__post_init__()
        if self.add_tokens:
            from keras_transformers.text.wider_vocabulary import check_new_tokens

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
        from zoo.loading.find import find
        from zoo.scratch.origin import content_digest

        return content_digest(find(self.start))


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
        if now.get(name) != before.get(name) and not (name == "encoding" and _is_one(now[name], before[name]))
    ]


def _is_one(encoding: str, other: str) -> bool:
    """Return whether two names are of one encoding: older versions kept the name that the user gave."""
    try:
        return codecs.lookup(encoding) == codecs.lookup(other)
    except (LookupError, TypeError, ValueError):
        return False
