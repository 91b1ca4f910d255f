"""The models whose weights are in the package: size, format, card, and that they are worth loading."""

from __future__ import annotations

import json
import re

import pytest

import zoo

BUNDLED = [zoo.describe(name) for name in zoo.names(bundled=True)]
MEASURED = ("masked_lm_logits_accuracy", "next_sentence_logits_accuracy")
by_name = pytest.mark.parametrize("entry", BUNDLED, ids=lambda entry: entry.name)


@by_name
def test_it_is_small_and_in_half_precision(entry):
    assert sum(path.stat().st_size for path in entry.folder.iterdir()) <= 12_000_000
    with open(entry.folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert {tensor["dtype"] for name, tensor in header.items() if name != "__metadata__"} == {"F16"}


@by_name
def test_it_is_what_its_entry_says(entry):
    task = zoo.load(entry.name)
    assert task.name == entry.task
    assert task.config == entry.config
    assert 8_000 <= task.tokenizer.vocabulary_size == entry.config.vocabulary_size <= 10_000


@by_name
def test_its_card_states_the_results(entry):
    card = (entry.folder / "README.md").read_text(encoding="utf-8")
    assert entry.licence in card and f"{entry.parameters:,}" in card
    assert re.search("masked", card, re.IGNORECASE) and re.search("next.sentence", card, re.IGNORECASE)
    for name in MEASURED:
        assert f"{entry.results[name]:.3f}" in card


@by_name
def test_it_has_learnt_english(entry):
    fills = zoo.load(entry.name).predict(["She looked at [MASK] and smiled.", "He [MASK] to the door."])
    pronouns, verbs = ({token for token, _ in answer["fills"][0]} for answer in fills)
    assert pronouns & {"him", "her", "me", "them", "it"}
    assert verbs & {"went", "came", "turned", "walked", "ran", "opened"}


@by_name
@pytest.mark.data
@pytest.mark.slow
def test_its_results_are_measured(entry, data_dir):
    results = zoo.load(entry.name).evaluate(data_dir / "gutenberg_novels" / "valid.txt")
    for name in MEASURED:
        assert results[name] == pytest.approx(entry.results[name], abs=0.01)
