"""The choice of sources and targets: two columns of a table, by name or content; two files of an archive, by name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from keras_transformers.utils.untrusted import shown

COLUMNS = ("source", "target")  # of a table with a header
SOURCES, TARGETS = ("source", "src", "input"), ("target", "tgt", "trg", "output")
FILLERS = {"text", "texts", "sentence", "sentences", "sent", "words", "translation", "language", "lang", "txt"}
# Codes of ISO 639-1; and of the languages that people translate most, codes of ISO 639-3 and English names.
LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu "
    "ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na "
    "nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so "
    "sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ara "
    "ben bul cat ces cze cmn dan deu ger ell eng epo est eus fas fin fra fre heb hin hrv hun ind isl ita jpn kat kor "
    "lat lit lav mar mkd nld dut nob nor pol por ron rus slk slv spa sqi srp swe swh tam tel tha tgl tur ukr urd vie "
    "zho chi arabic bengali bulgarian catalan chinese croatian czech danish dutch english esperanto estonian finnish "
    "french german greek hebrew hindi hungarian icelandic indonesian italian japanese korean latin latvian lithuanian "
    "marathi norwegian persian polish portuguese romanian russian serbian slovak slovenian spanish swahili swedish "
    "tamil thai turkish ukrainian urdu vietnamese welsh irish "
)
KNOWN = frozenset(LANGUAGES.split())
REGION = re.compile(r"(?:[A-Z][a-z]{3}|[A-Za-z]{2})", re.ASCII)  # of en_US, zh-Hans
NUMBER_OR_ADDRESS = re.compile(
    r"\s*(?:[-+]?[\d.,:/eE-]*\d[\d.,:/eE-]*|https?://\S+|[A-Za-z]*[-_.:]\d+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-\w{12})?\s*",
    re.ASCII,
)  # `id_12` and UUIDs, too
SENTENCE_END = re.compile(r"[^\w\s)\]}\"']\s*$")  # of "Hi.", which is no name of Hindi
FEWEST = 10  # rows of which one text says that a column holds no sentences
REMEDY = "Name the columns: --source-column and --target-column (numbers, from 0, without a header)."
OF_FILES = "Give --source-column and --target-column, such as de and en, or unpack it, and give --source and --target."


def named_pair(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the names of source and target, if these are clear; else None.

    They are `source` and `target`, words such as `src` and `tgt` in them, or two languages, in their order.

    >>> named_pair(["id", "src_text", "tgt_text"]), named_pair(["id", "de", "en-GB"]), named_pair(["a", "b"])
    (('src_text', 'tgt_text'), ('de', 'en-GB'), None)
    >>> named_pair(["id", "translation.en", "translation.de"])
    ('translation.en', 'translation.de')
    """
    lower = [name.strip().lower() for name in names]
    for source, target in (("source", "target"), ("src", "tgt"), ("src", "trg"), ("input", "output")):
        if lower.count(source) == lower.count(target) == 1:
            return names[lower.index(source)], names[lower.index(target)]
    sides = [[name for name in names if set(_words(name)) & set(words)] for words in (SOURCES, TARGETS)]
    if [len(side) for side in sides] == [1, 1] and sides[0] != sides[1]:
        return sides[0][0], sides[1][0]
    languages = [name for name in names if is_language(name) and name.strip().lower() != "id"]
    return (languages[0], languages[1]) if len(languages) == 2 and languages[0] != languages[1] else None


def resolved(given: str, names: Sequence[str]) -> str:
    """Return the name that a user means: itself, or the one `translation.de` for `de`."""
    inner = [name for name in names if name.endswith(f".{given}")]
    return inner[0] if given not in names and len(inner) == 1 else given


def resolved_language(given: str, names: Sequence[str]) -> str:
    """Return the language of a file that `en` means: itself, or the only one of a region, such as `en-us`."""
    regions = [name for name in names if name.replace("_", "-").split("-")[0] == given.lower()]
    return regions[0] if given.lower() not in names and len(regions) == 1 else given.lower()


def completed(path: Path, given: Sequence[str | int | None], names: Sequence[str]) -> list[str]:
    """Return the names of source and target: those given, and for others what the names of the columns say."""
    if any(isinstance(column, int) for column in given):
        raise ValueError(f"{path}: received {list(given)}: expected names, of {', '.join(map(shown, names))}.")
    wanted = [None if column is None else resolved(str(column), names) for column in given]
    found = named_pair(names) or COLUMNS
    if (one := next((name for name in wanted if name in found), None)) and None in wanted:
        return [name or next(other for other in found if other != one) for name in wanted]
    columns = [name or usual for name, usual in zip(wanted, found, strict=True)]
    if missing := [name for name in columns if name not in names]:
        known = ", ".join(map(shown, names)) or "nothing"
        raise ValueError(f"{path}: no column {shown(missing[0])}; the file has {known}. {REMEDY}")
    return columns


def unnamed_pair(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the numbers of the columns of text in rows without header: the second and fourth of id, text, id, text."""
    if rows and all(len(row) >= 4 and row[0].strip().isdigit() and row[2].strip().isdigit() for row in rows):
        return 1, 3
    return 0, 1


def check_unnamed(path: Path, column: int, texts: Sequence[str], has_header: bool) -> None:
    """Refuse a column that the user has not named, and that holds one text; or, if no header has named it either,
    numbers or addresses, perhaps below a header that is not known.
    """
    below = texts[1:] if len(texts) > 1 and not has_header else texts
    what = None
    if not has_header and all(map(NUMBER_OR_ADDRESS.fullmatch, below)):
        what = "numbers or addresses"
    elif len(below) >= FEWEST and len(set(below)) == 1:
        what = "one text in all rows"
    if what:
        raise ValueError(
            f"{path}: column {column}, counted from 0, has {what}, such as {shown(below[0])}, and it is not clear "
            f"which columns are the texts. {REMEDY}"
        )


def check_is_no_header(path: Path, row: Sequence[str]) -> None:
    """Refuse a first row of nothing but languages: a header that does not say which two are meant."""
    if len(row) > 1 and all(map(is_language, row)):
        raise ValueError(f"{path}, line 1: the columns {', '.join(map(shown, row))}: which two are meant? {REMEDY}")


def moses_files(path: Path, parts: Sequence[Path], source: object, target: object) -> tuple[Path, Path]:
    """Return the files of sources and targets in a .zip, as OPUS gives pairs in the format of Moses: two whose names
    differ in the last suffix, a language, alone.

    Args:
        path: The archive.
        parts: Files of the archive.
        source, target: The suffixes, such as `"de"`; when None, the first and the second one in their order.

    Raises:
        ValueError: There are no such two, or more than two; the message has the files.

    Example:

    >>> parts = [Path("a.zip", name) for name in ("Books.de-en.de", "Books.de-en.en", "Books.de-en.ids")]
    >>> [file.name for file in moses_files(Path("a.zip"), parts, "en", None)]
    ['Books.de-en.en', 'Books.de-en.de']
    """
    given = [None if one is None else str(one).lower() for one in (source, target)]
    groups: dict[Path, dict[str, Path]] = defaultdict(dict)
    for part in parts:
        if (language := part.suffix[1:].lower()) in given or is_language(language):
            groups[part.with_suffix("")][language] = part
    found = [group for group in groups.values() if len(group) > 1 and {*filter(None, given)} <= group.keys()]
    sides = list(found[0]) if len(found) == 1 else []
    free = [name for name in sides if name not in given]
    if not sides or len(free) > (given.count(None) or len(free)):
        names = ", ".join(shown(str(part.relative_to(path))) for part in parts[:10])
        raise ValueError(
            f"{path} has {len(parts):,} files ({names}{', ...' if parts[10:] else ''}): expected two that differ in "
            f"the last suffix alone, a language, as OPUS has them. {OF_FILES}"
        )
    chosen = [name or free.pop(0) for name in given]
    return found[0][chosen[0]], found[0][chosen[1]]


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name.strip().lower())


def is_language(name: str) -> bool:
    """Return whether a name is that of a language: `en`, `en-US`, `eng_Latn`, `English sentences`, `translation.de`.

    >>> is_language("hi"), is_language("Hi."), is_language("English (US)")
    (True, False, True)
    """
    if SENTENCE_END.search(name):
        return False
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name.strip()) if word and word.lower() not in FILLERS]
    if not 1 <= len(words) <= 2 or words[0].lower() not in KNOWN:
        return False
    return len(words) == 1 or REGION.fullmatch(words[1]) is not None
