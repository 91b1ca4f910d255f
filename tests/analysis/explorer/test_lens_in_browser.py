"""The lens, the search and a model without heads in a real browser."""

from __future__ import annotations

import re

import pytest
from browser import WIDTHS, opened

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", WIDTHS)
def test_layers_lead_to_the_bar_of_the_answer(browser, addresses, width):
    with opened(browser, addresses["story"], width) as (page, _):
        rows = page.locator("#lens tbody tr")
        names = ["embeddings", *(f"{layer} {part}" for layer in range(4) for part in ("attention", "feed-forward"))]
        assert page.locator("#lens tbody th").all_inner_texts() == names
        label, chance = page.locator("#bars .bar .label, #bars .bar .number").all_inner_texts()[:2]
        assert rows.last.locator(".chance").inner_text().split("\n")[-1].strip() == chance
        assert "✓" in rows.last.locator(".best").inner_text()

        signs = [text.split()[-1].replace("−", "-") for text in rows.locator("td:nth-of-type(4)").all_inner_texts()]
        words = page.locator("#lens-rows p").inner_text()
        biases, total, answer = re.search(r"add (\S+): together (\S+), the logit of (\S+)\.$", words).groups()
        assert answer == label
        assert sum(map(float, [*signs, biases.replace("−", "-")])) == pytest.approx(float(total), abs=0.01)

        page.locator("#answer-controls select").select_option("0")
        assert page.locator("#lens caption").inner_text().startswith("after It: ")


def test_a_norm_behind_each_addition_makes_no_sum(browser, addresses):
    with opened(browser, addresses["gap"], WIDTHS[0]) as (page, _):
        assert page.locator("#lens thead th").all_inner_texts()[4] == "change"
        assert page.locator("#lens-rows p").count() == 0
        page.locator("#lens summary").click()
        assert "the logit is no sum of parts" in page.locator("#lens-words").inner_text()


@pytest.mark.parametrize("width", WIDTHS)
def test_search_results_are_in_order_and_their_cosines_are_reached_by_keys(browser, addresses, searched, width):
    with opened(browser, addresses["search"], width) as (page, _):
        scores = [float(text) for text in page.locator("#results .number").all_inner_texts()]
        assert len(scores) == len(searched) and scores == sorted(scores, reverse=True)
        assert page.locator("#start li").first.inner_text().startswith("“Search”")
        best = page.locator("#results .label").first.inner_text().split(". ")[0]
        assert page.locator("#cosine b").inner_text() == f"{best} and Q: {scores[0]:.3f}"

        page.locator('#cosines [tabindex="0"]').focus()
        for key in ("Home", "ArrowRight"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.pair") == f"{int(best) - 1},1"
        assert searched[1] in page.locator("#cosine").inner_text()
        assert page.locator("#points .query, #points .near").count() == 4
        assert page.locator("#bars .hint").inner_text() == "the first 16 of 384 numbers"


def test_a_model_without_heads_shows_its_layers(browser, addresses):
    with opened(browser, addresses["recurrent"], WIDTHS[0]) as (page, _):
        assert [page.locator(f"#{part}").is_visible() for part in ("heads", "head", "cell", "keys")] == [False] * 4
        assert "LSTM" in page.locator("#lens tbody th").nth(1).inner_text()
        page.locator("#about summary").click()
        assert "there are no heads" in page.locator("#about").inner_text()
