"""The plan of a run, and the folder beside its model that keeps it, so that the same command resumes the run."""

from __future__ import annotations

import contextlib
import filecmp
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.safe_files import full_disk_as_error, locked, replace_file
from zoo.scratch.round_log import CURVE, METRICS, SAMPLES
from zoo.scratch.run_settings import RunSettings, differences

PLAN, STATES = "plan.json", "states"
STDIN = "-"
WEIGHTS = "*.safetensors"  # in the folder of a model
FileFacts = Sequence[Sequence[Any]]  # name, bytes and sha256 of each file that a run reads


@dataclass(frozen=True)
class Plan:
    """The plan of a run, as it is kept in plan.json.

    Args:
        size: Layers, heads, width.
        parameters: Number of trained parameters.
        batch_size: Rows of a step.
        steps: Updates in all.
        round_steps: Steps of a round, after which held-out text is measured.
        state_steps: Number of steps between two states of `Resume`.
        held_out_steps: Batches of held-out text that a round measures.
        learning_rate: Peak learning rate.
        warmup_steps: Number of steps in which the rate rises.
        dropout: Rate of all dropouts.
        seconds: Measured time of a step in seconds.
        dtype: The dtype policy.
        jit_compile: Whether XLA compiles the step.
        peak_memory: Bytes of main memory that the process had at most when the speed was measured; None if unknown.
        start_perplexity: Perplexity on held-out text before the first step, for a model that was already trained; else
            None.
        final_rows: Rows of held-out text that are measured in the end, at most; None for all.
        ending_seconds: Expected time after the last round, if a time limit was given.
    """

    size: tuple[int, int, int]
    parameters: int
    batch_size: int
    steps: int
    round_steps: int
    state_steps: int
    held_out_steps: int
    learning_rate: float
    warmup_steps: int
    dropout: float
    seconds: float
    dtype: str
    jit_compile: bool
    peak_memory: int | None = None
    start_perplexity: float | None = None
    final_rows: int | None = None
    ending_seconds: float = 0.0

    @property
    def rounds(self) -> int:
        """Return the number of rounds."""
        return math.ceil(self.steps / self.round_steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return asdict(self) | {"size": list(self.size)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """Build a plan from `to_dict`."""
        return cls(**values | {"size": tuple(values["size"])})


class KeptPlan:
    """The plan in the folder of a run.

    Args:
        settings: The user's settings.
    """

    def __init__(self, settings: RunSettings):
        self.settings, self.folder = settings, settings.run_folder

    @property
    def states(self) -> Path:
        """Return the folder of the states of `Resume`."""
        return self.folder / STATES

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from the run while a `with` block runs; the lock ends with the process, even if killed.

        Raises:
            ValueError: Another process has the run.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder) as is_free:
            if is_free is False:
                raise ValueError(f"another process trains in {self.folder}: wait for its end, or give another --out.")
            yield

    def read(self, files: FileFacts) -> Plan | None:
        """Return the plan of the run that was interrupted here; None where no run is under way.

        Args:
            files: Files that the run reads now.

        Raises:
            ValueError: As for `check`; or the run that is under way read other text.
        """
        kept = self.check()
        if kept is None:
            return None
        if others := _only_one_has(files, kept["files"]):
            raise ValueError(
                f"the text has changed since the run in {self.folder} began: {others[0]}. Restore the text to resume "
                "the run, give another --out to begin a second run, or remove that folder to discard the first run."
            )
        return Plan.from_dict(kept["plan"])

    def check(self) -> dict[str, Any] | None:
        """Return what is kept of the run that was interrupted here; None where no run is under way.

        Raises:
            ValueError: A run with other settings is under way.
        """
        kept = self._kept()
        if kept is None or kept["done"]:
            return None
        if different := self._differences(kept):
            raise ValueError(
                f"a run with other settings is under way in {self.folder}: {', '.join(different)}. Give the previous "
                "settings to resume the run, give another --out to begin a second run, or remove that folder to "
                "discard the first run."
            )
        return kept

    def is_done(self, paths: Sequence[Path]) -> bool:
        """Return whether a run with just these settings has ended here, of files with just this content, and its model
        is there.

        Args:
            paths: The files that it reads.
        """
        kept = self._kept()
        if kept is None or not kept["done"] or not any(self.settings.out.glob(WEIGHTS)):
            return False
        if self._differences(kept):
            return False
        sizes = [[str(path), path.stat().st_size] for path in paths]
        return sizes == [file[:2] for file in kept["files"]] and not _only_one_has(file_facts(paths), kept["files"])

    def check_model(self) -> None:
        """Refuse to replace a model that is not the one that the run here has written.

        Raises:
            ValueError: The run has ended, and the weights in the folder of its model have changed since.
        """
        kept, now = self._kept(), _weights(self.settings.out)
        if kept is None or not kept["done"] or "weights" not in kept or not now:
            return
        if others := _only_one_has(now, kept["weights"]):
            raise ValueError(
                f"{self.settings.out} has another model than the run in {self.folder} has written: {others[0]} has "
                "changed since, as by fine-tuning. It is not replaced: give another --out, or move it elsewhere."
            )

    def write(self, plan: Plan, files: FileFacts, done: bool = False) -> None:
        """Keep a plan, and what it was made for; one that has just begun forgets the figures of the run before."""
        if not done:
            shutil.rmtree(self.states, ignore_errors=True)
            for name in (METRICS, CURVE, SAMPLES):
                (self.folder / name).unlink(missing_ok=True)
        values = {"done": done, "settings": self.settings.identity(), "files": files, "plan": plan.to_dict()}
        if done:
            values["weights"] = _weights(self.settings.out)
        replace_file(self.folder / PLAN, json.dumps(values, indent=2) + "\n")
        if done:
            shutil.rmtree(self.states, ignore_errors=True)

    def _kept(self) -> dict[str, Any] | None:
        """Return what the folder keeps of the last run; None if there is nothing."""
        path = self.folder / PLAN
        if not path.is_file():
            return None
        kept = read_object(path)
        plan = kept.get("plan")
        is_whole = kept.keys() - {"weights"} == {"done", "settings", "files", "plan"}
        if not is_whole or not isinstance(plan, dict) or plan.keys() != {field.name for field in fields(Plan)}:
            raise ValueError(
                f"{path} was written by another version, or is damaged. Resume with the version that wrote it, give "
                f"another --out, or remove {self.folder}."
            )
        return kept

    def _differences(self, kept: dict[str, Any]) -> list[str]:
        """Return the settings that differ from the kept ones."""
        before = {name: value for name, value in kept["settings"].items() if name not in self.settings.refused}
        return differences(self.settings.identity(), before)

    @staticmethod
    def write_kept(folder: Path, marker: str, key: dict[str, Any], save: Callable[[Path], None]) -> None:
        """Write something anew, then the key by which a later run knows it."""
        (folder / marker).unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        save(folder)
        replace_file(folder / marker, json.dumps(key))


def file_facts(paths: Sequence[Path]) -> list[tuple[str, int, str]]:
    """Return name, bytes and sha256 of files."""
    from keras_transformers.data.corpus.survey import sha256_of

    return [(str(path), path.stat().st_size, sha256_of(path)) for path in paths]


def keep_standard_input(path: Path, source: BinaryIO | None = None) -> Path:
    """Copy standard input to a file; a file with the same text is left as it is, so that a repeated run knows it.

    Args:
        path: The file.
        source: Binary stream to read instead of standard input.

    Returns:
        `path`.

    Raises:
        ValueError: Standard input is empty, or there is no space on the disk.
    """
    source = sys.stdin.buffer if source is None else source
    new = path.with_name(f"{path.name}.new")
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = "Standard input was not kept whole, and nothing else has begun."
    with full_disk_as_error(path, kept), open(new, "wb") as file:
        shutil.copyfileobj(source, file)
    if not new.stat().st_size:
        new.unlink()
        raise ValueError("standard input is empty: expected text to train on. Pipe it in, or give files to --text.")
    if path.is_file() and filecmp.cmp(path, new, shallow=False):
        new.unlink()
    else:
        os.replace(new, path)
    return path


def _weights(out: Path) -> list[tuple[str, int, str]]:
    """Return name, bytes and sha256 of the files of weights in the folder of a model; none if there is no model."""
    found = file_facts(sorted(out.glob(WEIGHTS)))
    return [(Path(path).name, size, checksum) for path, size, checksum in found]


def _only_one_has(now: FileFacts, before: FileFacts) -> list[str]:
    """Return the names of the files that are not in both, with the same content."""
    return [file[0] for file in sorted({*map(tuple, now)} ^ {*map(tuple, before)})]
