"""Detection of vocabularies of lower-cased texts, where the files of a checkpoint do not say it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from keras_transformers.checkpoints.stored import HOW_TO_GIVE
from keras_transformers.text.vocabularies.wordpiece_vocabulary import CONTINUATION
from keras_transformers.utils.untrusted import resolved, shown

# Names of published models, as google-research/bert's `validate_case_matches_checkpoint` tells them.
LOWER = re.compile(r"uncased|(?<![a-z])(chinese|multilingual)_l-", re.IGNORECASE)
CASED = re.compile(r"(?<![a-z])(multi_)?cased(?![a-z])", re.IGNORECASE)
RESERVED = re.compile(r"[\[<].*[\]>]")  # [PAD], [unused1], <S>: no part of a text


def find_lowercase(given: bool | None, folder: Path, tokens: Iterable[str]) -> tuple[bool, str]:
    """Return whether texts are lower-cased, and what implies it; empty if the user says it.

    Args:
        given: The user's choice, or None.
        folder: Folder of the checkpoint, whose name may indicate it.
        tokens: Tokens of the vocabulary.

    Raises:
        ValueError: Nothing implies it.

    Example:

    >>> find_lowercase(None, Path("uncased_L-2_H-128_A-2"), ["[PAD]", "film"])
    (True, "texts are lower-cased, as the folder's name 'uncased_L-2_H-128_A-2' says (if not: lowercase=False)")
    >>> find_lowercase(None, Path("run"), ["[PAD]", "film"])
    (True, 'texts are lower-cased, as the vocabulary has no capitals (if not: lowercase=False)')
    """
    if given is not None:
        return given, ""
    place = resolved(folder)
    name = place.parent.name if place.name.isdecimal() else place.name  # a number is the folder of a version
    is_lower, is_cased = bool(LOWER.search(name)), bool(CASED.search(name))
    if is_lower != is_cased:
        clause = f"texts are {'lower-cased' if is_lower else 'cased'}, as the folder's name {shown(name)} says"
        return is_lower, f"{clause} (if not: lowercase={not is_lower})"
    words = [token.removeprefix(CONTINUATION) for token in tokens if not RESERVED.fullmatch(token)]
    capital = next((word for word in words if word != word.lower()), None)
    if capital is None and any(word != word.upper() for word in words):
        return True, "texts are lower-cased, as the vocabulary has no capitals (if not: lowercase=False)"
    seen = "no letters of two cases" if capital is None else f"capitals, such as {shown(capital)}"
    raise ValueError(
        f"{folder} does not say whether its texts are lower-cased, and its vocabulary has {seen}: expected "
        f"do_lower_case of the program that wrote it. Give {HOW_TO_GIVE['lowercase']}."
    )
