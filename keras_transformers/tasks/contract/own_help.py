"""Docstrings of methods that all tasks share, with the section that each task writes itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

SECTION = r"^{title}:\n((?:    .*\n|\n(?=    ))+)"


@cache
def find_section(function: Callable, title: str) -> str:
    """Return a section of a function's docstring, indented as it is there; empty if there is none.

    Example:

    >>> find_section(find_section, "Note")
    ''
    """
    found = re.search(SECTION.format(title=title), (inspect.getdoc(function) or "") + "\n", re.MULTILINE)
    return found[1] if found else ""


def with_section(method: Callable[..., Any], title: str, text: str) -> Callable[..., Any]:
    """Return a method whose docstring has another text in one of its sections.

    Args:
        method: The method; it stays as it is.
        title: Title of a section in the docstring.
        text: New text of the section, indented; empty to keep the section as it is.

    Example:

    >>> def double(number):
    ...     '''Double a number.
    ...
    ...     Returns:
    ...         A number.
    ...     '''
    ...     return 2 * number
    >>> own = with_section(double, "Returns", "    An even number.\\n")
    >>> own(2), find_section(own, "Returns")
    (4, '    An even number.\\n')
    """

    @wraps(method)
    def own(*arguments: Any, **options: Any) -> Any:
        return method(*arguments, **options)

    if text:
        own.__doc__ = _replaced(method.__doc__ or "", title, text)
    return own


@cache  # a method is asked for at each call
def _replaced(docstring: str, title: str, text: str) -> str:
    section = re.compile(SECTION.format(title=title), re.MULTILINE)
    return section.sub(lambda _: f"{title}:\n{text}", inspect.cleandoc(docstring) + "\n")
