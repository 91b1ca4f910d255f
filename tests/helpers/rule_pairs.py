"""English and German sentences that a few rules make: real words, any number up to some hundreds."""

from __future__ import annotations

import itertools
from pathlib import Path

COUNTS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs", "ten": "zehn"}
NOUNS = {"cats": "Katzen", "dogs": "Hunde", "children": "Kinder", "women": "Frauen", "birds": "Vögel"}
VERBS = {"dance": "tanzen", "sleep": "schlafen", "sing": "singen", "run": "laufen", "wait": "warten"}
PLACES = {"here": "hier", "in the garden": "im Garten", "at home": "zu Hause"}


def sentences(number: int = 300) -> tuple[list[str], list[str]]:
    """The sentences of both languages, in one order that mixes the words."""
    rows = list(itertools.product(COUNTS, NOUNS, VERBS, PLACES))
    rows = [rows[index * 7 % len(rows)] for index in range(number)]  # 450 rows: 7 has no factor in common
    english = [f"{count.capitalize()} {noun} {verb} {place}." for count, noun, verb, place in rows]
    german = [
        f"{COUNTS[count].capitalize()} {NOUNS[noun]} {VERBS[verb]} {PLACES[place]}."
        for count, noun, verb, place in rows
    ]
    return english, german


def write(folder: Path, number: int = 300) -> tuple[Path, Path]:
    """Write a file of each language."""
    paths = folder / "rule.en", folder / "rule.de"
    for path, texts in zip(paths, sentences(number), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return paths
