"""The programs whose checkpoints are read, one module each; `find_stored` knows what wrote a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keras_transformers.checkpoints.formats import hugging_face, keras_hub
from keras_transformers.checkpoints.stored import Said, Stored

# Each returns None for what another program wrote.
READERS: tuple[Callable[[Path, Said], Stored | None], ...] = (hugging_face.read, keras_hub.read)


NOTHING = Said()


def find_stored(place: Path, said: Said = NOTHING) -> Stored:
    """Return the record of a checkpoint, by the first reader that knows it.

    Args:
        place: Of the checkpoint: a folder, or the prefix of TensorFlow's files.
        said: What the user says of it.

    Raises:
        ValueError: No reader knows it, or its files are missing, damaged, or of a model that is not supported.
    """
    for read in READERS:
        if stored := read(place, said):
            return stored
    raise ValueError(
        f"there is no checkpoint in {place}: expected the config.json of `transformers` or KerasHub; a TensorFlow "
        "checkpoint with the bert_config.json, params.yaml, hparams.json or vocabularies of its program; or the "
        "SavedModel of a TF-Hub encoder. Fetch the files of one of them."
    )
