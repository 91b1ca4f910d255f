"""The state of a recipe's run, kept beside the folder that it writes until the model is saved and measured."""

import contextlib
from pathlib import Path

# The files of `Resume`, and the folders of `AverageEpochs` and of a first stage's `Resume`. Any other file belongs to
# the user and is kept.
STATES, AVERAGED, FIRST = "epoch-*.npz", "epochs", "first"


def state_folder(folder: Path) -> Path:
    """Return the folder of the state from which the recipe that writes `folder` resumes: `FOLDER.resume`."""
    folder = folder.resolve()
    return folder.with_name(folder.name + ".resume")


def remove_state(folder: Path) -> None:
    """Remove the state of a run that has ended, so that the next run starts from scratch.

    The newest state is removed first: after an interruption an older one is left, from which the run can resume.
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
