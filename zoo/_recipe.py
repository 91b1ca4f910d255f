"""The state of a run by a recipe: kept beside the folder that it writes, until that is written and measured."""

import contextlib
from pathlib import Path

# The files of `Resume`, and the folders of `AverageEpochs` and of a first stage's `Resume`. Another file in there
# belongs to somebody else.
STATES, AVERAGED, FIRST = "epoch-*.npz", "epochs", "first"


def state_folder(folder: Path) -> Path:
    """Return where the recipe that writes `folder` keeps what an interrupted run goes on from: `FOLDER.resume`."""
    folder = folder.resolve()
    return folder.with_name(folder.name + ".resume")


def remove_state(folder: Path) -> None:
    """Remove that of a run that has ended; next time it starts anew.

    The newest state first: what is left after an interruption is an older one, and all that the run needs to go on.
    """
    state = state_folder(folder)
    for stage in (state, state / FIRST):
        for path in (*sorted(stage.glob(STATES), reverse=True), stage / "partial"):
            if path.is_file():
                path.unlink()
    for path in (state / AVERAGED).glob("*.weights.h5"):
        path.unlink()
    for path in (state / AVERAGED, state / FIRST, state):
        with contextlib.suppress(OSError):  # it is not there, or holds something else
            path.rmdir()
