"""The plan that a run keeps beside its model, so that the same command goes on with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.safe_files import replace_file
from zoo.scratch.round_log import CURVE, METRICS, SAMPLES
from zoo.scratch.run_plan import Plan
from zoo.scratch.run_settings import RunSettings, differences

PLAN, STATES = "plan.json", "states"


class KeptPlan:
    """The plan in the folder of a run.

    Args:
        settings: What was asked.
    """

    def __init__(self, settings: RunSettings):
        self.settings, self.folder = settings, settings.run_folder

    @property
    def states(self) -> Path:
        """The folder of the states of `Resume`."""
        return self.folder / STATES

    def read(self) -> Plan | None:
        """Return the plan of the run that was interrupted here; None where no run is under way.

        Raises:
            ValueError: A run with other settings is under way.
        """
        if not (self.folder / PLAN).is_file():
            return None
        kept = read_object(self.folder / PLAN)
        if kept["done"]:
            return None
        if different := differences(self.settings.identity(), kept["settings"]):
            raise ValueError(
                f"a run with other settings is under way in {self.folder}: {', '.join(different)}. Give those again to "
                "go on, another --out to begin a second run, or remove that folder to give the first one up."
            )
        return Plan.from_dict(kept["plan"])

    def is_done(self) -> bool:
        """Return whether a run with just these settings has ended here."""
        if not (self.folder / PLAN).is_file():
            return False
        kept = read_object(self.folder / PLAN)
        return bool(kept["done"]) and not differences(self.settings.identity(), kept["settings"])

    def write(self, plan: Plan, done: bool = False) -> None:
        """Keep a plan; one that has just begun forgets the figures of the run before."""
        if not done:
            shutil.rmtree(self.states, ignore_errors=True)
            for name in (METRICS, CURVE, SAMPLES):
                (self.folder / name).unlink(missing_ok=True)
        values = {"done": done, "settings": self.settings.identity(), "plan": plan.to_dict()}
        replace_file(self.folder / PLAN, json.dumps(values, indent=2) + "\n")
        if done:
            shutil.rmtree(self.states, ignore_errors=True)

    @staticmethod
    def write_kept(folder: Path, marker: str, key: dict[str, Any], save: Callable[[Path], None]) -> None:
        """Write something anew, then the key by which a later run knows it."""
        (folder / marker).unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        save(folder)
        replace_file(folder / marker, json.dumps(key))
