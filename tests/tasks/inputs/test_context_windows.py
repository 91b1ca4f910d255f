"""Windows over long contexts: the plan, and that nothing of a context is lost."""

from __future__ import annotations

import pytest
import questions

from keras_transformers.tasks.inputs.context_windows import Windows, encode_windows, plan_windows
from keras_transformers.text.tokenizer import Tokenizer

LONG = " ".join(f"{name} sat in {place}." for place in questions.PLACES for name in ("Ann", "He", "Ann") * 4)


@pytest.mark.parametrize(
    ("max_length", "stride", "expected"),
    [(512, 128, (128, 509)), (384, 128, (128, 381)), (256, 128, (95, 253)), (384, 1, (1, 381)), (7, 128, (1, 4))],
)
def test_the_plan(max_length, stride, expected):
    assert plan_windows(questions.tokenizer(), max_length, stride) == (max_length, *expected)


@pytest.mark.parametrize("stride", [0, -1, 1.5, True, None, "128"])
def test_strides_that_are_refused(stride):
    with pytest.raises(ValueError, match="stride must be a whole number of tokens from 1 on: received"):
        plan_windows(questions.tokenizer(), 64, stride)


def test_windows_that_hold_nothing():
    message = "max_length=6 leaves 3 tokens beside 3 special ones .* expected at least 4, that is max_length=7"
    with pytest.raises(ValueError, match=message):
        plan_windows(questions.tokenizer(), 6, 128)


def test_a_tokenizer_without_special_tokens():
    tokenizer = Tokenizer.train(["a b"], vocabulary_size=300, model="byte_pair")
    with pytest.raises(ValueError, match="a special token before a question"):
        plan_windows(tokenizer, 64, 128)


@pytest.mark.parametrize("max_length", [7, 12, 24, 64])
@pytest.mark.parametrize("question", ["Who is it?", "", "Who " * 60], ids=["short", "none", "long"])
def test_windows_have_the_question_and_all_of_the_context(max_length, question):
    tokenizer = questions.tokenizer()
    plan = plan_windows(tokenizer, max_length, 128)
    found, (cut,) = encode_windows(tokenizer, [question], [LONG], plan)
    (whole,) = tokenizer.encode([LONG], special_tokens=False)
    (asked,) = tokenizer.encode([question], special_tokens=False)
    assert cut == (len(asked.ids) > plan.question_length) and {window.row for window in found} == {0}
    places, last = set(), None
    for window in found:
        parts = [
            None if special else part for part, special in zip(window.segment_ids, window.special_mask, strict=True)
        ]
        own = [token for token, part in zip(window.ids, parts, strict=True) if part == 0]
        assert own == asked.ids[: plan.question_length] and len(window.ids) <= max_length
        tokens = [place for place, part in zip(window.offsets, parts, strict=True) if part == 1]
        assert last is None or len(last & {*tokens}) == plan.stride
        last = {*tokens}
        places |= last
    assert places == {*whole.offsets}
    assert all(len(window.ids) == max_length for window in found[:-1]) and len(found) > 1


def test_rows_of_several_texts():
    plan = plan_windows(questions.tokenizer(), 24, 8)
    found, cut = encode_windows(questions.tokenizer(), ["Who?", "Who " * 30, "Who?"], ["Ann", LONG, " "], plan)
    rows = [window.row for window in found]
    assert rows == [0, *[1] * (len(rows) - 2), 2] and cut == [False, True, False]
    assert plan == Windows(24, 8, 21) and plan.question_length == 10


def test_a_long_question_is_whole_beside_a_short_context():
    tokenizer, plan = questions.tokenizer(), Windows(24, 8, 21)
    short = "Ann sat"
    (encoded,) = tokenizer.encode([short], special_tokens=False)
    sat = len(encoded.ids)
    for count in (10, 21 - sat, 22 - sat, 40):
        (window, *more), (cut,) = encode_windows(tokenizer, ["who " * count], [short], plan)
        assert not more and cut == (count > 21 - sat) and len(window.ids) == min(count, 21 - sat) + sat + 3
