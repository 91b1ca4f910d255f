"""Families of models: functions from sizes to a `TransformerConfig`, and tables of the names of Hugging Face.

Each file of the folders is read: its tables, `Names`, and the functions that they hold are the families. No list names
them; `__init__.pyi`, which a test writes, names the functions for editors and type checkers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

from keras_transformers.families.table import Names


def _find_tables(package: str, folders: list[str]) -> Iterator[Names]:
    """Yield the tables of the modules of a package, in the order of their names, and of the packages in it."""
    for module in sorted(pkgutil.iter_modules(folders), key=lambda module: module.name):
        found = importlib.import_module(f"{package}.{module.name}")
        if module.ispkg:
            yield from _find_tables(found.__name__, list(found.__path__))
        else:
            yield from (value for name, value in vars(found).items() if isinstance(value, Names) and name[0] != "_")


def collect(tables: Iterable[Names]) -> dict[str, Names]:
    """Return tables by their families.

    Raises:
        ImportError: Two tables are of one family.
    """
    found: dict[str, Names] = {}
    for table in tables:
        if found.setdefault(table.model_type, table) is not table:
            raise ImportError(
                f"two tables of names for {table.model_type!r}: begin the name of a part with an underscore."
            )
    return found


FAMILIES = collect(_find_tables(__name__, list(__path__)))
FUNCTIONS = {names.configure.__name__: names.configure for names in FAMILIES.values()}
globals().update(FUNCTIONS)
__all__ = sorted(FUNCTIONS)
