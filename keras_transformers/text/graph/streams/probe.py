"""Tables of what the `tokenizers` library does to every code point, written to unicode_tables.npz.

The library's Unicode data are older than Python's and differ between parts of the library, so `unicodedata` is no
substitute. After an update of the library that changes them, a test fails: then run
`python -m keras_transformers.text.graph.streams.probe`.
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
KEEP, DROP, SPACE = range(3)  # actions of cleaning on a code point
WORD, WHITE, PUNCTUATION = range(3)  # classes of BERT's pre-tokeniser
LETTER, NUMBER, OTHER, BLANK, NEWLINE = range(5)  # class in regular expressions: \p{L}, \p{N}, none, \s, [\r\n]
CAPITAL, SMALL, CASELESS = 1, 2, 3  # \p{Lu}\p{Lt}, \p{Ll}, \p{Lm}\p{Lo}\p{M}: the last is with both, bit by bit
# Classes of code points in grapheme clusters. Without regional indicators: their clusters are too long for a rule.
(ANY, CONTROL, RETURN, LINE_FEED, MARK, PREFIX, PICTURE, LEADING, VOWEL, TRAILING, OPEN, CLOSED) = range(12)
NUM_CLUSTER_CLASSES = 12
# Classes in the words of texts: see `streams.words_of_text`. GAP is white space.
(ALONE, RUN, KATAKANA, FLAG, PICTOGRAPH, ATTACHED, GAP) = range(7)
CHUNK = 4096


def probe() -> dict[str, np.ndarray]:
    """Return all tables: a class table is (0x110000,) uint8; a mapping is keys, lengths and the replacements end to
    end.
    """
    clean, chinese, strip = (
        _bert(**{step: True}).normalize_str for step in ("clean_text", "handle_chinese_chars", "strip_accents")
    )
    split, accents = pre_tokenizers.BertPreTokenizer().pre_tokenize_str, normalizers.StripAccents().normalize_str
    decompose = _mapping(normalizers.NFD())
    regex, cluster = _regex_classes(), _cluster_classes()
    return {
        "clean": _classes(lambda c: {"": DROP, c: KEEP, " ": SPACE}[clean(c)]),
        "chinese": _classes(lambda c: chinese(c) != c),
        "mark": _classes(lambda c: strip(c) == ""),
        "accent": _classes(lambda c: accents(c) == ""),
        "combining": _combining_ranks(set(decompose)),
        "composite": _composites(decompose),
        "split": _classes(lambda c: {1: WORD, 2: WHITE, 3: PUNCTUATION}[len(split(f"a{c}b"))]),
        "word": _word_class(),
        "regex": regex,
        "letter_case": _letter_cases(),
        "numeric": _numeric_class(),
        "cluster": cluster,
        "script": _scripts(),
        "text_word": _text_word_classes(regex, cluster),
        **_pack("decompose", decompose),
        **_pack("lower", _mapping(normalizers.Lowercase())),
        **_pack(
            "compatible", {key: text for key, text in _mapping(normalizers.NFKD()).items() if key not in decompose}
        ),
        **_pack("nmt", _mapping(normalizers.Nmt())),
    }


def _bert(**only: bool) -> normalizers.BertNormalizer:
    """Build a BertNormalizer with all steps off except `only`."""
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
    """Rank code points by canonical combining class, 0 for starters: NFD swaps marks if the first one's is higher."""
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
    """Mark with 1 the code points that NFC composes again from their decomposition."""
    nfc = normalizers.NFC().normalize_str
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    classes[[point for point, text in decompose.items() if nfc(text) == chr(point)]] = 1
    return classes


def _word_class(chunk: int = 256) -> np.ndarray:
    """Mark word characters with 1: the library does not match an added token with `single_word` next to them."""
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
        classes[_matching(pattern)] = kind
    return classes


def _letter_cases() -> np.ndarray:
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    for kind, pattern in ((CAPITAL, r"[\p{Lu}\p{Lt}]"), (SMALL, r"\p{Ll}"), (CASELESS, r"[\p{Lm}\p{Lo}\p{M}]")):
        classes[_matching(pattern)] = kind
    return classes


def _matching(pattern: str) -> np.ndarray:
    """Return the code points that a regular expression of the library matches, (N,)."""
    drop = normalizers.Replace(Regex(pattern), "").normalize_str
    found: list[int] = []
    for begin in range(0, len(SCALARS), CHUNK):
        text = "".join(map(chr, SCALARS[begin : begin + CHUNK]))
        found += [ord(character) for character in set(text) - set(drop(text))]
    return np.array(found, np.int64)


# Scripts without spaces between words whose letters the rules of Unicode (UAX #29) leave to dictionaries.
CLUSTERED = ("Thai", "Lao", "Khmer", "Myanmar", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Ahom")
KATAKANA_TOO = "\u3031\u3032\u3033\u3034\u3035\u309b\u309c\u30a0\u30fc\uff70"  # UAX #29, of no script of their own


# The space without width, marks of direction, the mark of byte order: invisible, so no word begins or ends with one.
WITHOUT_WIDTH = [0x200B, 0x200E, 0x200F, 0xFEFF]


def _text_word_classes(regex: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Classify code points by the word boundaries of UAX #29, in a simple form: later lines override earlier ones."""
    classes = np.full(UNICODE_SIZE, ALONE, np.uint8)  # punctuation, symbols, control characters
    classes[_matching(r"\p{Extended_Pictographic}")] = PICTOGRAPH
    classes[(regex == LETTER) | (regex == NUMBER)] = RUN
    for script in CLUSTERED:
        points = _matching(rf"\p{{{script}}}")
        classes[points[regex[points] == LETTER]] = ALONE
    classes[_matching(r"[\p{Han}\p{Hiragana}]")] = ALONE
    classes[[*_matching(r"\p{Katakana}"), *map(ord, KATAKANA_TOO)]] = KATAKANA
    classes[_matching(r"\p{Regional_Indicator}")] = FLAG
    classes[_matching(r"[\p{M}\p{Cf}]")] = classes[cluster == MARK] = ATTACHED
    classes[cluster == PREFIX] = RUN
    classes[regex >= BLANK] = classes[0x1C:0x20] = GAP  # the second are white space in Python, not in `\s`
    classes[WITHOUT_WIDTH] = GAP
    return classes


def _numeric_class() -> np.ndarray:
    """Mark with 1 the code points that the pre-tokeniser Digits splits off: not exactly the class NUMBER."""
    split = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    for begin in range(0, len(SCALARS), CHUNK):
        pieces = split("a".join(map(chr, SCALARS[begin : begin + CHUNK])) + "a")
        classes[[ord(piece) for piece, _ in pieces if len(piece) == 1 and piece != "a"]] = 1
    return classes


def _scripts() -> np.ndarray:
    """Number the scripts of the pre-tokeniser UnicodeScripts; 0 for spaces, which go with the script before them."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    known: list[str] = []
    for run, _ in split("".join(map(chr, SCALARS))):
        number = next((i for i, letter in enumerate(known) if len(split(letter + run[0])) == 1), len(known))
        if number == len(known):
            known.append(run[0])
        classes[[ord(character) for character in run]] = number + 1
    classes[[point for point in SCALARS if not split(chr(point))]] = 0
    return classes


def _cluster_classes() -> np.ndarray:
    """Find the cluster classes with a normaliser that replaces each cluster of at most 5 bytes by one letter."""
    classes = np.zeros(UNICODE_SIZE, np.uint8)
    narrow = [point for point in SCALARS if point < 0x10000]  # includes all Hangul
    count = _counter()

    def ask(points: list[int], before: str, after: str, expected: int) -> np.ndarray:
        return np.array([count(f"{before}{chr(point)}{after}") == expected for point in points])

    def assign(points: list[int], answers: np.ndarray, kind: int) -> None:
        points = np.array(points)[answers]
        classes[points[classes[points] == ANY]] = kind

    assign(SCALARS, ask(SCALARS, "a", "", 1), MARK)
    assign(narrow, ask(narrow, "", "\u0301", 2), CONTROL)
    classes[[ord("\r"), ord("\n")]] = RETURN, LINE_FEED
    assign(SCALARS, ask(SCALARS, "", "a", 1), PREFIX)
    assign(SCALARS, ask(SCALARS, "©\u200d", "", 3), PICTURE)

    # Two Hangul letters that join exceed 5 bytes. With a prefix of 2 bytes before them they count 3; else they count 2.
    before = {kind: ask(narrow, PREFIXED, letter, 3) for kind, letter in JAMO.items()}
    after_vowel, after_trailing = (ask(narrow, PREFIXED + JAMO[kind], "", 3) for kind in (VOWEL, TRAILING))
    assign(narrow, before[LEADING], LEADING)
    assign(narrow, before[VOWEL] & after_vowel, VOWEL)
    assign(narrow, before[VOWEL], OPEN)
    assign(narrow, before[TRAILING] & after_trailing, TRAILING)
    assign(narrow, before[TRAILING], CLOSED)
    return classes


PREFIXED, JAMO = "\u0600", {LEADING: "\u1100", VOWEL: "\u1161", TRAILING: "\u11a8"}


def _counter() -> Callable[[str], int]:
    """Return a function that counts the clusters of a text. A cluster of more than 5 bytes counts once per letter."""
    letters, rule = np.arange(1, 256), 512
    units = np.zeros(768, "<u4")
    units[0] = 256 << 10
    units[256 + letters] = letters | 1 << 8 | ((256 + letters) ^ rule) << 10
    units[rule] = 1 << 31
    replaced = normalizers.Precompiled(units.nbytes.to_bytes(4, "little") + units.tobytes() + b"x\0").normalize_str
    return lambda text: len(replaced(text))


def _joins() -> np.ndarray:
    """Return whether a code point continues the cluster, by the class before it and its class: (12 * 12,) bool."""
    joins = np.zeros((NUM_CLUSTER_CLASSES, NUM_CLUSTER_CLASSES), bool)
    joins[:, MARK] = joins[PREFIX] = True
    joins[[CONTROL, RETURN, LINE_FEED]] = joins[:, [CONTROL, RETURN, LINE_FEED]] = False
    joins[RETURN, LINE_FEED] = True
    joins[LEADING, [LEADING, VOWEL, OPEN, CLOSED]] = True
    joins[[[VOWEL], [OPEN]], [VOWEL, TRAILING]] = True
    joins[[TRAILING, CLOSED], TRAILING] = True
    return joins.reshape(-1)


JOINS = _joins()


if __name__ == "__main__":
    np.savez_compressed(TABLES, **probe())  # type: ignore[arg-type]  # newer NumPy has an option `allow_pickle`
    print(f"{TABLES.name}: {TABLES.stat().st_size:,} bytes, from tokenizers {tokenizers.__version__}")
