"""The words of a text, whatever its script and tokenizer, and the word of each token.

Words follow the word boundaries of Unicode, https://www.unicode.org/reports/tr29, in a simple form. White space
separates words, and so do the space without width (U+200B) and the marks of direction and of byte order. Letters and
digits in a row are a word, and so is Katakana in a row. A punctuation mark, a symbol, an ideograph, a Hiragana letter,
and a letter of a script that writes no spaces (Thai, Lao, Khmer, Myanmar and their like) are separate words. Combining
marks and format characters belong to the character before them, as do the further parts of an emoji.

`text/graph/outputs/place_words.py` has the same rules as TensorFlow ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from keras_transformers.text.graph.streams.probe import ATTACHED, FLAG, GAP, KATAKANA, PICTOGRAPH, RUN, TABLES

JOINER = 0x200D  # between the parts of an emoji
IN_A_ROW = (RUN, KATAKANA, FLAG)  # classes whose code points in a row are one word


@cache
def word_classes() -> np.ndarray:
    """Return the class of each code point, (0x110000,) uint8: see `probe`."""
    with np.load(TABLES) as file:
        return file["text_word"]


def word_begins(points: np.ndarray, is_first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where words begin, and where white space is.

    Args:
        points: (N,) code points of texts, end to end.
        is_first: (N,) bool, True for the first code point of each text.

    Returns:
        Two (N,) bool; and where marks continue a word, (N,) bool.

    Example:

    >>> points = np.array([ord(letter) for letter in "In 東京!"])
    >>> word_begins(points, np.arange(6) == 0)[0].tolist()
    [True, False, False, True, True, True]
    """
    kinds = word_classes()[points]  # (N,)
    leads = (kinds != ATTACHED) | is_first
    base = kinds[np.maximum.accumulate(np.where(leads, np.arange(len(points)), 0))]  # (N,), without what is attached
    before = np.where(is_first, GAP, np.append(GAP, base)[:-1])  # (N,), of the base before each code point
    after_joiner = np.append(0, points)[:-1] == JOINER
    joins = (kinds == ATTACHED) & (np.where(is_first, GAP, np.append(GAP, kinds)[:-1]) != GAP)
    joins |= (kinds == before) & np.isin(kinds, IN_A_ROW)
    joins |= (kinds == PICTOGRAPH) & (before == PICTOGRAPH) & after_joiner
    return ~joins & (kinds != GAP), kinds == GAP, joins & (kinds == ATTACHED)


def place_words(texts: Sequence[str], offsets: np.ndarray, word_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return the word of each token, and its place without white space at its ends.

    A token belongs to the word in which it begins; the words that one token covers are one, up to the word in which the
    next token begins. Marks that a tokenizer strips stay with the letter before them. A token of white space alone
    belongs to none, but for a single space that its tokenizer takes to the next word, as Metaspace does.

    Args:
        texts: B strings.
        offsets: (B, T, 2) int32, the code points of each token, [start, end).
        word_ids: (B, T) int32, the number of the tokenizer's word; -1 for special tokens and padding.

    Returns:
        `offsets` and `word_ids` of the same shapes; -1 also for white space. Numbers only tell words apart.

    Example:

    >>> offsets = np.array([[[0, 2], [2, 4], [4, 6]]])
    >>> {name: found[0].tolist() for name, found in place_words(["In 東京 "], offsets, np.array([[0, 1, 1]])).items()}
    {'offsets': [[0, 2], [3, 4], [4, 5]], 'word_ids': [1, 2, 3]}
    """
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).astype(np.int64)  # (N,)
    row_starts = np.cumsum([0, *map(len, texts)])[:-1]  # (B,)
    is_first = np.isin(np.arange(len(points)), row_starts)
    begins, is_gap, is_mark = word_begins(points, is_first)
    numbers = np.append(np.cumsum(begins), 0)  # (N + 1,)
    (solid,), (unmarked,) = np.nonzero(~is_gap), np.nonzero(np.append(~is_mark, True))  # (S,), (U,)
    before = np.append(0, np.cumsum(~is_gap))  # (N + 1,), solid code points before each place

    before_marks = np.append(0, np.cumsum(~is_mark))  # (N + 1,), code points that are no marks before each place
    start, stop = np.moveaxis(offsets + row_starts[:, None, None], -1, 0)  # (B, T) each
    first = np.minimum(np.append(solid, len(points))[before[start]], stop)
    last = np.maximum(np.append(0, solid + 1)[before[stop]], first)
    is_real, is_blank = word_ids >= 0, first == last
    last = np.where(is_blank, last, unmarked[before_marks[last]])
    words = np.where(is_real & ~is_blank, numbers[first], -1)

    is_space = (start == stop) | ((stop - start == 1) & (np.append(points, 0)[start] == ord(" ")))
    is_next = (_next(word_ids, -1) == word_ids) & (_next(words, -1) >= 0) & (_next(first, -1) == stop)
    words = np.where(is_real & is_blank & is_space & is_next, _next(words, -1), words)
    first, last = np.where(is_real & is_blank, stop, first), np.where(is_real & is_blank, stop, last)
    ends_early = (_next(words, -1) >= 0) & (_next(words, -1) != words)  # bytes of a character may be in two tokens
    last = np.where(ends_early, np.clip(_next(first, 0), first, last), last)
    found = np.stack([first, last], -1) - row_starts[:, None, None]
    return {
        "offsets": np.where(is_real[..., None], found, offsets).astype(np.int32),
        "word_ids": words.astype(np.int32),
    }


def _next(values: np.ndarray, edge: int) -> np.ndarray:
    """Return the value of the next token, (B, T); `edge` for the last one."""
    return np.pad(values, [[0, 0], [0, 1]], constant_values=edge)[:, 1:]
