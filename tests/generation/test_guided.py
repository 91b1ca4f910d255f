"""Texts of a regular expression or a JSON schema, by the library llguidance."""

from __future__ import annotations

import builtins
import json
import re

import numpy as np
import pytest
from generating import causal_lm, lively
from processes import run_on_jax

from keras_transformers.families import gpt2
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.parity
PROMPTS = ["the cat", "one", "", "日本語"]
PATTERNS = [r" (yes|no|maybe)\.", r"[a-c]{3,5}ä", r"[0-9]{2}", r"the (cat|mat)? sat"]
PROPERTIES = {"count": {"type": "integer", "minimum": 0, "maximum": 99}, "word": {"enum": ["cat", "mat"]}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": [*PROPERTIES], "additionalProperties": False}


@pytest.fixture(scope="module", autouse=True)
def library():
    return pytest.importorskip("llguidance")


@pytest.fixture(scope="module")
def task():
    return causal_lm()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_match(task, pattern):
    """Greedy and sampled, on tokens that are parts of characters; a stream is the same text."""
    for options in ({}, {"temperature": 1.5, "seed": [1, 2, 3, 4]}):
        rows = task.predict(PROMPTS, pattern=pattern, **options)
        assert all(re.fullmatch(pattern, row["generated_text"]) and not row["error"] for row in rows)
    text = task.generate(PROMPTS[:1], pattern=pattern)[0]
    assert "".join(task.stream(PROMPTS[0], pattern=pattern)) == text


def test_the_likeliest_match_is_that_of_choices(task):
    """Of the same strings, whose tokens are the same: one token each."""
    letters = [*"abcdef"]
    rows = task.predict(PROMPTS, choices=letters), task.predict(PROMPTS, pattern="[a-f]")
    for one, other in zip(*rows, strict=True):
        assert one["generated_text"] == other["generated_text"]
        np.testing.assert_allclose(one["score"], other["score"], rtol=1e-5)


def test_texts_obey_a_schema(task):
    for text in task.generate(PROMPTS, json_schema=SCHEMA, temperature=1.0, max_new_tokens=40, seed=[1, 2, 3, 4]):
        found = json.loads(text)
        assert found.keys() == PROPERTIES.keys() and 0 <= found["count"] <= 99 and found["word"] in ("cat", "mat")


def test_other_vocabularies():
    """SentencePiece's unigrams, whose first word has no space in mid-sentence; several end tokens."""
    tokenizer = Tokenizer.train(["yes no maybe. the cat sat", "no, the mat 1 2 3"], 60, model="unigram")
    config = gpt2(tokenizer.vocabulary_size, 1, 2, 16, max_length=32, eos_ids=[tokenizer.eos_id, 0])
    task = Task("causal_lm", config, tokenizer)
    lively(task.model)
    for pattern in (" ?(yes|no)", " (the|maybe) cat"):
        assert all(re.fullmatch(pattern, text) for text in task.generate(["the", "yes no"], pattern=pattern))


def test_a_text_that_is_cut_has_an_error(task):
    row, whole = task.predict(["the cat"] * 2, pattern="a{6}", max_new_tokens=[4, 9])
    assert row["generated_text"] == "aaaa" and "before it was whole" in row["error"]
    assert whole["generated_text"] == "aaaaaa" and whole["error"] == ""
    with pytest.raises(ValueError, match="before it was whole"):
        task.generate(["the cat"], pattern="a{6}", max_new_tokens=4)


REFUSED = [
    ({"pattern": "(a"}, "pattern cannot be followed: received '\\(a'"),
    ({"pattern": 3}, "received 3"),
    ({"pattern": ""}, "a regular expression"),
    ({"json_schema": {"type": "foo"}}, "Invalid type"),
    ({"json_schema": [1]}, "json_schema is a dict"),
    ({"pattern": "a", "json_schema": SCHEMA}, "one of them"),
    ({"pattern": "a", "num_beams": 2, "choices": ["a"]}, "received choices, num_beams"),
    ({"json_schema": SCHEMA, "stop": ["a"]}, "received stop"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_is_refused(task, options, message):
    with pytest.raises(ValueError, match=message):
        task.generate(PROMPTS, **options)


def test_refusals_of_models_and_exports(task, tmp_path):
    with pytest.raises(ValueError, match="decoders with an end token"):
        causal_lm(end_token=False).generate(["a"], pattern="a")
    with pytest.raises(ValueError, match="pattern is for generate"):
        task.export(tmp_path / "1", pattern="a")


def test_a_missing_library_is_told(task, monkeypatch):
    found = builtins.__import__

    def without(name, *arguments, **options):
        if name == "llguidance":
            raise ImportError(name)
        return found(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r'pip install "keras_transformers\[constrained\]"'):
        task.generate(["a"], pattern="a")


ON_JAX = """
from generating import causal_lm
print(json.dumps(causal_lm().generate(json.loads(sys.argv[2]), pattern=sys.argv[3])))
"""


@pytest.mark.slow
def test_texts_match_on_jax(task):
    there = json.loads(run_on_jax(ON_JAX, json.dumps(PROMPTS), PATTERNS[0]))
    assert there == task.generate(PROMPTS, pattern=PATTERNS[0])
