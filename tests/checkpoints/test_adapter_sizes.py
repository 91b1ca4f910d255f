"""Ranks and scales of an adapter's layers: the first pattern that matches, as in `peft`."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from keras_transformers.checkpoints.adapter_sizes import read_sizes

PATH = Path("adapter_config.json")
RANKS = {"query": 4, r"^.*\.1\..*dense": 3, r"layer\.\d\.key": 5}


@pytest.mark.parametrize(
    ("layer", "rank"),
    [
        ("bert.encoder.layer.0.query", 4), ("query", 4), ("bert.myquery", 2), ("bert.query.x", 2),
        ("bert.encoder.layer.1.output.dense", 3), ("bert.encoder.layer.0.output.dense", 2),
        ("bert.encoder.layer.7.key", 5), ("bert.encoder.layer.77.key", 2),
    ],
)  # fmt: skip
def test_a_pattern_is_the_end_of_a_name(layer, rank):
    values = {"r": 2, "lora_alpha": 8, "rank_pattern": RANKS, "alpha_pattern": {"dense": 32}}
    alpha = 32 if layer.endswith("dense") else 8
    assert read_sizes(values, PATH).of(layer) == (rank, alpha / rank)
    assert read_sizes(values | {"use_rslora": True}, PATH).of(layer) == (rank, alpha / rank**0.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rank_pattern": {"q": 0}}, "rank_pattern={'q': 0}: expected 1 to 1000000"),
        ({"rank_pattern": {"q": True}}, "rank_pattern=.*: expected 1 to"),
        ({"rank_pattern": {"q": 1.5}}, "rank_pattern=.*: expected 1 to"),
        ({"alpha_pattern": {"q": 10**9}}, "alpha_pattern=.*: expected -1000000 to"),
        ({"alpha_pattern": {"q": "8"}}, "alpha_pattern=.*: expected -1000000 to"),
        ({"alpha_pattern": {"(q": 8}}, r"the pattern '\(q' of layers is not supported"),
        ({"rank_pattern": {"q" * 501: 8}}, "the pattern .* is not supported"),
    ],
)
def test_patterns_with_faults(values, message):
    with pytest.raises(ValueError, match=rf"adapter_config\.json: {message}"):
        read_sizes(values, PATH)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*){9}b", "a*a*a*a*b", r"(a*)\1\1"])
def test_patterns_that_could_take_endless_time_are_refused(pattern):
    begin = time.process_time()
    with pytest.raises(ValueError, match="none of them of a group"):
        read_sizes({"rank_pattern": {pattern: 4}}, PATH).of("a" * 60)
    assert time.process_time() - begin < 1
