"""Which pairs are held out, and which are left out."""

from __future__ import annotations

import pytest
import rule_pairs

from zoo.scratch.pairs.encoded_pairs import by_length
from zoo.scratch.pairs.pair_choice import (
    Choice,
    folded,
    joined,
    look_through,
    shared_targets,
    split_pairs,
    without_shared_targets,
    without_sources_of,
)
from zoo.scratch.pairs.pair_files import Pairs


def test_no_source_is_on_both_sides_whatever_its_case_and_punctuation():
    english, german = rule_pairs.sentences(300)
    again = [text.upper().replace(".", "!") for text in english]
    choice = split_pairs(Pairs(english + again, german + german), 0.1)
    train, held_out = ({folded(text) for text in side.sources} for side in choice)
    assert train and held_out and not train & held_out
    assert len(choice.held_out.sources) == 2 * len(held_out)  # both spellings of each
    assert len(choice.train.sources) + len(choice.held_out.sources) == 600


def test_the_share_and_its_limit():
    pairs = Pairs(*rule_pairs.sentences(450))
    assert 20 <= len(split_pairs(pairs, 0.1).held_out.sources) <= 80
    assert len(split_pairs(pairs, 0.5, most=20).held_out.sources) <= 45


@pytest.mark.parametrize("number", [2, 3, 7])
def test_a_handful_of_pairs_has_both_sides(number):
    choice = split_pairs(Pairs(*rule_pairs.sentences(number)), 0.05)
    assert choice.train.sources and choice.held_out.sources


def test_one_source_cannot_be_split():
    with pytest.raises(ValueError, match=r"all 2 pairs have one source, 'Hi\."):
        split_pairs(Pairs(["Hi.", "hi!"], ["Hallo!", "Grüß Gott!"]), 0.05)


def test_texts_without_words_are_told_apart():
    assert folded("...") != folded("?!") and folded("今日は。") == "今日は"


def test_what_is_found():
    pairs = Pairs(
        ["Hi.", " ", "Run!", "Hi.", "Tom", ""], ["Hallo!", "", "", "Hallo!", "Tom", "Lauf!"], ("s {}", "t {}")
    )
    kept, facts = look_through(pairs)
    assert kept.sources == ["Hi.", "Hi.", "Tom"]
    assert (facts.pairs, facts.blank, facts.half_blank, facts.first_half_blank) == (6, 1, 2, "t 3")
    assert (facts.equal, facts.repeated) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    with pytest.raises(ValueError, match="none of 1 pairs has two texts"):
        look_through(Pairs([""], ["a"]))
    assert look_through(Pairs(["", "b"], ["a", "c"], ("s {}", "t {}")))[1].first_half_blank == "s 1"


def test_held_out_files_take_their_sources_from_training():
    pairs, held_out = Pairs(["Hi.", "Run!"], ["Hallo!", "Lauf!"]), Pairs(["hi"], ["Tag!"])
    assert without_sources_of(pairs, held_out).sources == ["Run!"]


def test_targets_on_both_sides():
    choice = split_pairs(Pairs(*rule_pairs.sentences(300)), 0.1)
    assert shared_targets(choice) == 0
    assert shared_targets(choice._replace(train=choice.held_out)) == 1


def test_texts_of_two():
    pairs = Pairs(*rule_pairs.sentences(100))
    more = joined(pairs, 0.25, seed=1)
    assert more.sources[:100] == pairs.sources and len(more.sources) == len(more.targets) == 125
    one, other = (more.sources[100].split(". ")[number].rstrip(".") + "." for number in (0, 1))
    both = [pairs.targets[pairs.sources.index(text)] for text in (one, other)]
    assert more.targets[100] == " ".join(both)
    assert joined(pairs, 0.0, seed=1).sources == pairs.sources


def test_lengths_at_the_limits():
    lengths = by_length([8, 9, 2, 2], [8, 8, 10, 11], max_length=8 + 3)
    assert lengths.kept.tolist() == [True, True, True, False] and lengths.unequal == 1
    assert by_length([9], [8], max_length=8).too_long == 1


@pytest.mark.parametrize(
    ("shared", "own", "left"), [(10, 90, 100), (30, 70, 70), (90, 60, 150), (150, 120, 120), (50, 0, 50)]
)
def test_held_out_pairs_with_a_target_to_learn_from_are_not_measured(shared, own, left):
    """If they are many, and half of the pairs or a hundred are left."""
    targets = [f"Satz {number}" for number in range(shared + own)]
    held_out = Pairs([f"text {number}" for number in range(shared + own)], targets)
    choice = without_shared_targets(Choice(Pairs(["a"] * shared, targets[:shared]), held_out))
    assert len(choice.held_out.sources) == left and (
        left == shared + own or choice.held_out.targets == targets[shared:]
    )
