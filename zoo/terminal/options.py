"""Options that several commands share, in the panels of --help, and the checks of their values."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors
from keras_transformers.utils.untrusted import check_file
from zoo.registry.entry import Entry


def readable(path: Path | None) -> Path | None:
    """Check a file that a command reads, before Keras is imported; return it."""
    if path is not None:
        check_file(path)
    return path


def check_new_file(option: str, path: Path, *read: Path | None) -> None:
    """Raise a `ValueError` if a file to write is one that the command reads, under any name."""
    if any(other is not None and path.exists() and path.samefile(other) for other in read):
        raise ValueError(f"{option} {path} is one of the files to read: give another file.")


def loadable(name: str | None) -> str | None:
    """Check a name for `zoo.load`, as far as possible without Keras and the hub; return it."""
    if name is not None:
        check_loadable(name)
    return name


def check_loadable(name: str, **facts: Any) -> None:
    """Raise a `ValueError` if `zoo.load` cannot load a name, as far as that is known without Keras and the hub.

    Args:
        name: Name of the model, as for `zoo.load`.
        **facts: The user's information about the checkpoint: fields of `UserOptions`.
    """
    from keras_transformers.checkpoints.formats import find_stored
    from keras_transformers.checkpoints.peft import is_adapter
    from keras_transformers.checkpoints.settings.sentence_modules import transformer_folder
    from keras_transformers.checkpoints.stored import UserOptions
    from zoo.loading.place import stands_for
    from zoo.loading.weightless import no_weights

    place = stands_for(name)
    if isinstance(place, Path) and not is_adapter(place):
        find_stored(transformer_folder(place), UserOptions(**facts))
    elif isinstance(place, Entry) and place.source is None:
        raise ValueError(no_weights(place))


def task_name(name: str | None) -> str | None:
    """Check the name of a task; return it."""
    from keras_transformers.checkpoints.settings.names import task_names

    if name is not None and name not in task_names():
        raise ValueError(f"--task must be one of {', '.join(task_names())}: received {name!r}.")
    return name


def column(value: str) -> str | int:
    """Return a column's name, or its number."""
    return int(value) if value.isdecimal() else value


# Options in the panels of --help.
of_data, of_model, of_training, of_writing, of_output = (
    partial(Option, rich_help_panel=panel) for panel in ("Data", "Model", "Training", "Writing", "Output")
)

Model = Annotated[
    str,
    Argument(
        callback=loadable,
        help="Model to load: a name printed by `list`, a folder, hf:org/repo@revision or keras-nlp:preset.",
    ),
]
Text = Annotated[
    Any,
    of_data(
        help="Column with the texts: its name, or its number from 0 in a file without a header.",
        metavar="COLUMN",
        parser=column,
    ),
]
TextPair = Annotated[Any, of_data(help="Column with the second text of each pair.", metavar="COLUMN", parser=column)]
Label = Annotated[
    Any,
    of_data(
        help="Column with the labels (several labels are separated by |) or, for a language model, the target texts.",
        show_default="label; none for a language model",
        metavar="COLUMN",
        parser=column,
    ),
]
Prefix = Annotated[
    str | None,
    of_writing(help="Text before every prompt, such as a long instruction; the model reads it once."),
]
Encoding = Annotated[
    str,
    of_data(callback=check_encoding, help="Encoding of the files and of standard input, by its Python name."),
]
Errors = Annotated[
    str,
    of_data(
        callback=check_errors,
        help="Handling of bytes that cannot be decoded: strict raises an error, replace inserts U+FFFD.",
    ),
]
Loss = Annotated[
    str | None,
    of_model(help="Training loss: ranking, cosine, ... for sentence_embedding; binary or listwise for ranking."),
]
NoAnswer = Annotated[
    bool | None,
    of_model(help="Whether a question may have no answer (question_answering). If omitted, as the model was trained."),
]
TaskName = Annotated[
    str | None,
    of_model("--task", callback=task_name, help="Task to perform. If omitted, the task that the model was made for."),
]
Prompt = Annotated[
    str | None,
    of_model(
        help="Name of the prompt put before each text (sentence_embedding). If omitted, the model's default prompt."
    ),
]
TruncateDim = Annotated[
    int | None, of_model(help="Number of leading vector dimensions to keep (sentence_embedding).", min=1)
]
MaxLength = Annotated[
    int | None, of_model(help="Maximum length of a text in tokens. If omitted, the model's maximum.", min=4)
]
Strategy = Annotated[
    str | None,
    of_training(
        help="Distribution over devices or machines: auto, mirrored, multi_worker (with TF_CONFIG or Slurm) or tpu."
    ),
]
BatchSize = Annotated[int, of_data(help="Number of texts in a batch.", min=1)]
