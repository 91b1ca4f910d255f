"""Pairs of a TMX file, the XML of translation memories, read by expat in flat memory, without entities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from keras_transformers.text.files.packed import byte_blocks
from keras_transformers.utils.untrusted import shown

CODES = frozenset(("bpt", "ept", "it", "ph", "ut"))  # elements that hold the markup of the original, not its text
MOST_LETTERS = 16 << 20  # of a unit
MOST_TEXTS = 100  # of a unit, in one language
LANGUAGES = ("xml:lang", "lang")


class Unit(NamedTuple):
    """A translation unit: the line it begins in, and its texts by language (in lower case), the source's first.

    A language has several texts where there are several translations.
    """

    line: int
    texts: dict[str, list[str]]


def tmx_units(path: Path) -> Iterator[Unit]:
    """Yield the units of a TMX file.

    Raises:
        ValueError: It is no XML, is cut short, or declares entities; a variant has no language, or a unit is too long.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.tmx")
    >>> text = '<tu><tuv xml:lang="%s"><seg>%s</seg></tuv><tuv xml:lang="%s"><seg>%s</seg></tuv></tu>'
    >>> _ = path.write_text(f"<tmx><body>{text % ('en', 'Hi.', 'de', 'Hallo.')}</body></tmx>")
    >>> list(tmx_units(path))
    [Unit(line=1, texts={'en': ['Hi.'], 'de': ['Hallo.']})]
    """
    reader = _Reader(path)
    for block in byte_blocks(path):
        reader.feed(block, False)
        yield from reader.taken()
    reader.feed(b"", True)
    yield from reader.taken()


class _Reader:
    """Collects units from the events of expat."""

    def __init__(self, path: Path):
        self.path, self.units = path, list[Unit]()
        self.texts: dict[str, list[str]] = {}
        self.source = ""  # the language that was translated, as the header says
        self.language, self.line, self.size = "", 0, 0
        self.parts: list[str] | None = None  # of the segment that is open
        self.codes = 0  # elements of `CODES` that are open
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.EntityDeclHandler = self.entity
        self.parser.SkippedEntityHandler = self.skipped

    def feed(self, block: bytes, is_last: bool) -> None:
        """Parse a block."""
        try:
            self.parser.Parse(block, is_last)
        except expat.ExpatError as error:
            raise ValueError(
                f"{self.path}, line {error.lineno:,}: not XML, or cut short ({expat.ErrorString(error.code)}). Fetch "
                "it again."
            ) from None
        except (LookupError, ValueError) as error:
            if str(error).startswith(str(self.path)):
                raise
            raise self.wrong(f"it declares an encoding that is not read here ({error}): convert it to UTF-8") from None

    def taken(self) -> list[Unit]:
        """Return the units that are complete, and forget them."""
        units, self.units = self.units, []
        return units

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "header":
            self.source = attributes.get("srclang", "").lower()
        elif name == "tu":
            self.texts, self.line, self.size = {}, self.parser.CurrentLineNumber, 0
        elif name == "tuv":
            self.language = next((attributes[key] for key in LANGUAGES if attributes.get(key)), "").lower()
            if not self.language:
                raise self.wrong("a <tuv> has no xml:lang: expected its language")
        elif name == "seg":
            self.parts = []
        self.codes += name in CODES

    def data(self, text: str) -> None:
        if self.parts is not None and not self.codes:
            self.size += len(text)
            if self.size > MOST_LETTERS:
                raise self.wrong(f"a unit has more than {MOST_LETTERS:,} characters")
            self.parts.append(text)

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self.codes -= name in CODES
        if name == "seg" and self.parts is not None:
            texts = self.texts.setdefault(self.language, [])
            if (text := " ".join("".join(self.parts).split())) not in texts:
                texts.append(text)
            if len(texts) > MOST_TEXTS:
                raise self.wrong(f"a unit has more than {MOST_TEXTS:,} texts in {self.language}")
            self.parts = None
        elif name == "tu" and self.texts:
            self.units.append(Unit(self.line, dict(sorted(self.texts.items(), key=self.is_target))))

    def is_target(self, item: tuple[str, list[str]]) -> bool:
        return item[0] != self.source

    def entity(self, name: str, *_) -> None:
        raise self.wrong(f"the file declares the entity {shown(name)}, which may grow without end: remove it")

    def skipped(self, name: str, *_) -> None:
        raise self.wrong(f"the entity {shown(name)} is declared in another file, if at all: write the character itself")

    def wrong(self, what: str) -> ValueError:
        return ValueError(f"{self.path}, line {self.parser.CurrentLineNumber:,}: {what}.")
