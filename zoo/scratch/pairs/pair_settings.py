"""The user's settings of a run on pairs of texts, each with its option of `train`, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from zoo.scratch.run_settings import RunSettings, option
from zoo.terminal.options import column, of_data, of_model, of_training

if TYPE_CHECKING:
    from zoo.scratch.pairs.pair_files import Pairs

PAIRED = ("source", "target", "pairs")  # the settings, one of which tells that a run is on pairs
MODELS = ("transformer", "t5")  # that write a text for a text
SCHEDULES = ("inverse_sqrt", "cosine")
MOST_JOINED = 0.5


@dataclass(frozen=True)
class PairSettings(RunSettings):
    """The settings of a run on pairs; see `RunSettings` for the others.

    A column is its name or its number, as `read_table_pairs` takes it. The schedule `"inverse_sqrt"` is the one of the
    zoo's recipes, where the mean of the last rounds removes noise; `"cosine"` falls to zero.

    Raises:
        ValueError: As for `RunSettings`; or there are no pairs, or two ways to get them.
    """

    source: Annotated[
        str | None, of_data(help="Source file, one text per line, to train on pairs instead of --text.")
    ] = None
    target: Annotated[str | None, of_data(help="Target file: one text for each line of --source.")] = None
    pairs: Annotated[
        str | None, of_data(help="Table of text pairs: .tsv, .txt with tabs, .csv, .jsonl, .json, .parquet or .tmx.")
    ] = None
    source_column: Annotated[
        Any,
        of_data(
            help="Column with the source texts: name or number.", metavar="COLUMN", parser=column, show_default="0"
        ),
    ] = None
    target_column: Annotated[
        Any,
        of_data(
            help="Column with the target texts: name or number.", metavar="COLUMN", parser=column, show_default="1"
        ),
    ] = None
    validation_source: Annotated[str | None, of_data(help="Validation source file, used instead of --held-out.")] = None
    validation_target: Annotated[str | None, of_data(help="Validation target file.")] = None
    joined: Annotated[
        float, of_data(help="Number of additional examples, per pair, that join the texts of two pairs: 0 to 0.5.")
    ] = 0.0
    decoder_layers: Annotated[
        int | None,
        of_model(help="Number of decoder layers (transformer, t5). If omitted, chosen for the model.", min=1),
    ] = None
    batch_tokens: Annotated[int, of_training(help="Tokens in a batch on each side, padding included (pairs).")] = 4096
    schedule: Annotated[str, of_training(help="Learning-rate schedule: inverse_sqrt or cosine (pairs).")] = (
        "inverse_sqrt"
    )
    warmup_steps: Annotated[
        int | None, of_training(help="Number of warm-up steps of the learning rate (pairs).", min=1)
    ] = None
    weight_decay: float = 0.01

    refused: ClassVar[tuple[str, ...]] = ("field", "batch_size", "prompt")

    def __post_init__(self):
        self._check_files()
        super().__post_init__()
        if self.model not in MODELS:
            raise ValueError(
                f"--model {self.model} does not translate texts into texts: expected one of {', '.join(MODELS)} for "
                "pairs."
            )
        if self.schedule not in SCHEDULES:
            raise ValueError(f"--schedule must be one of {', '.join(SCHEDULES)}: received {self.schedule!r}.")
        longest = self.max_length or 0
        for name, least in {"decoder_layers": 1, "warmup_steps": 1, "batch_tokens": max(longest, 1)}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                reason = ", the value of --max-length" if value >= 1 else ""
                raise ValueError(f"--{option(name)} must be at least {least}{reason}: received {value}.")
        if not 0 <= self.joined <= MOST_JOINED:
            raise ValueError(f"--joined must be a share from 0 to {MOST_JOINED}: received {self.joined}.")

    def _check_files(self) -> None:
        """Refuse contradictory or missing files."""
        if self.text or self.validation:
            raise ValueError(
                f"received pairs, and text {[*self.text, *self.validation]}: give either pairs or --text; "
                "--validation is for --text, --validation-source and --validation-target are for pairs."
            )
        if self.lines:
            raise ValueError("--lines is for --text: each pair is a separate document. Leave it out.")
        if foreign := self.given(self.refused):
            raise ValueError(
                f"received pairs, and {', '.join(foreign)}, for training on --text: leave it out. (--batch-tokens sets "
                "the size of a batch of pairs.)"
            )
        if self.pairs is not None and (self.source is not None or self.target is not None):
            raise ValueError("received --pairs, and --source or --target: give a table or two files.")
        for one, other in (("source", "target"), ("validation_source", "validation_target")):
            given, missing = (one, other) if getattr(self, one) is not None else (other, one)
            if getattr(self, given) is not None and getattr(self, missing) is None:
                raise ValueError(f"received --{option(given)} without --{option(missing)}: give both.")
        if self.pairs is None and self.source is None:
            raise ValueError("there are no pairs: give --source FILE and --target FILE, or --pairs TABLE.")
        if self.pairs is None and (columns := [c for c in (self.source_column, self.target_column) if c is not None]):
            raise ValueError(f"received columns {columns} of a table, and no --pairs TABLE.")

    @property
    def has_validation(self) -> bool:
        """Return whether there are files to measure on."""
        return self.validation_source is not None

    @property
    def paths(self) -> dict[str, str]:
        """Return the files, by the names of their settings."""
        names = ("source", "target", "pairs", "validation_source", "validation_target")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def read(self) -> Pairs:
        """Read the pairs to learn from."""
        from zoo.scratch.pairs.pair_files import read_line_pairs, read_table_pairs

        if self.pairs is not None:
            return read_table_pairs(self.pairs, self.source_column, self.target_column, self.encoding, self.errors)
        return read_line_pairs(_given(self.source), _given(self.target), self.encoding, self.errors)

    def read_validation(self) -> Pairs | None:
        """Read the pairs to measure on; None if a share is to be held out."""
        from zoo.scratch.pairs.pair_files import read_line_pairs

        if not self.has_validation:
            return None
        return read_line_pairs(
            _given(self.validation_source), _given(self.validation_target), self.encoding, self.errors
        )


def _given(path: Any) -> str:
    assert path is not None  # __post_init__ has checked it
    return str(path)
