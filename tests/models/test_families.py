"""What every family of the table has: names and shapes of weights as they were, and as many as were published."""

from __future__ import annotations

import ast
from pathlib import Path

import keras
import numpy as np
import pytest
from class_models import class_model, has_pooler
from family_cases import ATTENTION, CASES
from golden import check_weights
from rules import assert_none
from shapes import shapes_only

from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.heads import pooler
from keras_transformers.models import encoder

TESTS = Path(__file__).resolve().parents[1]
COUNTS = [(name, count) for name, case in CASES.items() for count in case.published]


def test_every_family_has_a_row():
    assert {case.family for case in CASES.values()} == FAMILIES.keys()
    assert {case.make for case in CASES.values()} == {names.configure for names in FAMILIES.values()}


@pytest.mark.integration
def test_no_other_file_of_tests_lists_the_families():
    """Tests of all families follow from the table; one that chooses some of them, for what they have, may name them."""
    lists = []
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            listed = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            named = {value.value for value in listed if isinstance(value, ast.Constant)} & FAMILIES.keys()
            if len(named) > len(FAMILIES) // 2 and path.name not in ("family_cases.py", "decoder_cases.py"):
                lists.append(f"{path.relative_to(TESTS)}:{node.lineno}: {', '.join(sorted(named))}")
    assert_none(lists, "Only the tables in helpers name more than half of the families: take them from its table.")


@pytest.mark.integration(quick=["albert", "gpt1", "granite", "granitemoehybrid"])
@pytest.mark.parametrize("name", ATTENTION)
def test_weight_names_and_shapes(name):
    with shapes_only():
        model = class_model(CASES[name].small(), None)
    check_weights(model, name)


@pytest.mark.integration(quick=["gpt2-124439808", "bert-4385920"])
@pytest.mark.parametrize(("name", "count"), COUNTS, ids=[f"{name}-{count}" for name, count in COUNTS])
def test_published_parameter_counts(name, count):
    """Of an encoder with its pooler, or of a language model."""
    config = CASES[name].make(**CASES[name].published[count])
    with shapes_only():
        model = language_model(config) if config.kind != "encoder" else bare_encoder(config)
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == count


def language_model(config):
    names = FAMILIES[config.family]
    model = class_model(config, names.tasks["seq2seq_lm" if config.kind == "encoder_decoder" else "causal_lm"])
    return keras.Model(model.input, model.output["logits"])


def bare_encoder(config):
    model = encoder(config)
    if not has_pooler(config, FAMILIES[config.family].tasks["sentence_embedding"]):
        return model
    return keras.Model(model.input, pooler(config, model.output["hidden_states"]))
