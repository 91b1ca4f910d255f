from __future__ import annotations

import pytest

from keras_transformers.analysis.explorer.page_request import MOST_CHARACTERS, Request


def test_lines_tabs_and_any_script_are_texts():
    text = "eine Zeile\n\tund 一 שלום 😀\r\n"

    assert Request(text, pair="é").checked() == Request(text, pair="é")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty: write a sentence"),
        (" \n\t", "the text is empty"),
        ("x" * (MOST_CHARACTERS + 1), r"has 20,001 characters: at most 20,000 .* Take a part"),
        ("x" * 1_000_000, "1,000,000 characters"),
        ("a\x00b", r"control character U\+0000 at place 1: remove it"),
        ("\x1b[31m", r"U\+001B at place 0"),
        ("a\ud800", r"U\+D800 at place 1"),
        (None, "must be a str: received NoneType"),
        (7, "must be a str: received int"),
    ],
)
def test_what_is_no_text_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Request(text).checked()


def test_a_second_text_is_checked_too():
    with pytest.raises(ValueError, match="the second text is empty"):
        Request("a film", pair=" ").checked()


@pytest.mark.parametrize(
    "options",
    [{"new_tokens": -1}, {"new_tokens": 101}, {"temperature": -0.1}, {"temperature": float("nan")}, {"seed": -1}],
)
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=f"received {next(iter(options.values()))}"):
        Request("a film", **options).checked()
