"""The user's settings of a run on pairs of texts, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zoo.scratch.pairs.pair_files import Column, Pairs, read_line_pairs, read_table_pairs
from zoo.scratch.run_settings import RunSettings, option

MODELS = ("transformer", "t5")  # that write a text for a text
SCHEDULES = ("inverse_sqrt", "cosine")
MOST_JOINED = 0.5


@dataclass(frozen=True)
class PairSettings(RunSettings):
    """The settings of a run on pairs; None for what the run is to choose.

    Args:
        source, target: Files with one text per line, as many; or
        pairs: A table, and
        source_column, target_column: its columns, as `read_table_pairs` takes them.
        source, target: Files with one text per line, the same number of lines; or
        decoder_layers: As `new_models.sized` has them when None.
        batch_tokens: Tokens of a step on each side, padding included.
        schedule: Learning-rate schedule: `"inverse_sqrt"` as in the recipes of the zoo, where the mean of the last
            rounds removes noise; or `"cosine"`, which falls to zero.
        warmup_steps: Number of steps in which the rate rises.
        joined: Number of additional examples, per pair, that join the texts of two pairs, so that longer texts are
            learned.
    """

    source: str | None = None
    target: str | None = None
    pairs: str | None = None
    source_column: Column | None = None
    target_column: Column | None = None
    validation_source: str | None = None
    validation_target: str | None = None
    decoder_layers: int | None = None
    batch_tokens: int = 4096
    schedule: str = "inverse_sqrt"
    warmup_steps: int | None = None
    joined: float = 0.0
    weight_decay: float = 0.01

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
        """Whether there are files to measure on."""
        return self.validation_source is not None

    @property
    def paths(self) -> dict[str, str]:
        """The files, by the names of their settings."""
        names = ("source", "target", "pairs", "validation_source", "validation_target")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def read(self) -> Pairs:
        """Read the pairs to learn from."""
        if self.pairs is not None:
            return read_table_pairs(self.pairs, self.source_column, self.target_column, self.encoding, self.errors)
        return read_line_pairs(_given(self.source), _given(self.target), self.encoding, self.errors)

    def read_validation(self) -> Pairs | None:
        """Read the pairs to measure on; None if a share is to be held out."""
        if not self.has_validation:
            return None
        return read_line_pairs(
            _given(self.validation_source), _given(self.validation_target), self.encoding, self.errors
        )


def _given(path: Any) -> str:
    assert path is not None  # __post_init__ has checked it
    return str(path)
