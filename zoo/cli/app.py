"""Shared parts of the commands: errors in one line, common options, steps with their time.

Keras is imported by the verbs that need it, in their functions, so that help, `list` and `describe` answer at once.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from typer import Argument, Option
from typer.core import TyperGroup

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors
from keras_transformers.utils.untrusted import check_file
from zoo._entry import Entry
from zoo.cli.environment import short_warnings

# How errors of Python calls name an argument, `pairs=`, and the option of the command line that gives it.
OPTIONS = {
    "pairs=": "--text-pair", "text=": "--text", "label=": "--label", "task=": "--task", "field=": "--field",
    "encoding=": "--encoding", "errors=": "--errors",
    "lowercase=True or lowercase=False": "--lowercase or --cased of `python -m zoo convert`",
    "num_heads=...": "--num-heads of `python -m zoo convert`",
}  # fmt: skip
ARGUMENT = re.compile(rf"\b({'|'.join(map(re.escape, OPTIONS))})(?:'([\w.-]+)'|(?![\w'\"(\[{{]))")
# Puts the options in place of the arguments in a message.
spelled = partial(ARGUMENT.sub, lambda found: f"{OPTIONS[found[1]]} {found[2] or ''}".rstrip())
STARTED = time.monotonic()  # about when the command did: before Keras is imported


class Commands(TyperGroup):
    """Commands whose errors are one line on stderr: exit code 2 for errors of the user, 1 for all others."""

    debug = False

    def invoke(self, context: Any) -> Any:
        self.debug = context.params["debug"]
        return super().invoke(context)

    def main(self, *arguments: Any, **options: Any) -> None:
        if sys.stdout is None:  # closed
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        elif hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")  # characters that the terminal's encoding lacks
        try:
            with short_warnings(spelled):
                code = super().main(*arguments, **(options | {"standalone_mode": False}))
        except typer.Abort:
            code = 130
        except Exception as error:
            if self.debug:
                raise
            message, code = explain(error)
            print(f"error: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(code)


class AfterSaving(Exception):
    """An error after something was saved. Its cause is the error; its message says where to find what was saved."""


def explain(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    if isinstance(error, AfterSaving) and error.__cause__ is not None:
        message, code = explain(error.__cause__)
        return f"{message.rstrip('.')}. {error}", code
    if hasattr(error, "format_message"):  # a usage error; newer versions of typer have their own copy of click
        return f"{error.format_message().rstrip('.')}. See --help.", 2
    if isinstance(error, (ValueError, OSError)):
        return spelled(str(error)), 2
    return f"{type(error).__name__}: {error} (python -m zoo --debug ... shows where)", 1


def examples(*commands: str) -> str:
    """Return the end of a command's help."""
    return "\n\n".join(["Examples:", *(f"python -m zoo {command}" for command in commands)])


@contextmanager
def step(title: str, end: str = " ... ") -> Iterator[None]:
    """Print the title of a step before it runs, and its time after it."""
    print(title, end=end, flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.1f} s", flush=True)


def verbosity() -> int:
    """Return the `verbose` of `fit`: a progress bar on a terminal, a line per epoch elsewhere."""
    return 1 if sys.stdout.isatty() else 2


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False)


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
    from zoo._place import stands_for
    from zoo._sizes import no_weights

    place = stands_for(name)
    if isinstance(place, Path) and not is_adapter(place):
        find_stored(transformer_folder(place), UserOptions(**facts))
    elif isinstance(place, Entry) and place.source is None:
        raise ValueError(no_weights(place))


def task_name(name: str | None) -> str | None:
    """Check the name of a task; return it."""
    from keras_transformers.checkpoints.names import task_names

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


@app.callback(
    invoke_without_command=True,
    epilog=examples("list", "finetune", 'predict runs/finetuned "Where is my parcel?"'),
)
def zoo(
    context: typer.Context,
    debug: Annotated[bool, Option("--debug", help="Print the full traceback of an error.")] = False,
) -> None:
    """Load text transformers by name, fine-tune them, and export them as SavedModels that take text."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def console() -> Console:
    """Return a console as wide as the terminal, or 100 columns wide where there is none."""
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False, markup=False)


def counted(number: int, noun: str) -> str:
    """Return a number and its noun.

    Example:

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def hanging(begin: str, text: str) -> str:
    """Wrap a text to the terminal's width with a hanging indent; a command stays one line, to copy."""
    if text.startswith("python "):
        return f"{begin}{text}"
    return textwrap.fill(
        text,
        console().width,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_facts(facts: Mapping[str, str], width: int = 0) -> None:
    """Print facts, each beside its name.

    Args:
        facts: The facts by name.
        width: Minimum width of the names.
    """
    width = max(width, *map(len, facts))
    for name, fact in facts.items():
        print(hanging(f"{name:<{width}}  ", fact))


def show(table: Table) -> None:
    """Print a table with uncut cells, even where the terminal is too narrow for it."""
    printer = console()
    needed = Measurement.get(printer, printer.options.update(max_width=1_000), table).maximum
    printer.width = max(printer.width, needed)
    printer.print(table)
