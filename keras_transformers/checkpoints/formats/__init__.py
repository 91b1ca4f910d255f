"""The programs whose checkpoints are read, one module each; `find_stored` knows what wrote a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keras_transformers.checkpoints.formats import hugging_face, keras_hub
from keras_transformers.checkpoints.stored import Said, Stored

# Each returns None for what another program wrote. With what the user may say of its checkpoints.
READERS: dict[Callable[[Path, Said], Stored | None], tuple[str, ...]] = {hugging_face.read: (), keras_hub.read: ()}


NOTHING = Said()


def find_stored(place: Path, said: Said = NOTHING) -> Stored:
    """Return the record of a checkpoint, by the first reader that knows it.

    Args:
        place: Of the checkpoint: a folder, or the prefix of TensorFlow's files.
        said: What the user says of it.

    Raises:
        ValueError: No reader knows it, or its files are missing, damaged, or of a model that is not supported.
    """
    for read, options in READERS.items():
        if stored := read(place, said):
            _check_needed(said, options, stored)
            return stored
    raise ValueError(
        f"there is no checkpoint in {place}: expected the config.json of `transformers` or KerasHub; a TensorFlow "
        "checkpoint with the bert_config.json, params.yaml, hparams.json or vocabularies of its program; or the "
        "SavedModel of a TF-Hub encoder. Fetch the files of one of them."
    )


def _check_needed(said: Said, options: tuple[str, ...], stored: Stored) -> None:
    """Refuse what the user says of a checkpoint whose files say it."""
    for name in ("lowercase", "num_heads"):
        if getattr(said, name) is not None and name not in options:
            raise ValueError(
                f"received {name}={getattr(said, name)!r} for {stored.source}, of {stored.writer}, whose files say it. "
                "Leave it out."
            )
