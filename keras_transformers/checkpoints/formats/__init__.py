"""The programs whose checkpoints are read, one module each; `find_stored` knows what wrote a folder."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from keras_transformers.checkpoints.files.other_programs import tell_other
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of
from keras_transformers.utils.untrusted import names_of

NOTHING = UserOptions()
OF_TENSORFLOW = ("*.index", "checkpoint")
OF_TORCH = ("*.pt", "*.pth", "*.ckpt", "*.bin")
OF_BERTS = ("lowercase", "num_heads")


class Format(NamedTuple):
    """A format: the module that reads one program's checkpoints, which is imported for its files only.

    Args:
        module: Name of the module in this folder. Its function `read` returns the record of a checkpoint, or None for
            a checkpoint of another program.
        marks: Patterns of the names of files: a folder without any of them is of another program.
        options: Options that the user may give, as fields of `UserOptions`.
        is_of_a_file: Whether a checkpoint may be given by its one file, too, in place of its folder.
    """

    module: str
    marks: tuple[str, ...]
    options: tuple[str, ...] = ()
    is_of_a_file: bool = False

    def recognises(self, names: Collection[str] | None) -> bool:
        """Return whether files of these names, None for unknown ones, can be of this format."""
        return names is None or any(fnmatchcase(name, mark) for mark in self.marks for name in names)

    @property
    def read(self) -> Callable[[Path, UserOptions], Stored | None]:
        """Return the function `read` of its module."""
        return importlib.import_module(f"{__name__}.{self.module}").read


FORMATS = (
    Format("hugging_face", ("config.json",)),
    Format("static_vectors", ("tokenizer.json",)),
    Format("keras_hub", ("config.json",)),
    Format("tf_hub", ("saved_model.pb", "saved_model.pbtxt", "tfhub_module.pb"), OF_BERTS),
    Format("nanogpt", OF_TORCH, is_of_a_file=True),
    Format("llama2_c", OF_TORCH, is_of_a_file=True),
    Format("openai_gpt2", ("hparams.json", "encoder.json"), ("num_heads",)),
    Format("google_electra", OF_TENSORFLOW, OF_BERTS),
    Format("google_albert", OF_TENSORFLOW, OF_BERTS),
    Format("google_bert", (*OF_TENSORFLOW, "bert_config.json"), OF_BERTS),
    Format("model_garden", OF_TENSORFLOW, OF_BERTS),
    Format("opennmt_tf", OF_TENSORFLOW, ("num_heads",)),
    Format("other_checkpoint", (*OF_TENSORFLOW, "*.meta", "*.pb", "*.pbtxt")),
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
    is_file = place.is_file()
    names = [place.name] if is_file else names_of(folder_of(place))
    for form in FORMATS:
        is_asked = form.recognises(names) and (form.is_of_a_file or not is_file)
        if is_asked and (stored := form.read(place, user_options)):
            _check_needed(user_options, form.options, stored)
            return stored
    if other := tell_other(place):
        raise ValueError(other)
    what = f"{str(place)!r} is a file of no checkpoint" if is_file else f"there is no checkpoint in {place}"
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
