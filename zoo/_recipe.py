"""The state of a run by a recipe: kept beside the folder that it writes, until that is written and measured."""

import contextlib
from pathlib import Path

# The files of `Resume` and `AverageEpochs`. Another file in there belongs to somebody else.
STATES, AVERAGED = "epoch-*.npz", "epochs"


def state_folder(folder: Path) -> Path:
    """Where the recipe that writes `folder` keeps what an interrupted run goes on from: `FOLDER.resume`."""
    folder = folder.resolve()
    return folder.with_name(folder.name + ".resume")


def remove_state(folder: Path) -> None:
    """Removes that of a run that has ended; next time it starts anew.

    The newest state first: what is left after an interruption is an older one, and all that the run needs to go on.
    """
    state = state_folder(folder)
    averaged = state / AVERAGED
    for path in (*sorted(state.glob(STATES), reverse=True), state / "partial", *averaged.glob("*.weights.h5")):
        path.unlink(missing_ok=True)
    for path in (averaged, state):
        with contextlib.suppress(OSError):  # it is not there, or holds something else
            path.rmdir()
