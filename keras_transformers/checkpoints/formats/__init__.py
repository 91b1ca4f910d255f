"""The programs whose checkpoints are read, one module each; `find_stored` knows what wrote a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keras_transformers.checkpoints.formats import (
    google_bert,
    hugging_face,
    keras_hub,
    model_garden,
    openai_gpt2,
    opennmt_tf,
    other_checkpoint,
    tf_hub,
)
from keras_transformers.checkpoints.stored import Stored, UserOptions

NOTHING = UserOptions()


class Format(NamedTuple):
    """A format: the reader of one program's checkpoints, and its options.

    Args:
        read: Returns the record of a checkpoint, or None for what another program wrote.
        options: Options that the user may give, as fields of `UserOptions`.
    """

    read: Callable[[Path, UserOptions], Stored | None]
    options: tuple[str, ...] = ()


FORMATS = (
    Format(hugging_face.read),
    Format(keras_hub.read),
    Format(tf_hub.read, ("lowercase", "num_heads")),
    Format(openai_gpt2.read, ("num_heads",)),
    Format(google_bert.read, ("lowercase", "num_heads")),
    Format(model_garden.read, ("lowercase", "num_heads")),
    Format(opennmt_tf.read, ("num_heads",)),
    Format(other_checkpoint.read),
)


def find_stored(place: Path, user_options: UserOptions = NOTHING) -> Stored:
    """Return the record of a checkpoint, by the first format that knows it.

    Args:
        place: Of the checkpoint: a folder, or the prefix of TensorFlow's files.
        user_options: What its files do not say.

    Raises:
        ValueError: No format knows it, its files are missing, damaged, or of a model that is not supported;
            or an option is given that its files say themselves.
    """
    for form in FORMATS:
        if stored := form.read(place, user_options):
            _check_needed(user_options, form.options, stored)
            return stored
    raise ValueError(
        f"there is no checkpoint in {place}: expected the config.json of `transformers` or KerasHub; a TensorFlow "
        "checkpoint with the bert_config.json, params.yaml, hparams.json or vocabularies of its program; or the "
        "SavedModel of a TF-Hub encoder. Fetch the files of one of them."
    )


def _check_needed(user_options: UserOptions, options: tuple[str, ...], stored: Stored) -> None:
    """Refuse options of the user that the files of the checkpoint say."""
    for name in ("lowercase", "num_heads"):
        if getattr(user_options, name) is not None and name not in options:
            raise ValueError(
                f"received {name}={getattr(user_options, name)!r} for {stored.source}, of {stored.writer}, whose files "
                "say it. Leave it out."
            )
