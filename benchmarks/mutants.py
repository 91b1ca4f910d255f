"""Small changes to the library, one at a time, drawn with a seed: which of them does no test see?

    python benchmarks/mutants.py [--seed 13] [--number 100] [--only 3,17] [--list]

A change is another operator, constant, condition, argument, or a missing statement. It is made in a copy of the
repository and put before the quick tests that mirror its file (those that name it where there are none), then all quick
tests beside them, last those with the marks `parity`, `data` and `slow`. Each run is a fork of this process, which has
imported TensorFlow but none of ours. The test that fails is run without the change too: it must pass.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import itertools
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("layers", "training", "generation", "data", "models", "checkpoints", "text/graph")
BOTH_WAYS = """Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult Div, min max, any all, sum mean,
    minimum maximum, zeros ones, zeros_like ones_like, logical_and logical_or, floor ceil, argmax argmin"""
OTHER = {one: two for pair in BOTH_WAYS.split(",") for one, two in (pair.split(), reversed(pair.split()))}
OTHER |= {"BitAnd": "BitOr", "FloorDiv": "Mult", "Mod": "FloorDiv", "Pow": "Mult"}
LIKE_ITS_ARGUMENT = re.compile(
    "softmax|minimum|maximum|clip|rint|sqrt|exp|log|sort(ed)?|flip|reversed|cumsum|cast|unique|strip|lower|dropout|norm"
)
KEPT = re.compile(r"Raise|JoinedStr|Expr\(value=Constant|Call\(func=Name\(id='(zip|\w+Error)'|If\(test=.{,50}__name__")
LIMITS = {"quick": 240, "near": 900, "marked": 1800}  # seconds of each stage


class Mutant(NamedTuple):
    """A change of a file: of a list of its syntax tree, or of the fields of a node, one entry."""

    path: Path
    tree: ast.Module
    entries: Any
    key: int | str
    operator: str
    new: ast.AST

    def source(self) -> str:
        old, self.entries[self.key] = self.entries[self.key], self.new
        changed = ast.unparse(self.tree)
        self.entries[self.key] = old
        return changed

    def __str__(self) -> str:
        old = self.entries[self.key]
        shown = (" ".join(ast.unparse(node).split())[:150].replace("|", "\\|") for node in (old, self.new))
        return f"{self.path}:{old.lineno} | {self.operator} | `{'` -> `'.join(shown)}`"


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be done to a node, and what then takes its place."""

    def new(**fields):
        return ast.copy_location(type(node)(**dict(ast.iter_fields(node)) | fields), node)

    def other(op):
        return getattr(ast, OTHER[type(op).__name__])()

    match node:
        case ast.Compare(ops=[op]):
            yield "comparison", new(ops=[other(op)])
        case ast.BinOp(op=op) if type(op).__name__ in OTHER:
            yield "arithmetic", new(op=other(op))
        case ast.BinOp(left=left, right=right):
            yield "operands swapped", new(left=right, right=left)
        case ast.BoolOp(op=op, values=values):
            yield from [("boolean", new(op=other(op))), ("operand alone", values[0]), ("operand alone", values[-1])]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield "sign or not dropped", operand
        case ast.Constant(value=bool(value)):
            yield "constant", new(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from [("constant", new(value=value + 1)), ("constant", new(value=value - 1))]
        case ast.IfExp(body=body, orelse=orelse):
            yield from [("branch alone", body), ("branch alone", orelse)]
        case ast.If(test=test) | ast.While(test=test):
            yield "condition negated", new(test=ast.UnaryOp(ast.Not(), test))
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in OTHER:
            yield "function", new(**{"id" if isinstance(node, ast.Name) else "attr": OTHER[name]})
        case ast.Call(func=func, args=args, keywords=keywords):
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if len(args) >= 2 and type(args[-1]) is type(args[-2]) and name != "isinstance":
                yield "arguments swapped", new(args=[*args[:-2], args[-1], args[-2]])
            if args and LIKE_ITS_ARGUMENT.fullmatch(name):
                yield "call dropped", args[0]
            for index in range(len(keywords)):
                yield "keyword dropped", new(keywords=keywords[:index] + keywords[index + 1 :])
        case ast.Expr() | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", ast.copy_location(ast.Pass(), node)


def mutants_of(path: Path) -> list[Mutant]:
    """Every change of a file but to texts, annotations, decorators, errors, and the arguments of `zip`."""
    tree, found = ast.parse((ROOT / path).read_text(encoding="utf-8")), []

    def visit(entries):
        for key, child in list(entries.items() if isinstance(entries, dict) else enumerate(entries)):
            if key in ("annotation", "returns", "decorator_list"):
                continue
            if isinstance(child, list):
                visit(child)
            elif isinstance(child, ast.AST) and not KEPT.match(ast.dump(child)):
                found.extend(Mutant(path, tree, entries, key, *it) for it in changes(child))
                visit(vars(child))

    visit(tree.body)
    return found


def draw(seed: int, number: int) -> list[Mutant]:
    """One change of each file in turn, the files in random order: first its operator is drawn, then its place."""
    source, drawn = random.Random(seed), []
    paths = [path for folder in FOLDERS for path in files(f"keras_transformers/{folder}", "*.py")]
    left = [found for path in paths if (found := mutants_of(path))]
    source.shuffle(left)
    for found in itertools.islice(itertools.cycle(left), number):
        operator = source.choice(sorted({mutant.operator for mutant in found}))
        index = source.choice([index for index, mutant in enumerate(found) if mutant.operator == operator])
        drawn.append(found.pop(index))
    return drawn


def files(folder: str, pattern: str) -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in ROOT.joinpath(folder).rglob(pattern))


def tests_of(changed: Path) -> dict[str, list]:
    """Arguments of pytest for each stage."""
    module, folder = ".".join(changed.with_suffix("").parts), Path("tests", *changed.parts[1:-1])
    folder = folder if (ROOT / folder).is_dir() else folder.parent
    naming = [path for path in files("tests", "test_*.py") if module in (ROOT / path).read_text(encoding="utf-8")]
    mirror = folder / f"test_{changed.name}"
    quick = [mirror] if (ROOT / mirror).is_file() else naming
    return {"quick": [changed, *quick], "near": [folder, *naming], "marked": ["-m", "parity or data or slow", "tests"]}


def child(folder: Path, arguments: list) -> None:
    """pytest in a fork, in the copy of the repository."""
    import pytest

    os.setsid()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *map(str, arguments)]))


def failure(folder: Path, arguments: list, limit: int) -> str:
    """The first test that fails, or that time is over, or how the process ended; empty if all pass."""
    process = multiprocessing.get_context("fork").Process(target=child, args=(folder, arguments))
    process.start()
    process.join(limit)
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
        return f"{limit} seconds are over"
    log = (folder / "log").read_text(encoding="utf-8", errors="replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", log, re.MULTILINE)
    return "" if process.exitcode in (0, 5) else failed[0] if failed else f"exit {process.exitcode}"  # 5: no tests


def killer(folder: Path, mutant: Mutant, stage: str) -> str:
    """The test of a stage that notices a mutant, if any does."""
    (folder / mutant.path).write_text(mutant.source(), encoding="utf-8")
    failed = failure(folder, tests_of(mutant.path)[stage], LIMITS[stage])
    shutil.copy2(ROOT / mutant.path, folder / mutant.path)
    if failed == "exit 4" or ("::" in failed and failure(folder, ["-m", "", failed], LIMITS[stage])):
        sys.exit(f"{failed} fails without a change too: mend it first. The log: {(folder / 'log').read_text()}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--only", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    drawn = draw(options.seed, options.number)
    left = options.only or list(range(len(drawn)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"), dirs_exist_ok=True)
        compileall.compile_dir(folder, quiet=2)
        for stage in () if options.list else LIMITS:
            for number in list(left):
                if killed_by := killer(folder, drawn[number], stage):
                    left.remove(number)
                    print(f"| {number} | {drawn[number]} | {stage}: {killed_by} |", flush=True)
            print(f"{stage}: {len(left)} survive: {left}", flush=True)
    for number in left:
        print(f"| {number} | {drawn[number]} |" + " survived |" * (not options.list))


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if "--list" not in sys.argv:
        import tensorflow  # noqa: F401
    main()
