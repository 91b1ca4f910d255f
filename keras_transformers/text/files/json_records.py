"""The objects of JSON lines, and of files that hold one array of objects, read one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformers.text.files.decoded_blocks import MOST_LETTERS_OF_LINE, decoded_blocks, lines_of
from keras_transformers.utils.untrusted import shown

SPACES = " \t\r\n"
JSON_LINES = (".jsonl", ".jsonlines", ".ndjson")  # endings of files with an object a line


class Record(dict):
    """A JSON object; `twice` are its keys that occur more than once."""

    twice: tuple[str, ...] = ()


def json_lines(path: Path, encoding: str, errors: str) -> Iterator[tuple[int, Record]]:
    """Yield the line, from 1, and the object of each line; blank lines are skipped.

    Raises:
        ValueError: A line is no JSON object, or is too long; or the file is no text: see `decoded_blocks`.
    """
    for number, line in enumerate(lines_of(path, encoding, errors), 1):
        if line.strip():
            place = f"{path}, line {number:,}"
            try:
                value = json.loads(line, object_pairs_hook=_record)
            except (ValueError, RecursionError) as error:  # such as a number of 5,000 digits, which is valid JSON
                raise ValueError(
                    f"{place}: not JSON that Python reads ({error}). A .jsonl file has one object a line."
                ) from None
            yield number, _checked(place, value)


def json_values(path: Path, encoding: str, errors: str) -> Iterator[tuple[int, Record]]:
    """Yield the number, from 1, and the object of each record of a `.json` file: an array of objects, or objects one
    after the other; in flat memory.

    Raises:
        ValueError: The file is no JSON, or is cut short; a value is no object, or has more than
            `MOST_LETTERS_OF_LINE` characters; or it is no text: see `decoded_blocks`.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.json")
    >>> _ = path.write_text('[{"text": "a"},\\n {"text": "b"}]')
    >>> list(json_values(path, "utf-8", "strict"))
    [(1, {'text': 'a'}), (2, {'text': 'b'})]
    """
    text = _Text(path, decoded_blocks(path, encoding, errors))
    is_array, number = text.skip("["), 0
    while (sign := text.next()) and not (is_array and sign == "]"):
        if is_array and number and not text.skip(","):
            raise text.error(number, f"expected a comma or ] behind the record, received {sign!r}")
        number += 1
        yield number, _checked(f"{path}, record {number:,}", text.value(number))
    if is_array and (not text.skip("]") or text.next()):
        raise text.error(number, "the ] of its array is missing, or more follows: the file may be cut short")


class _Text:
    """The text of a file from a position on, of which more is read as it is needed."""

    def __init__(self, path: Path, blocks: Iterator[str]):
        self.path, self.blocks = path, blocks
        self.text, self.position, self.line = "", 0, 1
        self.decoder = json.JSONDecoder(object_pairs_hook=_record)

    def next(self) -> str:
        """Return the next character that is no white space, without taking it; empty at the end."""
        while True:
            while self.position < len(self.text) and self.text[self.position] in SPACES:
                self.position += 1
            if self.position < len(self.text):
                return self.text[self.position]
            if not self.more():
                return ""

    def skip(self, sign: str) -> bool:
        """Take the next character if it is `sign`; return whether it was."""
        if self.next() != sign:
            return False
        self.position += 1
        return True

    def more(self) -> bool:
        """Read more, twice as much as there is left; return whether there was more."""
        self.line += self.text.count("\n", 0, self.position)
        parts = [self.text[self.position :]]
        wanted, size = 2 * len(parts[0]), len(parts[0])
        for block in self.blocks:
            parts.append(block)
            if (size := size + len(block)) > wanted:
                break
        self.text, self.position = "".join(parts), 0
        return len(parts) > 1

    def value(self, number: int) -> Any:
        """Take the next value."""
        self.next()
        while True:
            try:
                value, self.position = self.decoder.raw_decode(self.text, self.position)
                return value
            except json.JSONDecodeError as error:
                if len(self.text) - self.position > MOST_LETTERS_OF_LINE or not self.more():
                    raise self.error(number, error.msg) from None
            except (ValueError, RecursionError) as error:
                raise self.error(number, str(error)) from None

    def error(self, number: int, what: str) -> ValueError:
        line = self.line + self.text.count("\n", 0, self.position)
        return ValueError(f"{self.path}, record {max(number, 1):,} (from line {line:,}): not JSON ({what}).")


def _record(pairs: list[tuple[str, Any]]) -> Record:
    record = Record(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        record.twice = tuple(name for name in record if names.count(name) > 1)
    return record


def _checked(place: str, value: Any) -> Record:
    if not isinstance(value, Record):
        raise ValueError(f'{place}: expected a JSON object, such as {{"text": "..."}}: received {shown(value)}.')
    return value
