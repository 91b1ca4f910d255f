"""Pages of the API: the public names, in the groups of `keras_transformers`' own table of them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEW = "scratch.api.new"
ZOO = {
    "load": "loading.load",
    "names": "registry.entry",
    "describe": "registry.entry",
    "new": NEW,
    "train_further": NEW,
}
PAGE = "# {title}\n\n{entries}"
ENTRY = "::: {path}\n"


@cache
def public_names() -> dict[str, list[str]]:
    """Return the public names of `keras_transformers` by the module that has them, without importing it."""
    tree = ast.parse((ROOT / "keras_transformers" / "__init__.py").read_text("utf-8"))
    (table,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES"
    )
    return eval(compile(ast.Expression(table), "_NAMES", "eval"), {})


@cache
def entries() -> dict[str, dict[str, str]]:
    """Return the title of each page, and on it the names with the paths of their definitions.

    There is a page for the zoo, one for each room of the package with public names, and one for the families.
    """
    rooms: dict[str, dict[str, str]] = {}
    for module, names in public_names().items():
        of_room = rooms.setdefault(f"keras_transformers: {module.split('.')[0]}", {})
        of_room |= {f"keras_transformers.{name}": f"keras_transformers.{module}.{name}" for name in names}
    stub = (ROOT / "keras_transformers" / "families" / "__init__.pyi").read_text("utf-8")
    functions = [f"{module}.{name}" for module, name in re.findall(r"from (\S+) import (\w+) as", stub)]
    zoo = {f"zoo.{name}": f"zoo.{home}.{name}" for name, home in ZOO.items()}
    return {"zoo": zoo, **rooms, "keras_transformers.families": {path: path for path in functions}}


def pages() -> dict[str, str]:
    """Return the pages by their addresses."""
    return {_address(title): _page(title, list(names)) for title, names in entries().items()}


def index() -> str:
    """Return the tables of the index: each name with the first sentence of its docstring, by page."""
    parts = []
    for title, names in entries().items():
        page = _address(title).removeprefix("api/")
        rows = (f"| [`{name.rpartition('.')[2]}`]({page}#{name}) | {summary(path)} |" for name, path in names.items())
        parts.append("\n".join([f"## [{title}]({page})", "", "| name | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def summary(path: str) -> str:
    """Return the first line of the docstring of a name, where it is defined, without importing it."""
    module, _, name = path.rpartition(".")
    for node in syntax(module).body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return summary(f"{node.module}.{name}")
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0].replace("|", "\\|")
    if (ROOT / Path(*path.split("."), "__init__.py")).is_file():
        return (ast.get_docstring(syntax(path)) or "").partition("\n")[0]
    raise ValueError(f"{module} neither defines nor imports {name}: correct the table of public names.")


@cache
def syntax(module: str) -> ast.Module:
    """Return the syntax tree of a module of the repository."""
    path = ROOT / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))


def task_options(task: str) -> str:
    """Return the reference of a task's own options, for its page."""
    (path,) = (ROOT / "keras_transformers" / "tasks").rglob(f"{task}.py")
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return f"::: {module}.{task}\n    options:\n      heading_level: 3\n      show_root_full_path: false\n"


def _address(title: str) -> str:
    return f"api/{re.split(r'[.: ]+', title)[-1]}.md"


def _page(title: str, paths: list[str]) -> str:
    return PAGE.format(title=title, entries="\n".join(ENTRY.format(path=path) for path in paths))
