"""Pages of the API: the public names, in the groups of `keras_transformers`' own table of them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ZOO = ("load", "names", "describe")
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


def pages() -> dict[str, str]:
    """Return the pages: one for the zoo, one for each room of the package with public names, one for the families."""
    rooms: dict[str, list[str]] = {}
    for module, names in public_names().items():
        rooms.setdefault(module.split(".")[0], []).extend(names)
    found = {"api/zoo.md": _page("zoo", [f"zoo.{name}" for name in ZOO])}
    found |= {
        f"api/{room}.md": _page(f"keras_transformers: {room}", [f"keras_transformers.{name}" for name in names])
        for room, names in rooms.items()
    }
    stub = (ROOT / "keras_transformers" / "families" / "__init__.pyi").read_text("utf-8")
    functions = [f"{module}.{name}" for module, name in re.findall(r"from (\S+) import (\w+) as", stub)]
    return found | {"api/families.md": _page("keras_transformers.families", functions)}


def task_options(task: str) -> str:
    """Return the reference of a task's own options, for its page."""
    (path,) = (ROOT / "keras_transformers" / "tasks").rglob(f"{task}.py")
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return f"::: {module}.{task}\n    options:\n      heading_level: 3\n      show_root_full_path: false\n"


def _page(title: str, paths: list[str]) -> str:
    return PAGE.format(title=title, entries="\n".join(ENTRY.format(path=path) for path in paths))
