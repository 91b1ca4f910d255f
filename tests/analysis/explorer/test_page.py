from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from keras_transformers.analysis.attention.recorded import Recorded
from keras_transformers.analysis.explorer.pack import GROUPS, WINDOW, _pack_map, matches, pack_run
from keras_transformers.analysis.explorer.page import embedded, page, page_data
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.run import Map, run
from keras_transformers.analysis.explorer.tokens import Tokens
from keras_transformers.analysis.explorer.view import View

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)> & \"'` ${alert(1)} {{7*7}} $style"
ASSETS = files("keras_transformers.analysis.explorer") / "assets"
STYLE = (ASSETS / "page.css").read_text(encoding="utf-8")


class Parts(HTMLParser):
    """Elements of a document with their attributes, and the text that each begins with."""

    def __init__(self, document: str):
        super().__init__()
        self.elements, self.inside, self.is_open = [], [], False
        self.feed(document)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.is_open = True
        self.inside.append("")

    def handle_data(self, text):
        if self.inside and self.is_open:
            self.inside[-1] += text

    def handle_endtag(self, tag):
        self.is_open = False

    def named(self, tag: str) -> list[tuple[dict, str]]:
        return [
            (attributes, inside)
            for (name, attributes), inside in zip(self.elements, self.inside, strict=True)
            if name == tag
        ]


def data_of(document: str) -> dict:
    (data,) = (inside for attributes, inside in Parts(document).named("script") if "type" in attributes)
    return json.loads(data)


def numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


@pytest.mark.integration
def test_what_a_user_writes_is_data_and_never_markup(task):
    plain = page("a model", [run(task("classification"), Request("a film"))])
    hostile = page(HOSTILE, [run(task("classification"), Request(HOSTILE))])

    assert data_of(hostile)["runs"][0]["text"] == HOSTILE
    assert data_of(hostile)["title"] == HOSTILE
    tags = [[tag for tag, _ in Parts(document).elements] for document in (plain, hostile)]
    assert tags[0] == tags[1]
    assert "alert(1)</script>" not in hostile


@pytest.mark.parametrize("text", [HOSTILE, "\u2028\u2029", "</SCRIPT", "<!--<script>", "😀"])
def test_embedded_json_ends_no_element_and_says_the_same(text):
    assert json.loads(embedded({"text": text})) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(embedded(text))


@pytest.mark.integration
def test_the_policy_lets_the_one_script_and_style_run_and_nothing_else(task):
    document = page("a model", [run(task("classification"), Request("a film"))])

    parts = Parts(document)
    (policy,) = (meta["content"] for meta, _ in parts.named("meta") if "http-equiv" in meta)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (script,) = (inside for attributes, inside in parts.named("script") if not attributes)
    ((_, style),) = parts.named("style")
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert rules == {
        "default-src": "'none'",
        "img-src": "data:",
        "script-src": f"'sha256-{digests[0]}'",
        "style-src": f"'sha256-{digests[1]}'",
    }


@pytest.mark.integration
def test_nothing_is_asked_of_the_network_and_no_text_is_read_as_html(task):
    document = page("a model", [run(task("classification"), Request("a film"))])

    links = [
        value
        for _, attributes in Parts(document).elements
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    assert links == ["data:,"]
    addresses = set(re.findall(r"https?://[^\s\"'`]+", document))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.findall(
        r"innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttpRequest|@import|url\(", document
    )


@pytest.mark.integration
def test_numbers_of_the_page_are_those_of_the_model(task):
    shown = run(task("classification"), Request("a fine film"))

    (packed,) = page_data("a model", [shown])["runs"][0]["maps"]

    recorded = shown.maps[0].recorded
    layers, heads, length, width = recorded.query.shape
    assert (packed["layers"], packed["heads"], packed["width"]) == (layers, heads, width)
    query, key = (numbers(packed[name]).reshape(layers, heads, length, width) for name in ("query", "key"))
    norms = numbers(packed["norms"]).reshape(layers, heads, length, 1)
    scores = np.einsum("lnth,lnsh->lnts", query, key) * packed["scale"]
    np.testing.assert_allclose(np.exp(scores - norms), recorded.weights, atol=1e-5)
    np.testing.assert_array_equal(numbers(packed["weights"]).reshape(recorded.weights.shape), recorded.weights)


def recorded_of(length: int, layers: int, heads: int, width: int) -> Map:
    generator = np.random.default_rng(0)
    query, key = generator.normal(size=(2, layers, heads, length, width)).astype("float32")
    weights = np.full((layers, heads, length, length), 1 / length, "float32")
    tokens = Tokens(tuple(f"t{place}" for place in range(length)), (False,) * length)
    mask = np.ones((layers, length, length), bool)
    return Map("self", tokens, tokens, Recorded(query, key, 1 / width**0.5, None, mask, weights))


def test_the_page_has_the_soft_cap_of_the_scores():
    """As cell.js computes a weight: e^score by the sum over the row."""
    one = recorded_of(4, 1, 2, 8)
    packed = _pack_map(one._replace(recorded=one.recorded._replace(soft_cap=0.5)), 0, 4)
    query, key = (numbers(packed[name]).reshape(1, 2, 4, 8) for name in ("query", "key"))
    products = np.einsum("lnth,lnsh->lnts", query, key) * packed["scale"]
    scores = packed["cap"] * np.tanh(products / packed["cap"])
    weights = np.exp(scores - numbers(packed["norms"]).reshape(1, 2, 4, 1))
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert np.abs(products).max() > 1 > np.abs(scores).max()


@pytest.mark.integration
def test_a_page_of_a_long_text_and_a_large_model_is_bounded(task):
    shown = run(task("classification"), Request("a film"))._replace(maps=(recorded_of(200, 12, 12, 64),), switched=())

    packed = pack_run(shown, first_token=100)

    (one,) = packed["maps"]
    assert one["first"] == [100, 100]
    assert WINDOW[0] <= one["size"][0] <= WINDOW[1]
    assert len(one["groups"][0]) == GROUPS
    assert numbers(one["small"]).size == 144 * GROUPS**2
    assert len(json.dumps(packed)) < 6e6
    small = numbers(one["small"]).reshape(12, 12, GROUPS, GROUPS)
    np.testing.assert_allclose(small.sum(-1), 1, rtol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize(("name", "is_causal"), [("classification", False), ("causal_lm", True)])
def test_paths_are_those_of_a_model_that_sees_one_side_or_both(task, name, is_causal):
    """In a bidirectional model the first token sees the last, too."""
    paths = page_data("", [run(task(name), Request("a fine film"))])["paths"]
    edges = {path["kind"]: path["edges"] for path in paths}
    assert [path["causal"] for path in paths] == [is_causal] * 3
    last = len(paths[0]["tokens"]) - 1
    assert (((0, last), (1, 0)) in edges["attention"]) is not is_causal


@pytest.mark.integration
def test_the_window_stays_inside_the_text(task):
    shown = run(task("classification"), Request("a film"))._replace(maps=(recorded_of(100, 2, 2, 4),), switched=())

    assert pack_run(shown, first_token=99)["maps"][0]["first"] == [52, 52]
    with pytest.raises(ValueError, match=r"tokens 0 to 99: received 100"):
        pack_run(shown, first_token=100)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a fine film", "a dull film", [0, 1, 2]),
        ("a film", "a very fine film", [0, -1, -1, 1]),
        ("a fine film", "a film", [0, 2]),
        ("", "a", [-1]),
    ],
)
def test_tokens_of_a_changed_text_are_matched(before, after, expected):
    assert matches(before.split(), after.split()) == expected


@pytest.mark.integration
def test_a_view_is_what_a_form_holds(task):
    subject = task("masked_lm")

    view = View.of(subject)._replace(changed="She [MASK] the film.", without="0.1")

    runs = view.runs(subject)
    assert [one.text for one in runs] == [view.text, "She [MASK] the film."]
    assert data_of(page("a model", runs))["runs"][1]["off"] == ["0.1"]


@pytest.mark.integration
def test_three_texts_are_refused(task):
    shown = run(task("classification"), Request("a film"))

    with pytest.raises(ValueError, match="received 3"):
        page("a model", [shown] * 3)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(*colours: str) -> float:
    """As WCAG 2.2 defines it."""
    low, high = sorted(map(luminance, colours))
    return (high + 0.05) / (low + 0.05)


def colours_of(style: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", style))


LIGHT, DARK = map(colours_of, STYLE.split("@media (prefers-color-scheme: dark)"))


def test_each_colour_has_one_for_the_dark():
    assert set(LIGHT) == set(DARK) and len(LIGHT) > 8
    assert not re.findall(r"#[0-9a-f]{3,6}\b(?!;)", re.sub(r"#[a-z-]+", "", STYLE))  # no colour beside these


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel", "chosen"])
@pytest.mark.parametrize(
    ("ink", "least"), [("ink", 4.5), ("quiet", 4.5), ("mark", 4.5), ("less", 4.5), ("focus", 4.5), ("line", 3)]
)
def test_contrast_is_that_of_wcag_aa(ink, ground, least, colours):
    assert contrast(colours[ink], colours[ground]) >= least


@pytest.mark.parametrize("name", sorted(path.name for path in ASSETS.iterdir()))
def test_assets_are_small(name):
    assert len((ASSETS / name).read_text(encoding="utf-8").splitlines()) < 200


def test_the_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
