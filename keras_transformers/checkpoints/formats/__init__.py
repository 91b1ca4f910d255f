"""The programs whose checkpoints are read, one module each; `find_stored` knows what wrote a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keras_transformers.checkpoints.files.other_programs import tell_other
from keras_transformers.checkpoints.formats import (
    google_albert,
    google_bert,
    google_electra,
    hugging_face,
    keras_hub,
    llama2_c,
    model_garden,
    nanogpt,
    openai_gpt2,
    opennmt_tf,
    other_checkpoint,
    static_vectors,
    tf_hub,
)
from keras_transformers.checkpoints.stored import Stored, UserOptions

NOTHING = UserOptions()


class Format(NamedTuple):
    """A format: the reader of one program's checkpoints, and its options.

    Args:
        read: Function that returns the record of a checkpoint, or None for a checkpoint of another program.
        options: Options that the user may give, as fields of `UserOptions`.
        is_of_a_file: Whether a checkpoint may be given by its one file, too, in place of its folder.
    """

    read: Callable[[Path, UserOptions], Stored | None]
    options: tuple[str, ...] = ()
    is_of_a_file: bool = False


FORMATS = (
    Format(hugging_face.read),
    Format(static_vectors.read),
    Format(keras_hub.read),
    Format(tf_hub.read, ("lowercase", "num_heads")),
    Format(nanogpt.read, is_of_a_file=True),
    Format(llama2_c.read, is_of_a_file=True),
    Format(openai_gpt2.read, ("num_heads",)),
    Format(google_electra.read, ("lowercase", "num_heads")),
    Format(google_albert.read, ("lowercase", "num_heads")),
    Format(google_bert.read, ("lowercase", "num_heads")),
    Format(model_garden.read, ("lowercase", "num_heads")),
    Format(opennmt_tf.read, ("num_heads",)),
    Format(other_checkpoint.read),
)


def find_stored(place: Path, user_options: UserOptions = NOTHING) -> Stored:
    """Return the record of a checkpoint, by the first format that knows it.

    Args:
        place: Path of the checkpoint: a folder, its file, or the prefix of TensorFlow's files.
        user_options: Information from the user that the files lack.

    Raises:
        ValueError: No format knows it, its files are missing, damaged, or of a model that is not supported;
            or an option is given that its files say themselves.
    """
    for form in FORMATS if not place.is_file() else filter(lambda form: form.is_of_a_file, FORMATS):
        if stored := form.read(place, user_options):
            _check_needed(user_options, form.options, stored)
            return stored
    if other := tell_other(place):
        raise ValueError(other)
    what = f"{str(place)!r} is a file of no checkpoint" if place.is_file() else f"there is no checkpoint in {place}"
    raise ValueError(
        f"{what}: expected a folder with the config.json of `transformers` or KerasHub; a TensorFlow checkpoint with "
        "the bert_config.json, albert_config.json, params.yaml, hparams.json or vocabularies of its program; the "
        "SavedModel of a TF-Hub encoder; or the ckpt.pt of nanoGPT or llama2.c. Fetch the files of one of them."
    )


def _check_needed(user_options: UserOptions, options: tuple[str, ...], stored: Stored) -> None:
    """Refuse options of the user that the files of the checkpoint say."""
    for name in ("lowercase", "num_heads"):
        if getattr(user_options, name) is not None and name not in options:
            raise ValueError(
                f"received {name}={getattr(user_options, name)!r} for {stored.source}, of {stored.writer}, whose "
                "files specify it. Leave it out."
            )
