"""The file in a real browser: clicks and keys that change what is shown, at both widths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import WIDTHS, broken_numbers, is_as_wide_as_the_window, low_contrasts, opened

import zoo
from keras_transformers.analysis.explorer.page import page as page_of
from keras_transformers.analysis.explorer.view import View

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)>"  # as in conftest.py


def numbers(page) -> str:
    return page.locator("#numbers").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [*WIDTHS, 1024])
@pytest.mark.parametrize("name", ["gap", "changed", "hostile", "long", "story", "translation", "search", "recurrent"])
def test_it_fits_is_readable_and_asks_for_nothing(browser, addresses, name, width, scheme):
    with opened(browser, addresses[name], width, scheme) as (page, seen):
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        if name != "recurrent":  # which has no heads
            page.locator("#switch").click()

        assert is_as_wide_as_the_window(page)
        assert broken_numbers(page) == []
        assert low_contrasts(page) == []
        assert seen.errors == []
        assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_click_on_a_head_and_on_a_cell_shows_them(browser, addresses, width):
    with opened(browser, addresses["gap"], width) as (page, _):
        page.locator('[data-head="2.3"]').click()
        assert page.locator("#head-title").inner_text() == "One head: 2.3, self-attention"
        assert "Head 2.3 on this text" in page.locator("#role").inner_text()

        page.locator('#map [data-place="3,1"]').click()
        text = numbers(page)
        label = page.locator('#map [data-place="3,1"]').get_attribute("aria-label")
        assert label.startswith("the to he: ")
        assert "the attends to he, head 2.3" in text
        dot, scale, scaled, score = (
            float(found)
            for found in re.search(r"q · k\s+(\S+),.*× scale\s+(\S+) = (\S+)\s.*?score\s+(\S+)", text, re.S).groups()
        )
        assert dot * scale == pytest.approx(scaled, abs=2e-3)
        assert score == scaled
        weight = re.search(r"weight\s+(\S+) =", text).group(1)
        assert label.endswith(weight)
        assert page.locator("#numbers rect").count() == 64


@pytest.mark.parametrize("width", WIDTHS)
def test_all_of_it_is_reached_by_keys(browser, addresses, width):
    with opened(browser, addresses["gap"], width) as (page, _):
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "document.activeElement.id || document.activeElement.tagName + ' ' + "
                    "(document.activeElement.closest('[id]') || {}).id"
                )
            )
            shown = page.evaluate(
                "getComputedStyle(document.activeElement).outlineStyle + "
                "getComputedStyle(document.activeElement).outlineWidth"
            )
            if "BODY" not in reached[-1]:
                assert shown == "solid3px", reached[-1]
        assert [each for each in reached if "head-grid" in each] and "switch" in reached
        assert [each for each in reached if "map" in each] and [each for each in reached if "pictures" in each]


def test_arrow_keys_choose_heads_and_cells_and_the_letter_o_switches_off(browser, addresses):
    with opened(browser, addresses["gap"], WIDTHS[0]) as (page, _):
        before = page.locator("#bars").inner_text()
        page.locator('[data-head="0.0"]').focus()
        for key in ("ArrowDown", "ArrowRight", "End", "ArrowLeft"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.head") == "1.2"
        assert "One head: 1.2" in page.locator("#head-title").inner_text()

        page.keyboard.press("o")
        after = page.locator("#bars").inner_text()
        assert after != before and "off:" in after
        assert re.match(r"Head 1.2 is off: \S+ from [\d.]+ % to ", page.locator("#status").inner_text())
        assert page.locator('[data-head="1.2"]').inner_text() == "1.2 off"
        page.keyboard.press("o")
        assert page.locator("#bars").inner_text() == before
        assert page.locator("#status").inner_text() == "All heads are on."

        page.locator('#map [tabindex="0"]').focus()
        text = numbers(page)
        for key in ("Home", "ArrowUp", "ArrowRight"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.place") == "1,1"
        assert numbers(page) != text


def test_the_answer_without_a_head_is_that_of_the_command(browser, addresses):
    task = zoo.load("mini_bert_en")
    (run,) = View("He [MASK] the door and went into the room.", without="0.1").runs(task)
    best = run.answer.places[0].bars[0]

    with opened(browser, addresses["gap"], WIDTHS[0]) as (page, _):
        page.locator('[data-head="0.1"]').click()
        page.locator("#switch").click()
        (row,) = (text for text in page.locator(".bar").all_inner_texts() if text.startswith(best.label))
        assert f"off: {100 * best.value:.2f} %" in row or f"off: {100 * best.value:.1f} %" in row


def test_a_changed_word_is_compared(browser, addresses):
    with opened(browser, addresses["changed"], WIDTHS[0]) as (page, _):
        assert page.locator(".answers h3").all_inner_texts() == ["Your text", "The changed text"]
        page.locator("#head-controls select").first.select_option("difference")
        assert "against your text" in page.locator("#legend").inner_text()
        changes = page.locator("#map td.less").count()
        assert changes > 5
        label = page.locator("#map td.less").first.get_attribute("aria-label")
        assert re.search(r": −\d", label)
        page.locator("#head-controls select").nth(1).select_option("0")
        assert "he" in page.locator("#map tbody th").all_inner_texts()

        page.locator("#view").select_option("difference")
        assert "she" in page.locator("#map tbody th").all_inner_texts()


def test_a_choice_keeps_the_focus(browser, addresses):
    with opened(browser, addresses["changed"], WIDTHS[0]) as (page, _):
        page.locator("#view").focus()
        for value in ("mean", "rollout"):
            page.keyboard.press("ArrowDown")
            assert page.evaluate("document.activeElement.id") == "view"
            assert page.locator("#view").input_value() == value


def test_tokens_that_look_alike_have_bars_of_their_own(browser, tmp_path):
    task = zoo.load("gpt_mini_en")
    (run,) = View("It was").runs(task)
    place = run.answer.places[-1]
    twins = tuple(bar._replace(label="same") for bar in place.bars)
    alike = run._replace(answer=run.answer._replace(places=(place._replace(bars=twins),)), switched=())
    (tmp_path / "page.html").write_text(page_of("twins", [alike]), encoding="utf-8")

    with opened(browser, (tmp_path / "page.html").as_uri(), WIDTHS[0]) as (page, _):
        assert page.locator(".bar").count() == len(twins)


def test_a_temperature_flattens_the_bars_and_a_place_shows_its_own(browser, addresses):
    with opened(browser, addresses["story"], WIDTHS[0]) as (page, _):

        def first() -> float:
            return float(re.search(r"([\d.]+)\s%", page.locator(".bar").first.inner_text()).group(1))

        cool = first()
        for _ in range(3):
            page.locator("#temperature").press("ArrowRight")
        assert page.locator("#answer-controls output").inner_text() == "2"
        assert first() < cool
        page.locator("#answer-controls select").select_option("0")
        assert "What stands there" in page.locator("#bars").inner_text()


def test_a_translation_shows_its_alignment(browser, addresses):
    with opened(browser, addresses["translation"], WIDTHS[0]) as (page, _):
        assert "Die Katze tanzte." in page.locator("#bars").inner_text()
        assert page.locator("#map thead th").all_inner_texts()[:2] == ["␣The", "␣cat"]
        page.locator("#head-controls select").select_option("mean")
        page.locator('#map [data-place="2,1"]').click()
        assert "mean weight over the heads" in numbers(page)
        page.get_by_role("button", name="the encoder's self-attention").click()
        assert page.locator("#head-title").inner_text() == "One head: encoder:0.0, the encoder's self-attention"


def test_a_long_text_is_shown_in_parts_and_as_a_whole(browser, addresses):
    with opened(browser, addresses["long"], WIDTHS[0]) as (page, _):
        assert "Tokens 0 to 47 of " in page.locator("#legend").inner_text()
        assert page.locator("#map tbody tr").count() == 48
        page.locator("#head-controls select").select_option("whole")
        assert page.locator("#map tbody tr").count() == 24
        assert "…" in page.locator("#map tbody th").nth(3).inner_text()


@pytest.mark.parametrize("name", ["gap", "story", "translation", "search"])
def test_a_map_that_is_no_list_fits_a_phone(browser, addresses, name):
    with opened(browser, addresses[name], WIDTHS[1]) as (page, _):
        assert page.locator("#map table").count() == 1
        assert page.evaluate("byId('map').scrollWidth - byId('map').clientWidth") == 0


def test_paths_have_as_many_steps_as_they_say(browser, addresses):
    with opened(browser, addresses["gap"], WIDTHS[0]) as (page, _):
        titles = page.locator("#pictures h3").all_inner_texts()
        assert titles == [
            "A recurrent layer: 12 steps, 1 layer",
            "Bidirectional attention: 1 step, 1 layer",
            "Bidirectional convolutions of width 3: 11 steps, 11 layers",
        ]
        assert [
            page.locator(f'figure[data-kind="{kind}"] line.way').count()
            for kind in ("recurrent", "attention", "convolutional")
        ] == [12, 1, 11]


def test_what_a_user_wrote_does_nothing(browser, addresses):
    with opened(browser, addresses["hostile"], WIDTHS[0]) as (page, seen):
        dialogs = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
        assert HOSTILE in page.locator("#text").inner_text()
        assert page.locator("img").count() == 0
        assert (dialogs, seen.errors) == ([], [])


def test_pages_are_small(addresses):
    sizes = {name: Path(address.removeprefix("file://")).stat().st_size for name, address in addresses.items()}

    assert max(sizes.values()) < 3e6
