from __future__ import annotations

import html
import re
import socket
import sys

import pytest
from browser import WIDTHS, chromium, is_as_wide_as_the_window, low_contrasts, opened
from command_line import fail, run

import zoo
from keras_transformers.analysis.explorer.view import View
from zoo.cli.explore_page import HOST, frame, longer, serve

# Pages need the extra `explore` and a browser, which the run of slow tests has.
in_a_browser = pytest.mark.slow


@pytest.mark.integration
def test_a_file_is_written(folders, tmp_path):
    file = tmp_path / "page.html"

    said = run("explore", folders["classification"], "a fine film", "--changed", "a dull film", "--html", file)

    assert re.fullmatch(re.escape(str(file)) + r": \d\.\d\d MB\n", said)
    text = file.read_text(encoding="utf-8")
    assert "Inside classification" in text and '"a dull film"' in text


@pytest.mark.integration
@pytest.mark.parametrize("name", ["masked_lm", "pretraining", "causal_lm", "seq2seq_lm"])
def test_every_kind_of_model_has_an_example(folders, tmp_path, name):
    run("explore", folders[name], "--html", tmp_path / "page.html")

    assert (tmp_path / "page.html").stat().st_size > 20_000


@pytest.mark.integration(quick=["options2-control character U+0007", "options1-1,000,000 characters"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([""], "the text is empty"),
        (["x" * 1_000_000], "1,000,000 characters"),
        (["a\x07b"], "control character U+0007"),
        (["a film", "--without", "9.9"], "there is no head 9.9: the model has layers 0 to 0 with heads 0 to 1"),
        (["a film", "--without", "first"], "a head is LAYER.HEAD"),
        (["a film", "--first-token", "99"], "received 99 for the first one to show"),
        (["a film", "--changed", "\x00"], "control character U+0000"),
        (["a film", "--temperature", "9"], "a temperature is 0 to 5"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_nothing_is_written(folders, tmp_path, options, message):
    code, error = fail("explore", folders["classification"], *options, "--html", tmp_path / "page.html")

    assert (code, message in error) == (2, True), error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_texts_of_a_file_are_searched(tmp_path):
    page, texts = tmp_path / "page.html", tmp_path / "texts.txt"
    texts.write_text("\ufeffA cat in the sun.\n\nThe train was late.\r\n", encoding="utf-8")

    run("explore", "minilm_mini_en", "a warm place to sleep", "--among", texts, "--html", page)

    assert '"texts":["A cat in the sun.","The train was late."]' in page.read_text(encoding="utf-8")


@pytest.mark.integration
def test_texts_that_cannot_be_searched_are_refused(folders, tmp_path):
    page, texts = tmp_path / "page.html", tmp_path / "texts.txt"
    command = ("explore", folders["classification"], "a film", "--html", page, "--among")
    assert "--among takes a file with one text per line" in fail(*command, texts)[1]
    texts.write_text("a film\na day\n")
    assert "classification gives no vectors to search by" in fail(*command, texts)[1]
    texts.write_text("a" * 1_000_001)
    assert "more than 1,000,000 bytes" in fail(*command, texts)[1]
    assert not page.exists()


def test_a_folder_is_no_file(folders, tmp_path):
    assert "is a folder: --html takes the name of a file" in fail("explore", "gpt2", "--html", tmp_path)[1]


def test_a_folder_that_does_not_exist_is_refused_before_anything_is_loaded(tmp_path):
    code, error = fail("explore", "gpt2", "--html", tmp_path / "none" / "page.html")

    assert (code, "there is no folder" in error) == (2, True), error


def test_a_port_that_is_taken_is_refused():
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is not available .* give another --port"):
            serve(None, "a model", View("a"), port)


def test_without_gradio_the_error_says_what_to_install(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", None)

    assert "pip install 'keras_transformers[explore]'" in fail("explore", folders["classification"])[1]


@pytest.mark.integration
def test_an_error_is_shown_as_text():
    shown = frame(zoo.load("mini_bert_en"), "mini_bert_en", View("<b>a</b> [MASK]", without="<script>"))

    assert shown.startswith('<p role="alert"')
    assert "&lt;script&gt;" in shown and "<script" not in shown


@pytest.mark.integration
def test_a_document_cannot_end_its_frame():
    shown = frame(zoo.load("mini_bert_en"), '"><script>alert(1)</script>', View('"> [MASK]'))

    assert shown.count("<") == 2 and shown.startswith("<iframe ") and shown.endswith("</iframe>")
    assert "alert(1)" in html.unescape(shown)


@pytest.mark.integration
def test_a_text_grows_by_one_token_and_an_error_leaves_it():
    task = zoo.load("gpt_mini_en")

    text, shown = longer(task, "gpt_mini_en", View("It was a dark"))
    assert len(task.tokenizer.encode([text])[0].ids) == len(task.tokenizer.encode(["It was a dark"])[0].ids) + 1
    assert shown.startswith("<iframe")
    assert longer(task, "gpt_mini_en", View(" "))[0] == " "


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address() -> str:
    """A page of a bundled model that writes."""
    pytest.importorskip("gradio")
    task = zoo.load("gpt_mini_en")
    return serve(task, "gpt_mini_en", View("It was a dark night, and"), wait=False)


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_is_readable_and_asks_this_machine_only(browser, address, width, scheme):
    with opened(browser, address, width, scheme) as (page, seen):
        inside = page.frame_locator("iframe")
        inside.locator("#map td").first.wait_for()

        assert address.startswith(f"http://{HOST}:")
        assert is_as_wide_as_the_window(page)
        assert low_contrasts(page) == []
        assert low_contrasts(page.frames[-1]) == []
        here = (address, "data:", "blob:", "about:")
        assert [url for url in seen.requests if not url.startswith(here)] == []
        assert seen.errors == []


@in_a_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_texts_are_written_shown_and_compared(browser, address, width):
    with opened(browser, address, width) as (page, _):
        inside = page.frame_locator("iframe")
        inside.locator("#map td").first.wait_for()
        page.get_by_role("button", name="Write one token").click()
        page.wait_for_function("document.querySelector('#text textarea').value.length > 24")

        page.get_by_role("button", name="Copy the text").click()
        page.wait_for_function("document.querySelector('#changed textarea, #changed input').value.length > 24")
        page.locator("#changed").locator("textarea, input").fill("It was a cold night, and")
        page.get_by_role("button", name="Show").press("Enter")
        inside.locator(".answers h3").nth(1).wait_for()
        assert "changed: It was a cold night, and" in inside.locator("#text").inner_text()

        inside.locator('[data-head="1.1"]').click()
        inside.locator("#switch").press("Enter")
        assert "Head 1.1 is off" in inside.locator("#status").inner_text()


@in_a_browser
def test_hostile_input_gives_an_error_that_is_read_aloud_and_the_page_goes_on(browser, address):
    with opened(browser, address, WIDTHS[0]) as (page, seen):
        page.frame_locator("iframe").locator("#map td").first.wait_for()
        page.locator("#off").locator("textarea, input").fill("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Show").click()
        alert = page.locator("#shown [role=alert]")
        alert.wait_for()
        assert "a head is LAYER.HEAD" in alert.inner_text() and "<img" in alert.inner_text()
        assert page.locator("#shown img").count() == 0

        page.locator("#off").locator("textarea, input").fill("0.1")
        page.get_by_role("button", name="Show").click()
        page.frame_locator("iframe").locator("#notes").wait_for()
        assert "Off from the start: 0.1." in page.frame_locator("iframe").locator("#notes").inner_text()
        assert seen.errors == []


@in_a_browser
def test_the_file_that_is_kept_is_a_page_of_its_own(browser, address, tmp_path):
    with opened(browser, address, WIDTHS[0]) as (page, _):
        page.frame_locator("iframe").locator("#map td").first.wait_for()
        with page.expect_download() as download:
            page.frame_locator("iframe").locator("#save").click()
        download.value.save_as(tmp_path / "inside.html")
    with opened(browser, (tmp_path / "inside.html").as_uri(), WIDTHS[0]) as (page, seen):
        page.locator('[data-head="2.1"]').click()
        assert "One head: 2.1" in page.locator("#head-title").inner_text()
        assert seen.errors == []
        assert page.locator("#save").count() == 0


@in_a_browser
def test_other_names_for_this_machine_are_refused(address):
    import httpx

    assert httpx.get(address).status_code == 200
    assert httpx.get(address, headers={"host": "evil.example"}).status_code == 400
    assert "default-src 'self'" in httpx.get(address).headers["content-security-policy"]
