"""The model zoo: names, descriptions, and `load`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo._entry import describe, names

if TYPE_CHECKING:
    from zoo._load import load

__all__ = ["describe", "load", "names"]


def __getattr__(name: str):
    """Import `load` when it is first asked for, and Keras with it: names and descriptions come without."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names are {', '.join(__all__)}")
    from zoo._load import load

    return load


def __dir__() -> list[str]:
    """List the public names and the module's attributes, for completion."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
