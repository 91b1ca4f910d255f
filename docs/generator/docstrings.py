"""An extension of griffe: the examples of docstrings as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^Examples?:\n\n((?:>>> |\.\.\. |\S|\n(?=>>> )).*?)(?=\n\n(?!>>> )|\Z)", re.MULTILINE | re.DOTALL)


class Examples(griffe.Extension):
    """Marks the lines of an example, which begin with `>>>`, as Python that is typed in."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring and ">>> " in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(r"**Example**\n\n```pycon\n\1\n```", obj.docstring.value)
