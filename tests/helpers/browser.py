"""A headless Chromium, that of the system, which tells what a page asks for and what goes wrong in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (1280, 390)
# The colours of each text that is shown, and of what it stands on; half-transparent ones are told as they are.
TEXT_COLOURS = """() => {
  const found = [];
  const opaque = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName) || element.disabled) continue;
    const style = getComputedStyle(element);
    const ink = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    found.push([text.slice(0, 40), ink, opaque(element)]);
  }
  return found;
}"""

# The numbers that stand in more than one line.
BROKEN_NUMBERS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (["SCRIPT", "STYLE"].includes(node.parentElement.tagName)) continue;
    for (const number of node.textContent.matchAll(/[-−+]?\\d[\\d.,]*(\\s%)?/g)) {
      const range = document.createRange();
      range.setStart(node, number.index);
      range.setEnd(node, number.index + number[0].length);
      const tops = [...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top));
      if (new Set(tops).size > 1) found.push(number[0]);
    }
  }
  return found;
}"""


class Seen(NamedTuple):
    """What a page has asked for, and what went wrong in it."""

    requests: list[str]
    errors: list[str]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none, which is a failure in CI."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"none of {NAMES} is installed: apt-get install chromium")
    with playwright.sync_playwright() as running:
        # In containers Chromium is root, and has no sandbox then.
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, address: str, width: int, scheme: str = "light") -> Iterator[tuple[Any, Seen]]:
    """A page at an address, in the light or dark mode of the system, and what is seen of it."""
    page, seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), Seen([], [])
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
    page.goto(address)
    try:
        yield page, seen
    finally:
        page.close()


def low_contrasts(frame: Any, least: float = 4.5) -> list[tuple[str, str, str, float]]:
    """Texts of a page or frame whose contrast, as WCAG 2.2 defines it, is less."""
    return [
        (text, ink, ground, round(ratio, 2))
        for text, ink, ground in frame.evaluate(TEXT_COLOURS)
        if (ratio := _contrast(ink, ground)) < least
    ]


def broken_numbers(page: Any) -> list[str]:
    """The numbers of a page that stand in more than one line."""
    return page.evaluate(BROKEN_NUMBERS)


def is_as_wide_as_the_window(page: Any) -> bool:
    """Whether nothing has to be scrolled sideways, but for boxes that scroll by themselves."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def _contrast(*colours: str) -> float:
    low, high = sorted(map(_luminance, colours))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].replace(",", " ").split()[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
