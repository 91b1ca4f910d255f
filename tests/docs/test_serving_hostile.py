"""Loaded exports, in TensorFlow alone: hostile requests, rows beside others, and threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from exports import BUNDLED

pytestmark = pytest.mark.slow

FINE = ["a fine film", "It was a dark night, and Ann Lee came home."]
MEGABYTE = 10**6
HOSTILE = {
    "empty": b"",
    "blank": b" " * MEGABYTE,
    "one word": b"x" * MEGABYTE,
    "words": b"a warm day " * (MEGABYTE // 11),
    "marks": b"a" + "\u0301".encode() * (MEGABYTE // 2),
    "emoji": "😀".encode() * (MEGABYTE // 4),
    "not UTF-8": b"\xff" * MEGABYTE,
    "cut characters": "schön".encode()[:4] + b" \xe4\xb8 \xf0\x9f\x98 caf\xc3",
    "surrogates": b"\xed\xa0\x80 \xed\xbf\xbf \xc0\x80 \xf4\x90\x80\x80",
    "zeros": b"\0\0 a \0",
}
NEUTRAL = {
    "max_new_tokens": 5, "min_new_tokens": 0, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0,
    "repetition_penalty": 1.0, "no_repeat_ngram": 0, "length_penalty": 1.0, "coverage_penalty": 0.0,
    "early_stopping": 0,
}  # fmt: skip
MOST, NAN, INF = 2**31 - 1, float("nan"), float("inf")
ABSURD = [
    ("max_new_tokens", MOST), ("max_new_tokens", -MOST - 1), ("max_new_tokens", -1), ("max_new_tokens", 0),
    ("min_new_tokens", -1), ("temperature", NAN), ("temperature", INF), ("temperature", -1.0), ("top_k", -1),
    ("top_p", NAN), ("top_p", 0.0), ("min_p", 2.0), ("repetition_penalty", NAN), ("repetition_penalty", 0.0),
    ("no_repeat_ngram", -1), ("seed", -MOST - 1), ("length_penalty", INF), ("coverage_penalty", -1.0),
    ("early_stopping", 2),
]  # fmt: skip
STOPS = {"a million": ["ab"] * MEGABYTE, "a long one": ["a" * MEGABYTE]}

COLUMNS = ("input_ids", "attention_mask", "token_type_ids")

Answer = dict[str, np.ndarray]


@pytest.fixture(scope="session")
def loaded(exported) -> Callable[[str], Any]:
    """The signatures of an export."""

    @cache
    def load(name: str) -> Any:
        return tf.saved_model.load(str(exported(name).folder))

    return lambda name: load(name).signatures


def ask(signature: Any, texts: list, **options: Any) -> Answer:
    """The answer to a text in each input that takes some, with neutral options but for the given ones."""
    inputs = {}
    for name, spec in signature.structured_input_signature[1].items():
        value = [NEUTRAL.get(name, text) for text in texts]
        if name in ("stop", "choices"):
            # Two equal choices would be as likely: either could be the answer.
            pairs = [["", ""] if name == "stop" else [text, "It rained."] for text in texts]
            value = np.array(pairs, object).reshape(-1, 2)
        if name in COLUMNS:
            value = np.ones((len(texts), *[3] * (spec.shape.rank - 1)), "int32")
        inputs[name] = tf.constant(options.get(name, value), spec.dtype)
    return {name: value.numpy() for name, value in signature(**inputs).items()}


def same(left: Answer, right: Answer, row: int) -> None:
    """A row of the left answer is the only one of the right, which may be narrower: padding is empty and 0."""
    for name, value in right.items():
        ours, theirs = np.asarray(left[name][row]), np.asarray(value[0])
        if ours.ndim:
            assert not ours[len(theirs) :].any()
            ours = ours[: len(theirs)]
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        else:
            assert np.array_equal(ours, theirs), name


def strings(answer: Answer) -> list[bytes]:
    return [string for value in answer.values() if value.dtype == object for string in np.ravel(value)]


@pytest.mark.parametrize("name", BUNDLED)
def test_hostile_texts_are_answered_and_the_others_as_ever(name, loaded):
    signature = loaded(name)["serving_default"]
    alone = [ask(signature, [text]) for text in FINE]
    for text in HOSTILE.values():
        answer = ask(signature, [FINE[0], text, FINE[1]])
        same(answer, alone[0], 0)
        same(answer, alone[1], 2)
        for value in answer.values():
            assert len(value) == 3 and (value.dtype.kind != "f" or np.isfinite(value).all())
        assert all(string.decode() is not None for string in strings(answer))  # servers of JSON need UTF-8


@pytest.mark.parametrize("name", BUNDLED)
def test_no_rows(name, loaded):
    for signature_name, signature in loaded(name).items():
        if not signature_name.startswith("__"):
            assert all(len(value) == 0 for value in ask(signature, []).values())


@pytest.mark.parametrize("name", BUNDLED)
def test_wrong_requests_are_refused_and_the_next_is_answered(name, loaded):
    signature = loaded(name)["serving_default"]
    expected = ask(signature, FINE[:1])
    specs = signature.structured_input_signature[1]
    for wrong in (tf.constant("a"), tf.constant([[["a"]]]), tf.constant([1]), tf.constant([1.5])):
        for key in specs:
            inputs = {other: tf.constant([["a"]] if len(spec.shape) == 2 else ["a"]) for other, spec in specs.items()}
            with pytest.raises(tf.errors.InvalidArgumentError):
                signature(**{**inputs, key: wrong})
    with pytest.raises(TypeError):
        signature(unknown=tf.constant(["a"]))
    same(ask(signature, FINE[:1]), expected, 0)


@pytest.mark.parametrize("name", ["causal_lm", "seq2seq_lm"])
def test_absurd_options_are_errors_of_their_rows(name, loaded):
    signature = loaded(name)["generate"]
    expected = ask(signature, FINE[1:])
    cases = [(knob, value) for knob, value in ABSURD if knob in signature.structured_input_signature[1]]
    for knob, value in cases:
        answer = ask(signature, FINE, **{knob: [value, NEUTRAL[knob]]})
        assert knob in answer["error"][0].decode() and answer["generated_text"][0] == b""
        same(answer, expected, 1)
    assert len(cases) > 8


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
@pytest.mark.parametrize("name", ["causal_lm", "seq2seq_lm"])
def test_too_many_stop_strings_are_an_error_of_their_row(name, stop, loaded):
    signature = loaded(name)["generate"]
    answer = ask(signature, FINE, stop=[stop, [""] * len(stop)])
    assert b"stop takes at most" in answer["error"][0] and answer["num_tokens"][0] == 0
    same(answer, ask(signature, FINE[1:]), 1)


@pytest.mark.parametrize("name", BUNDLED)
def test_eight_threads_give_the_sequential_answers(name, loaded):
    signature = loaded(name)["serving_default"]
    texts = [" ".join(["a warm day in Rome"] * (1 + turn % 5)) + f" {turn}" for turn in range(24)]
    sequential = [ask(signature, [text]) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(lambda text: ask(signature, [text]), texts))
    together = ask(signature, texts)
    for row, (left, right) in enumerate(zip(parallel, sequential, strict=True)):
        same(left, right, 0)
        same(together, right, row)


def test_a_text_cut_inside_a_character_is_repaired_as_python_does(exported, loaded):
    """Tokens of byte-level BPE are bytes: the last one, or a sampled one, need not end a character."""
    task, _ = exported("causal_lm")
    signature, texts = loaded("causal_lm")["generate"], ["a fine film"] * 64
    seeds, hot = list(range(64)), [1e6] * 64
    answer = ask(signature, texts, temperature=hot, seed=seeds, max_new_tokens=[40] * 64)
    expected = task.generate(texts, temperature=1e6, seed=seeds, max_new_tokens=40)
    assert [text.decode() for text in answer["generated_text"]] == expected
    assert any("\ufffd" in text for text in expected)


def test_the_repair_of_utf8_is_pythons():
    draw, parts = random.Random(0), [bytes([byte]) for byte in range(256)]
    parts += [
        "é".encode(),
        "中".encode(),
        "😀".encode(),
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\x80",
        b"\xf0\x80",
    ]
    texts = [b"".join(draw.choices(parts, k=draw.randint(0, 12))) for _ in range(20_000)]
    repaired = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace").numpy()
    assert [text.decode() for text in repaired] == [text.decode("utf-8", "replace") for text in texts]
