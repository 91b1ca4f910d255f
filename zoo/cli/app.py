"""Shared parts of the commands: errors in one line, common options, steps with their time.

Keras is imported by the verbs that need it, in their functions, so that help, `list` and `describe` answer at once.
"""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from zoo.terminal.environment import short_warnings

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


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False)


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
