"""The normaliser of SentencePiece models in ops gives the library's text."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers

from keras_transformers.text.graph.normalizers.precompiled import Precompiled
from keras_transformers.text.graph.normalizers.replace import replace_pattern
from keras_transformers.text.graph.streams.code_points import shipped
from keras_transformers.text.graph.streams.probe import SCALARS
from keras_transformers.text.sentencepiece.charsmap import compile_rules
from keras_transformers.text.sentencepiece.spm_file import read

# The first point of a rule decides, or the first two, or three; marks, jamo, joiners and line ends hang together.
RULES = {"a": "A", "e\u0301": "é", "o\u0302\u0301": "ố", "\r": " ", "\n": "", "ﬁ": "fi", "\u0600": "N", "©": "(c)"}
RULES |= {"가": "ga", "\ufdfa": "x" * 18, "u\u0308": "ue", "u\u0308\u0304": "never", "\u0301": "´", "\u0600b": "B"}
CLUSTERS = np.flatnonzero(shipped()["cluster"])
PARTS = [*"aeoub\r\n©® ", "\u0301", "\u0302", "\u0308", "\u0304", "\u0600", "\u0601", "\u0903", "\u200d", "\u200b", "ﬁ"]
PARTS += ["\u1100", "\u1161", "\u11a8", "가", "각", "\ufdfa", "\x00", "é", "👩", "🇩", "\U000110bd", "\u094d", "क"]


def run(component: tf.Module, texts: list[str]) -> list[str]:
    points = component(tf.strings.unicode_decode(tf.constant(texts), "UTF-8"))
    return [text.decode() for text in tf.strings.unicode_encode(points, "UTF-8").numpy()]


def pair(library: normalizers.Normalizer, component: type) -> tuple:
    return library, component(json.loads(library.__getstate__()))


@pytest.fixture(scope="module")
def rules():
    return pair(normalizers.Precompiled(compile_rules(RULES)), Precompiled)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("abc", "Abc"),
        ("a\u0301", "A"),  # the rule of "a" stands for the cluster: the mark is lost
        ("e\u0301", "é"),
        ("o\u0302\u0301", "ố"),
        ("e\u0301\u0302\u0302", "e´\u0302\u0302"),  # 7 bytes: letter by letter
        ("\r\n", " "),
        ("\n\r", " "),
        ("ﬁ\u0301", "fi"),
        ("ﬁ\u0301\u0301", "fi´´"),
        ("u\u0308\u0304", "ue"),
        ("\u0600b", "N"),
        ("\u0601a", "\u0601A"),
        ("©\u200d", "(c)"),
        ("©\u200d©", "(c)\u200d(c)"),
        ("\u0600\u1100\u1161", "N\u1100\u1161"),
        ("\u0600\u1100a", "NA"),
        ("\u0600" + "x" + "\u0301", "N"),
    ],
)
def test_rules_by_hand(rules, text, expected):
    library, component = rules
    assert run(component, [text]) == [expected] == [library.normalize_str(text)]


@pytest.mark.parametrize("alphabet", [PARTS, [*PARTS, *map(chr, CLUSTERS[CLUSTERS < 0xAC00])]], ids=["parts", "all"])
def test_random_clusters(rules, alphabet):
    library, component = rules
    chance = random.Random(7)
    texts = ["".join(chance.choices(alphabet, k=chance.randrange(9))) for _ in range(6_000)]
    assert run(component, texts) == [library.normalize_str(text) for text in texts]


def test_a_rule_does_not_reach_into_another_text(rules):
    _, component = rules
    assert run(component, ["e", "\u0301", "\r", "\n", ""]) == ["e", "´", " ", "", ""]


@pytest.mark.parametrize("pattern", [" {2,}", r"\A +| +\z"])
@pytest.mark.parametrize("content", ["", " ", "▁▁"])
def test_spaces(pattern, content):
    config = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    empty = normalizers.Replace("x", "")
    empty.__setstate__(json.dumps(config).encode())
    library, component = pair(empty, replace_pattern)
    chance = random.Random(3)
    texts = ["".join(chance.choices("a   \n", k=chance.randrange(8))) for _ in range(2_000)]
    assert run(component, texts) == [library.normalize_str(text) for text in texts]


@pytest.mark.data
@pytest.mark.slow
def test_the_rules_of_a_real_model(data_dir):
    charsmap = read(data_dir / "sentencepiece" / "test_model.model").charsmap
    library, component = pair(normalizers.Precompiled(charsmap), Precompiled)
    chance = random.Random(9)
    alphabets = [PARTS, [chr(i) for i in CLUSTERS], [chr(i) for i in SCALARS], [chr(i) for i in range(0x250)]]
    texts = [
        "".join(chance.choice(chance.choice(alphabets)) for _ in range(chance.randrange(12))) for _ in range(20_000)
    ]
    assert run(component, texts) == [library.normalize_str(text) for text in texts]
    blocks = ["x".join(map(chr, block)) for block in np.array_split(SCALARS, 500)]
    assert run(component, blocks) == [library.normalize_str(block) for block in blocks]
