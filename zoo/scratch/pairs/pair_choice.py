"""The choice of the pairs for training and validation, and of the pairs that are left out."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np

from zoo.scratch.pairs.pair_files import Pairs

WORD = re.compile(r"\w+")
SHARED = 0.2  # of the held-out targets that are targets to learn from, too: more make scores too good
FEWEST = 100  # held-out pairs to measure on
HELD_OUT = 2_000  # pairs, about, that are held out of a large corpus


@dataclass(frozen=True)
class PairFacts:
    """The facts that were found in pairs of texts.

    Args:
        pairs: Pairs as read.
        blank: Pairs without text on either side.
        half_blank: Pairs with one text, which are left out.
        first_half_blank: Place of the first of these, which lacks its text; empty if there is none.
        equal: Share of the pairs whose target is the source.
        repeated: Share of the pairs that stand there before.
        held_out_targets: Share of the held-out targets that training holds, too, for other sources.
    """

    pairs: int
    blank: int
    half_blank: int
    first_half_blank: str
    equal: float
    repeated: float
    held_out_targets: float = 0.0


class Choice(NamedTuple):
    """Pairs to learn from, and held-out ones."""

    train: Pairs
    held_out: Pairs


def look_through(pairs: Pairs) -> tuple[Pairs, PairFacts]:
    """Return the pairs that have two texts, and what was found.

    Raises:
        ValueError: No pair has two texts.
    """
    filled = [bool(source.strip()) + 2 * bool(target.strip()) for source, target in zip(*pairs[:2], strict=True)]
    kept = [number for number, sides in enumerate(filled) if sides == 3]
    if not kept:
        raise ValueError(f"none of {len(filled)} pairs has two texts, such as {pairs.place(0, 0)}: expected some.")
    half = [number for number, sides in enumerate(filled) if sides in (1, 2)]
    place = pairs.place(int(filled[half[0]] == 1), half[0]) if half else ""
    chosen = pairs.chosen(kept)
    found = list(zip(*chosen[:2], strict=True))
    facts = PairFacts(
        pairs=len(filled),
        blank=len(filled) - len(kept) - len(half),
        half_blank=len(half),
        first_half_blank=place,
        equal=sum(source.strip() == target.strip() for source, target in found) / len(found),
        repeated=1 - len(set(found)) / len(found),
    )
    return chosen, facts


def folded(text: str) -> str:
    """Return a text without its case and punctuation; one without a word as it is.

    Example:

    >>> folded("Hello, Tom!"), folded("?!")
    ('hello tom', '?!')
    """
    return " ".join(WORD.findall(text.casefold())) or text.strip()


def split_pairs(pairs: Pairs, share: float, most: int = HELD_OUT) -> Choice:
    """Hold pairs out by their sources: all translations of a sentence are on one side, whatever its case and
    punctuation. The choice depends on the sentence and the number of pairs alone.

    Args:
        pairs: Pairs to choose from.
        share: Share of the pairs to hold out, above 0 and below 1.
        most: Pairs, about.

    Raises:
        ValueError: All pairs have one source.

    Example:

    >>> pairs = Pairs([f"{number} cats" for number in range(60)], [f"{number} Katzen" for number in range(60)])
    >>> [len(side.sources) for side in split_pairs(pairs, 0.1)]
    [54, 6]
    """
    checksums = np.array([crc32(folded(source).encode("utf-8", "surrogatepass")) for source in pairs.sources])
    if len(np.unique(checksums)) < 2:
        raise ValueError(
            f"all {len(checksums)} pairs have one source, {pairs.sources[0]!r}: expected different ones, some to learn "
            "from and some to measure on."
        )
    every = max(round(1 / share), math.ceil(len(checksums) / most), 2)
    is_held_out = checksums % every == 0
    if not is_held_out.any() or is_held_out.all():  # of a handful of pairs
        is_held_out = checksums == checksums.min()
    sides = (np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))
    return Choice(*(pairs.chosen(side.tolist()) for side in sides))


def without_sources_of(pairs: Pairs, held_out: Pairs) -> Pairs:
    """Return the pairs whose source is none of the held-out ones, whatever its case and punctuation."""
    known = {folded(source) for source in held_out.sources}
    return pairs.chosen([number for number, source in enumerate(pairs.sources) if folded(source) not in known])


def shared_targets(choice: Choice) -> float:
    """Return the share of the held-out targets that training holds, too."""
    return 1 - len(_own_targets(choice)) / len(choice.held_out.targets)


def without_shared_targets(choice: Choice) -> Choice:
    """Leave out held-out pairs whose target training holds, too, where they are many and enough others are left.

    Example:

    >>> train, held_out = Pairs(["Hi!"], ["Hallo!"]), Pairs(["Hello!", "Run!"], ["Hallo.", "Lauf!"])
    >>> without_shared_targets(Choice(train, held_out)).held_out.targets
    ['Lauf!']
    """
    own = _own_targets(choice)
    count = len(choice.held_out.targets)
    if count - len(own) <= SHARED * count or len(own) < min(FEWEST, count / 2):
        return choice
    return choice._replace(held_out=choice.held_out.chosen(own))


def _own_targets(choice: Choice) -> list[int]:
    """Return the numbers of the held-out pairs whose target training does not hold."""
    known = {folded(target) for target in choice.train.targets}
    return [number for number, target in enumerate(choice.held_out.targets) if folded(target) not in known]


def joined(pairs: Pairs, share: float, seed: int) -> Pairs:
    """Return pairs and, for a share of them, texts of two: from single sentences a model learns short texts only.

    Paper: Kondo et al. 2021, "Sentence Concatenation Approach to Data Augmentation for Neural Machine Translation",
    https://aclanthology.org/2021.naacl-srw.18.

    Args:
        pairs: Pairs.
        share: Texts of two for each pair, from 0 to 0.5.
        seed: Random seed for the choice of pairs.

    Example:

    >>> joined(Pairs(["Hi.", "Run!"], ["Hallo!", "Lauf!"]), 0.5, seed=0).targets
    ['Hallo!', 'Lauf!', 'Lauf! Hallo!']
    """
    number = int(share * len(pairs.sources))
    rows = random.Random(seed).sample(range(len(pairs.sources)), 2 * number)
    sources, targets = (
        [*texts, *(f"{texts[one]} {texts[other]}" for one, other in zip(rows[:number], rows[number:], strict=True))]
        for texts in pairs[:2]
    )
    return Pairs(sources, targets, pairs.places)
