"""What the zoo says of its models, against the models themselves and the papers."""

from __future__ import annotations

import dataclasses

import keras
import pytest
from shapes import shapes_only

import zoo
from keras_transformers.checkpoints.hub import parse
from keras_transformers.heads import pooler
from keras_transformers.models import encoder
from keras_transformers.tasks import TASKS
from zoo._entry import Entry

PUBLISHED = {  # encoder with pooler
    "bert_tiny_en_uncased": 4_385_920,
    "bert_mini_en_uncased": 11_170_560,
    "bert_small_en_uncased": 28_763_648,
    "bert_medium_en_uncased": 41_373_184,
    "bert_base_en_uncased": 109_482_240,
    "bert_base_en_cased": 108_310_272,
    "bert_large_en_uncased": 335_141_888,
    "bert_large_en_cased": 333_579_264,
}


@pytest.mark.parametrize("name", zoo.names())
def test_parameters_are_those_of_the_model(name):
    entry = zoo.describe(name)
    with shapes_only():
        model = encoder(entry.config, dtype="float32")
        pooled = pooler(entry.config, model.output["hidden_states"], "float32")
        assert keras.Model(model.input, pooled).count_params() == entry.parameters


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_parameters_are_the_published_ones(name, parameters):
    assert zoo.describe(name).parameters == parameters


@pytest.mark.parametrize("name", zoo.names())
def test_an_entry_is_complete(name):
    entry = zoo.describe(name)
    assert entry.name == name
    assert entry.task in TASKS
    assert entry.licence and entry.summary.endswith(".")
    assert entry.paper.startswith("https://")
    assert entry.bundled or parse(entry.source)[0].count("/") == 1
    assert zoo.names(name) == [name]


def test_an_entry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        zoo.describe("mini_bert_en").parameters = 1


def test_bundled_and_other_names_are_all():
    bundled, others = zoo.names(bundled=True), zoo.names(bundled=False)
    assert bundled == ["mini_bert_en"]
    assert sorted(bundled + others) == zoo.names()


def test_names_by_pattern():
    assert zoo.names("bert_large*") == ["bert_large_en_cased", "bert_large_en_uncased"]
    assert zoo.names("gpt*") == []


NEAREST = {"bert_base_uncased": "bert_base_en_uncased", "minibert": "mini_bert_en"}


@pytest.mark.parametrize(("wrong", "nearest"), NEAREST.items())
def test_a_wrong_name_brings_the_nearest(wrong, nearest):
    with pytest.raises(ValueError, match=f"no model '{wrong}'.*{nearest}"):
        zoo.describe(wrong)


def test_private_files_are_no_models():
    with pytest.raises(ValueError, match="no model '_load'"):
        zoo.describe("_load")


def test_load_is_a_function_of_the_package():
    assert "load" in zoo.__all__ and zoo.load.__doc__.startswith("Load a model by name")
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = zoo.lode


def test_fine_tuning_options_are_those_of_fit():
    known = set(TASKS["classification"].fit.__kwdefaults__)
    assert {field.name for field in dataclasses.fields(Entry)} >= {"fit", "results"}
    assert all(set(zoo.describe(name).fit) <= known for name in zoo.names())
