"""The encodings that decode a whole file which another encoding cannot decode, best guess first."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from keras_transformers.text.files.packed import byte_blocks

# Those that text files of people have, as browsers know them; of two that decode a text alike the first one is told.
# Not latin-1: any bytes are text in it.
USUAL = (
    "utf-8", "cp1252", "cp1250", "iso8859-15", "iso8859-2", "cp1254", "cp1257", "cp1258", "cp1251", "koi8-r", "koi8-u",
    "cp866", "iso8859-5", "cp1253", "cp1255", "cp1256", "cp874", "shift_jis", "cp932", "euc_jp", "gb18030", "big5",
    "euc_kr", "cp949", "mac-roman", "cp850", "utf-16-le", "utf-16-be",
)  # fmt: skip
ESCAPING = ("iso2022_jp", "iso2022_jp_2", "iso2022_kr")
SAMPLE = 64 << 10  # bytes of lines that are not ASCII
MOST_MESS = 0.35  # of charset_normalizer: 0.2 is its own, which refuses short texts in capitals or with many accents
MOST_NAMES, FEW = 6, 12
LATIN = ("iso8859-1", "iso8859-15")
CONTROLS_OF_LATIN = re.compile(rb"[\x80-\x9f]")  # where cp1252 has quotes and dashes
SHOWN = 40  # characters of a word in a message
CONTROLS = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")  # that texts do not have


class Looked(NamedTuple):
    """The result of reading a whole file: bytes of a sample, bad places and good characters beyond ASCII in an
    encoding, and the usual encodings that decode it.
    """

    sample: bytes
    bad: int
    good: int
    fitting: tuple[str, ...]


def encodings_of(path: Path, without: str = "") -> list[str]:
    """Return the usual encodings that decode a whole file, the likeliest first, without the one that was tried."""
    return _ranked(_look(path, "utf-8", without))


def hint(path: Path, encoding: str, around: bytes) -> str:
    """Return what to do about a file with bytes that an encoding cannot decode.

    Args:
        path: The file.
        encoding: The one that was tried.
        around: The bytes about the first bad one, to be shown in other encodings.
    """
    looked = _look(path, encoding, encoding)
    places = "1 place is" if looked.bad == 1 else f"{looked.bad:,} places are"
    replace = "errors='replace' reads the file with U+FFFD in place of bytes that cannot be decoded"
    if looked.good >= looked.bad and looked.good:
        return f"All else is {encoding}, and only {places} not: correct it, or {replace}."
    if name := _utf16(path, looked):
        return _only(path, name)
    if not (names := _ranked(looked)):
        return (
            "No usual encoding decodes the whole file: it may be binary, or mix encodings. Leave it out, convert it, "
            f"or say encoding=. {places.capitalize()} bad: {replace}."
        )
    seen = ", ".join(f"{name!r} ({_decoded(around, name)})" for name in names)
    return (
        f"The whole file is text in {seen}. Say the one that reads well, as in encoding={names[0]!r}, "
        f"where that is an option, or convert the file: iconv -f {names[0].upper()} -t UTF-8 {path.name}. "
        f"{places.capitalize()} bad: {replace}."
    )


def zero_bytes_hint(path: Path, encoding: str) -> str:
    """Return what to do about a file with zero bytes."""
    if name := _utf16(path, _look(path, encoding, encoding)):
        return _only(path, name)
    return "Leave it out (a pattern such as 'texts/*.txt' chooses files), or say encoding=."


def fitting_hint(path: Path) -> str:
    """Return what to do about a file that an encoding cannot even begin to decode."""
    looked = _look(path, "utf-8", "")
    if name := _utf16(path, looked):
        return _only(path, name)
    fitting = ["utf-8"] if "utf-8" in looked.fitting else _ranked(looked)
    names = ", ".join(map(repr, fitting)) or "none of the usual ones"
    return f"Encodings that decode the whole file: {names}. Say encoding=."


def doubt(path: Path, encoding: str) -> str | None:
    """Return why an encoding that decodes the begin of a file may still be the wrong one; None without a reason.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_bytes(b"It\\x92s")
    >>> doubt(path, "iso8859-1").replace(str(path), path.name)
    "a.txt: iso8859-1 makes a control character of 0x92, which is '’' in 'cp1252': check encoding=."
    """
    if encoding.startswith("utf"):
        return None
    begin = next(byte_blocks(path), b"")
    if encoding in LATIN and (found := CONTROLS_OF_LATIN.search(begin)):
        letter = found[0].decode("cp1252", "replace")
        return (
            f"{path}: {encoding} makes a control character of 0x{found[0].hex()}, which is {letter!r} in 'cp1252': "
            "check encoding=."
        )
    if begin.isascii():
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        return None
    word = next(word for word in text.split() or [text] if not word.isascii())
    return f"{path} is read as {encoding}, and is text in 'utf-8', too, with {word[:SHOWN]!r}: check encoding=."


def escapes_hint(path: Path) -> str:
    """Return what to do about a file with the escape sequences of ISO-2022, which are ASCII."""
    return _only(path, next((name for name in ESCAPING if _decodes(path, name)), ESCAPING[0]))


def _utf16(path: Path, looked: Looked) -> str | None:
    """Return the UTF-16 that a file is in: zeros, as of ASCII, are every other byte of its begin.

    Few zeros say so only beside other bytes that are no text, such as Cyrillic.
    """
    begin = next(byte_blocks(path), b"")[:SAMPLE]
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if 8 * (even + odd) < len(begin) and not CONTROLS.search(begin):
        return None
    name = "utf-16-le" if odd > even else "utf-16-be"
    return name if max(even, odd) > 9 * min(even, odd) and name in looked.fitting else None


def _only(path: Path, name: str) -> str:
    return (
        f"The whole file is text in {name!r}: say encoding={name!r} where that is an option, or "
        f"convert the file: iconv -f {name.upper()} -t UTF-8 {path.name}."
    )


def _decodes(path: Path, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for block in byte_blocks(path):
            decoder.decode(block)
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def _look(path: Path, encoding: str, without: str) -> Looked:
    """Read a file once, in flat memory, with all decoders."""
    decoders = {name: codecs.getincrementaldecoder(name)() for name in USUAL if codecs.lookup(name).name != without}
    counter = codecs.getincrementaldecoder(encoding)("replace")
    sample, good, bad, rest = b"", 0, 0, b""

    def feed(block: bytes, final: bool) -> None:
        nonlocal good, bad
        text = counter.decode(block, final)
        bad += text.count("\ufffd")
        good += len(text) - len(text.encode("ascii", "ignore"))
        for name, decoder in list(decoders.items()):
            try:
                decoder.decode(block, final)
            except UnicodeDecodeError:
                del decoders[name]

    for block in byte_blocks(path):
        feed(block, False)
        if len(sample) < SAMPLE:
            *lines, rest = (rest + block).split(b"\n")
            sample += b"".join(line + b"\n" for line in lines if not line.isascii())
    feed(b"", True)
    sample += rest if not rest.isascii() else b""
    return Looked(sample[:SAMPLE], bad, good - bad, tuple(decoders))


def _ranked(looked: Looked) -> list[str]:
    """Return the encodings that make good text of a sample, by charset_normalizer, and decode the whole file."""
    import charset_normalizer

    names = {codecs.lookup(name).name: name for name in looked.fitting}
    isolated = [name.replace("-", "_") for name in looked.fitting]
    if not isolated or not looked.sample:
        return []
    found = charset_normalizer.from_bytes(
        looked.sample, cp_isolation=isolated, threshold=MOST_MESS, preemptive_behaviour=False
    )
    groups = [[codecs.lookup(name).name for name in match.could_be_from_charset] for match in found]
    order = list(names)
    flat = [name for group in groups for name in sorted(filter(names.__contains__, group), key=order.index)[:2]]
    if sum(byte > 127 for byte in looked.sample) < FEW:  # too few for a guess: the commonest one first
        flat.sort(key=lambda name: name != "cp1252")
    flat.sort(key=lambda name: not _is_japanese(looked.sample.decode(name, "replace")))
    return [names[name] for name in dict.fromkeys(flat)][:MOST_NAMES]


def _is_japanese(text: str) -> bool:
    """Return whether a text has many Hiragana, as only one that was Japanese has in any encoding.

    >>> _is_japanese("すべての幸福な家庭"), _is_japanese("궥귊궲궻뛍븶궶됄믩")
    (True, False)
    """
    wide = [letter for letter in text if letter >= "\u3000"]
    return sum("\u3041" <= letter <= "\u309f" for letter in wide) > len(wide) / 5


def _decoded(around: bytes, name: str) -> str:
    return repr(around.decode(name, "replace").strip().partition("\n")[0])
