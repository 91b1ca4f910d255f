"""What the commands share: errors in one line, examples, and steps with their time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup


class Commands(TyperGroup):
    """Commands whose errors are one line on stderr: exit code 2 for what the user can mend, 1 for anything else."""

    debug = False

    def invoke(self, context: Any) -> Any:
        self.debug = context.params["debug"]
        return super().invoke(context)

    def main(self, *arguments: Any, **options: Any) -> None:
        try:
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
    """What went wrong once a model was saved is its cause; its message says where the model is."""


def explain(error: Exception) -> tuple[str, int]:
    """Message and exit code."""
    if isinstance(error, AfterSaving):
        message, code = explain(error.__cause__)
        return f"{message.rstrip('.')}. {error}", code
    if hasattr(error, "format_message"):  # of the command line itself; typer has its own copy of click by now
        return f"{error.format_message().rstrip('.')}. See --help.", 2
    if isinstance(error, (ValueError, OSError)):
        return str(error), 2
    return f"{type(error).__name__}: {error} (python -m zoo --debug ... shows where)", 1


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["Examples:", *(f"python -m zoo {command}" for command in commands)])


@contextmanager
def step(title: str, end: str = " ... ") -> Iterator[None]:
    """Say what is done, do it, and say how long it took."""
    print(title, end=end, flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.1f} s", flush=True)


def verbosity() -> int:
    """For `fit`: a bar on a terminal, a line an epoch elsewhere."""
    return 1 if sys.stdout.isatty() else 2
