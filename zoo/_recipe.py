"""The state of a run by a recipe: kept beside the folder that it writes, until that is written and measured."""

import shutil
from pathlib import Path


def state_folder(folder: Path) -> Path:
    """Where the recipe that writes `folder` keeps what an interrupted run goes on from: `FOLDER.resume`."""
    folder = folder.resolve()
    return folder.with_name(folder.name + ".resume")


def remove_state(folder: Path) -> None:
    """Removes that of a run that has ended; next time it starts anew.

    By a renaming first: what is left after an interruption is never taken for the state of a run.
    """
    state = state_folder(folder)
    removed = state.with_name(state.name + ".removed")
    shutil.rmtree(removed, ignore_errors=True)
    if state.exists():
        state.rename(removed)
        shutil.rmtree(removed)
