"""The plan that a run keeps beside its model, so that the same command resumes it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.safe_files import locked, replace_file
from zoo.scratch.round_log import CURVE, METRICS, SAMPLES
from zoo.scratch.run_plan import Plan
from zoo.scratch.run_settings import RunSettings, differences

PLAN, STATES = "plan.json", "states"
WEIGHTS = "*.safetensors"  # in the folder of a model
KEYS = {field.name for field in fields(Plan)}
FileFacts = Sequence[Sequence[Any]]  # name, bytes and sha256 of each file that a run reads


class KeptPlan:
    """The plan in the folder of a run.

    Args:
        settings: The user's settings.
    """

    def __init__(self, settings: RunSettings):
        self.settings, self.folder = settings, settings.run_folder

    @property
    def states(self) -> Path:
        """The folder of the states of `Resume`."""
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
        if not is_whole or not isinstance(plan, dict) or plan.keys() != KEYS:
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


def _weights(out: Path) -> list[tuple[str, int, str]]:
    """Return name, bytes and sha256 of the files of weights in the folder of a model; none if there is no model."""
    found = file_facts(sorted(out.glob(WEIGHTS)))
    return [(Path(path).name, size, checksum) for path, size, checksum in found]


def _only_one_has(now: FileFacts, before: FileFacts) -> list[str]:
    """Return the names of the files that are not in both, with the same content."""
    return [file[0] for file in sorted({*map(tuple, now)} ^ {*map(tuple, before)})]
