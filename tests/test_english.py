"""Docstrings and messages use the field's words: openings and phrases that newcomers stumble over are refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Openings of an entry in Args, Returns or Attributes.
OPENINGS = {
    r"Of\b": "name the thing: 'Random seed for ...', 'Configuration of the model'",
    r"(In |To )?[Ww]hich\b": "name the thing, or say 'Whether'",
    r"What\b": "name the thing: 'Text that ...', 'Result of ...'",
    r"By\b": "'Tensors by name'",
    r"(From|Maps|Takes|Returns)\b": "'Function from X to Y', 'Function that returns', 'Result of'",
    r"(Those|The other one)\b": "name the thing",
}  # fmt: skip
SUMMARY = re.compile(r"(What|Which|Where|Of|Those)\b")
# Phrases anywhere in a docstring or in another text of several words: errors, warnings, help, pages.
PHRASES = {
    r"\bthose of\b": "repeat the noun",
    r"\bthe other one\b": "name the thing",
    r"\b(its|their) own\b": "leave it out, or say 'separate'",
    r"\bgo(es)? on\b": "'resume' a run, 'continue' a text or a training",
    r"\b[Pp]arted by\b": "'separated by'",
    r"\bwhat stands\b|\bstands? (for|before|after|beside|between)\b": "'represent', 'mark', 'precede'",
    r"\blent\b": "'fallback'",
    r"\bBegin of\b": "'Beginning of', 'Prefix of'",
    r"\b(is|are) no text in (an?|this|UTF|utf|\{)": "'cannot be decoded as'",
    r"^Of\b": "'For X:'",
}  # fmt: skip
ANY_PHRASE = re.compile("|".join(PHRASES))
ENTRY = re.compile(r"^\s+\**[\w`]+(?:, \**[\w`]+)*: (?P<text>.*)$")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """The nodes of all docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0].value


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the content of all other strings of at least three words, with `{}` for values in them."""
    documented = {id(node) for node in docstrings(tree)}
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(value) for node in joined for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(value.value if isinstance(value, ast.Constant) else "{}" for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (documented | parts):
            text = node.value
        else:
            continue
        if len(text.split()) >= 3:
            yield node.lineno, text


def phrases(number: int, text: str) -> Iterator[str]:
    """Yield the line, the text and the remedy of each phrase that is refused; it may be broken across two lines."""
    if ANY_PHRASE.search(" ".join(text.split())):
        for phrase, remedy in PHRASES.items():
            for found in re.finditer(phrase.replace(" ", r"\s+"), text):
                line = number + text[: found.start()].count("\n")
                shown = " ".join(text[max(found.start() - 40, 0) : found.end() + 40].split())
                yield f"{line}: {shown!r}: {remedy}"


def offenders(tree: ast.Module) -> Iterator[str]:
    """Yield the line, the text and the remedy of each offence in a file."""
    for node in docstrings(tree):
        if SUMMARY.match(node.value.strip()):
            yield f"{node.lineno}: {node.value.strip()[:60]!r}: name the thing, or begin with a verb"
        for number, line in enumerate(node.value.splitlines(), node.lineno):
            entry = ENTRY.match(line)
            if entry and not re.match(r"\s+\w+Error: ", line):
                for opening, remedy in OPENINGS.items():
                    if re.match(opening, entry["text"]):
                        yield f"{number}: {line.strip()!r}: {remedy}"
        yield from phrases(node.lineno, node.value)
    for node in ast.walk(tree):
        summary = isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
        if summary and re.match(r"(The|Whether|Number of|An?)\b", summary):
            yield f"{node.lineno}: {summary[:60]!r}: begin with a verb, such as Return"
    for number, text in texts(tree):
        yield from phrases(number, text)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('def f(a):\n    """Return.\n\n    Args:\n        a: Of the model.\n    """', 1),
        ('def f(a):\n    """Return.\n\n    Args:\n        a: Which of them.\n    """', 1),
        ('def f(a):\n    """Return.\n\n    Args:\n        a: Configuration of the model.\n    """', 0),
        ('def f(a):\n    """Return.\n\n    Raises:\n        ValueError: From `check`: too long.\n    """', 0),
        ('"""What a run does."""', 1),
        ('def f():\n    """The rows."""', 1),
        ('class Rows:\n    """The rows."""', 0),
        ('"""Return the rows and those\nof the other."""', 1),
        ('raise ValueError(f"the run in {folder} goes on there")', 1),
        ('raise ValueError(f"labels parted "\nf"by commas: {labels}")', 1),
        ('x = "those of"', 0),  # no sentence
        ('raise ValueError("give labels separated by commas")', 0),
    ],
)
def test_offences_are_found(source, count):
    assert len([*offenders(ast.parse(source))]) == count


@pytest.mark.integration
def test_docstrings_and_messages_use_the_words_of_the_field():
    paths = sorted(path for folder in ("keras_transformers", "zoo") for path in (ROOT / folder).rglob("*.py"))
    names = {path.relative_to(ROOT).as_posix(): path for path in paths}
    found = [
        f"{name}:{offence}"
        for name, path in names.items()
        for offence in offenders(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(["other words are expected:", *found])
