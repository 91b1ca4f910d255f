"""Commands of `python -m zoo`, in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from zoo.__main__ import app


def invoke(*arguments, **options):
    """On a terminal without colours, wherever the tests run."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"TERM": "dumb"}, **options)


def run(*arguments, stdin: str | None = None) -> str:
    """What a command prints, once it has ended well."""
    result = invoke(*arguments, input=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fail(*arguments) -> tuple[int, str]:
    """Exit code and message of a command that fails, with one line on stderr and nothing on stdout."""
    result = invoke(*arguments)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result.exit_code, result.stderr
