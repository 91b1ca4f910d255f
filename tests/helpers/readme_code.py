"""Code of a Markdown page and the output that it shows below: run in the page's order, compared as doctest compares."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"^```sh\n((?:(?!```).*\n)+)```\n\n```text\n((?:(?!```).*\n)+)```", re.MULTILINE)
SET_UP = re.compile(r".*?-e \. && \.venv/bin/python")  # takes minutes: what it installs is there
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def is_shown(got: str, shown: str) -> bool:
    """Whether an output is the one on the page, where `...` stands for anything."""
    return doctest.OutputChecker().check_output(f"{shown}\n", f"{got}\n", FLAGS)


def statements(block: str) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement of a block, and its output as shown: the lines below it that are comments."""
    lines, nodes = block.splitlines(), ast.parse(block).body
    for node, begin in zip(nodes, [node.lineno - 1 for node in nodes[1:]] + [len(lines)], strict=True):
        below = [line for line in lines[node.end_lineno : begin] if line.startswith("#")]
        yield node, "\n".join(line.removeprefix("#").removeprefix(" ") for line in below)


def output(node: ast.stmt, names: dict) -> str:
    """What Python prints for a statement that is typed in: its value, too."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if isinstance(node, ast.Expr):
            sys.displayhook(eval(compile(ast.Expression(node.value), "page", "eval"), names))
        else:
            exec(compile(ast.Module([node], []), "page", "exec"), names)
    return printed.getvalue().strip()


def python_differences(page: str) -> Iterator[str]:
    """The statements whose output is not the one shown; that of `fit`, a bar that moves, need not be."""
    names = {"__name__": "__main__"}
    for block in PYTHON.findall(page):
        for node, shown in statements(block):
            got, code = output(node, names), ast.unparse(node)
            if not is_shown(got, shown) and (shown or ".fit(" not in code):
                yield f"{code}\n  prints\n{got}\n  and the page shows\n{shown or 'nothing'}"


def shell_differences(page: str, folder: Path, root: Path = ROOT) -> Iterator[str]:
    """The same of the commands that a block of text follows, run in a folder, with the packages of root."""
    programs = Path(sys.executable).parent
    # Of a reader: a log level that tests set lets TensorFlow say more.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(root)}
    for command, shown in SHELL.findall(page):
        command = SET_UP.sub("python", command)
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        if not is_shown(done.stdout + done.stderr, shown):
            yield f"{command}  prints\n{done.stdout}{done.stderr}  and the page shows\n{shown}"


if __name__ == "__main__":  # the Python of a page, in a process of its own
    found = 0
    for difference in python_differences(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(difference, flush=True)
        found += 1
    sys.exit(bool(found))
