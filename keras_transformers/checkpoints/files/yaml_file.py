"""The YAML files of a checkpoint folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from keras_transformers.utils.untrusted import MOST_LETTERS, decoded, read_bytes

MOST_BYTES = 256 << 10  # of options: those of a run take about 5 KB


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; empty if it holds another value.

    Raises:
        ValueError: The file is missing, too large or no YAML, or has tags of Python or aliases.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "params.yaml")
    >>> _ = path.write_text("task: {model: {num_classes: 3}}")
    >>> read_yaml(path)
    {'task': {'model': {'num_classes': 3}}}
    """
    content = decoded(read_bytes(path, "a YAML file", MOST_BYTES), path)
    try:
        values = yaml.load(content, _Plain)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        reason = str(error)[:MOST_LETTERS]
        raise ValueError(f"{path} is no YAML ({reason}). Correct it, or take it out of the folder.") from error
    return values if isinstance(values, dict) else {}


class _Plain(yaml.SafeLoader):
    """A loader without aliases: a few lines of them expand to more values than fit in memory."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it contains an alias: replace the alias by its value")
        return super().compose_node(parent, index)
