"""Ask the `tokenizers` library what it does to every code point, and write the answers to unicode_tables.npz.

The library's Unicode data are older than Python's and differ between its own parts, so `unicodedata` is no substitute.
Run `python -m keras_transformers.text.graph.probe` after an update of the library that changes them (a test tells).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

TABLES = Path(__file__).with_name("unicode_tables.npz")
UNICODE_SIZE = 0x110000
SCALARS = [*range(0xD800), *range(0xE000, UNICODE_SIZE)]  # all but the surrogates, which no UTF-8 text can hold
KEEP, DROP, SPACE = range(3)  # what cleaning does to a code point
WORD, WHITE, PUNCTUATION = range(3)  # what splitting makes of one
LETTER, NUMBER, OTHER, BLANK, NEWLINE = range(5)  # how regular expressions see it: \p{L}, \p{N}, none, \s, [\r\n]
CHUNK = 4096


def probe() -> dict[str, np.ndarray]:
    """All tables: classes are (0x110000,) uint8; mappings are keys, lengths and the replacements end to end."""
    clean, chinese, strip = (
        _bert(**{step: True}).normalize_str for step in ("clean_text", "handle_chinese_chars", "strip_accents")
    )
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    decompose = _mapping(normalizers.NFD())
    return {
        "clean": _classes(lambda c: {"": DROP, c: KEEP, " ": SPACE}[clean(c)]),
        "chinese": _classes(lambda c: chinese(c) != c),
        "mark": _classes(lambda c: strip(c) == ""),
        "combining": _combining_ranks(set(decompose)),
        "composite": _composites(decompose),
        "split": _classes(lambda c: {1: WORD, 2: WHITE, 3: PUNCTUATION}[len(split(f"a{c}b"))]),
        "word": _word_class(),
        "regex": _regex_classes(),
        "numeric": _numeric_class(),
        **_pack("decompose", decompose),
        **_pack("lower", _mapping(normalizers.Lowercase())),
    }


def _bert(**only: bool) -> normalizers.BertNormalizer:
    """BertNormalizer with everything off but `only`."""
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**off, **only})


def _classes(classify: Callable[[str], int]) -> np.ndarray:
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    classes[SCALARS] = [classify(chr(point)) for point in SCALARS]
    return classes


def _mapping(normalizer: normalizers.Normalizer) -> dict[int, str]:
    mapped = ((point, normalizer.normalize_str(chr(point))) for point in SCALARS)
    return {point: text for point, text in mapped if text != chr(point)}


def _pack(name: str, mapping: dict[int, str]) -> dict[str, np.ndarray]:
    replacements = list(mapping.values())
    return {
        f"{name}_keys": np.array(list(mapping), np.int32),
        f"{name}_lengths": np.array([len(text) for text in replacements], np.uint8),
        f"{name}_values": np.array([ord(character) for text in replacements for character in text], np.int32),
    }


def _combining_ranks(decomposed: set[int]) -> np.ndarray:
    """Rank of the canonical combining class, 0 for starters: NFD swaps two marks if the first has the higher class."""
    nfd = normalizers.NFD().normalize_str

    def swaps(first: str, second: str) -> bool:
        return nfd(f"a{first}{second}") != f"a{first}{second}"

    low, high = "\u0334", "\u0345"  # classes 1 and 240, the ends of the scale
    stable = (chr(point) for point in SCALARS if point not in decomposed)
    marks = nfd("a" + "".join(c for c in stable if swaps(c, low) or swaps(high, c)))[1:]
    ranks = np.zeros(UNICODE_SIZE, np.uint8)
    steps = [1, *(swaps(second, first) for first, second in pairwise(marks))]
    ranks[[ord(mark) for mark in marks]] = np.cumsum(steps)
    return ranks


def _composites(decompose: dict[int, str]) -> np.ndarray:
    """1 for what NFC composes again of its decomposition."""
    nfc = normalizers.NFC().normalize_str
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    classes[[point for point, text in decompose.items() if nfc(text) == chr(point)]] = 1
    return classes


def _word_class(chunk: int = 256) -> np.ndarray:
    """1 where the library sees a word character beside an added token with `single_word`."""
    library = tokenizers.Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    library.add_tokens([tokenizers.AddedToken("<t>", single_word=True, normalized=False)])
    token = library.token_to_id("<t>")
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    for begin in range(0, len(SCALARS), chunk):
        points = SCALARS[begin : begin + chunk]
        encoding = library.encode("".join(f"{chr(point)}<t> " for point in points))
        alone = {start for i, (start, _) in zip(encoding.ids, encoding.offsets, strict=True) if i == token}
        classes[points] = [5 * i + 1 not in alone for i in range(len(points))]
    return classes


def _regex_classes() -> np.ndarray:
    classes = np.full(UNICODE_SIZE, OTHER, np.uint8)
    for kind, pattern in ((LETTER, r"\p{L}"), (NUMBER, r"\p{N}"), (BLANK, r"\s"), (NEWLINE, r"[\r\n]")):
        drop = normalizers.Replace(Regex(pattern), "").normalize_str
        for begin in range(0, len(SCALARS), CHUNK):
            text = "".join(map(chr, SCALARS[begin : begin + CHUNK]))
            classes[[ord(character) for character in set(text) - set(drop(text))]] = kind
    return classes


def _numeric_class() -> np.ndarray:
    """1 for what the pre-tokeniser Digits sets apart: not quite the NUMBERs."""
    split = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    for begin in range(0, len(SCALARS), CHUNK):
        pieces = split("a".join(map(chr, SCALARS[begin : begin + CHUNK])) + "a")
        classes[[ord(piece) for piece, _ in pieces if len(piece) == 1 and piece != "a"]] = 1
    return classes


if __name__ == "__main__":
    np.savez_compressed(TABLES, **probe())
    print(f"{TABLES.name}: {TABLES.stat().st_size:,} bytes, from tokenizers {tokenizers.__version__}")
