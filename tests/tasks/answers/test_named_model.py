"""Models of one's own, called by the names of a tokenizer's columns."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny

from keras_transformers.layers import LearnedPositions
from keras_transformers.tasks.answers.named_model import NamedModel
from keras_transformers.text.string_layers import Tokenize

COLUMNS = {"token_ids": np.array([[1, 2]]), "segment_ids": np.array([[0, 1]]), "padding_mask": np.array([[1, 1]])}


def symbol(name: str, length: int | None = None, dtype: str = "int32") -> keras.KerasTensor:
    return keras.Input((length,), dtype=dtype, name=name)


def test_inputs_in_any_structure():
    """Each column comes where its name stands."""
    ids, segments, mask = map(symbol, COLUMNS)
    outputs = [ids * 100, segments * 10, mask * 1]
    for inputs in (
        [mask, ids, segments],
        {"segment_ids": segments, "token_ids": ids, "padding_mask": mask},
        (ids, [segments, mask]),
    ):
        named = NamedModel(keras.Model(inputs, {"sum": sum(outputs)}))
        assert named.input.keys() == COLUMNS.keys() and named.output.keys() == {"sum"}
        assert named({name: COLUMNS[name] for name in named.input})["sum"].numpy().tolist() == [[101, 211]]


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("structure", [lambda x: x, lambda x: [x], lambda x: {"words": x}], ids=["one", "list", "dict"])
def test_one_input_of_any_name(structure, dtype):
    words = symbol("words", dtype=dtype)
    named = NamedModel(keras.Model(structure(words), keras.layers.Embedding(9, 2, name="states")(words)))
    assert [*named.input] == ["token_ids"] and [*named.output] == ["states"]
    assert named({"token_ids": COLUMNS["token_ids"]})["states"].shape == (1, 2, 2)


def test_outputs_of_a_list_have_the_names_of_their_layers():
    words = symbol("token_ids")
    states = keras.layers.Embedding(9, 2, name="states")(words)
    named = NamedModel(keras.Model(words, [keras.layers.Dense(3, name="scores")(states), states]))
    assert [*named.output] == ["scores", "states"] and named.output["scores"].shape[-1] == 3
    assert [*named({"token_ids": COLUMNS["token_ids"]})] == ["scores", "states"]


def test_the_longest_row():
    words, fixed = symbol("token_ids"), symbol("token_ids", 7)
    states = keras.layers.Embedding(9, 2)
    assert NamedModel(keras.Model(words, states(words))).longest is None
    assert NamedModel(keras.Model(fixed, states(fixed))).longest == 7
    both = keras.Model(words, LearnedPositions(5)(states(words)) + LearnedPositions(6)(states(words)))
    assert NamedModel(both).longest == 5 and NamedModel(both).length is None


def twice(x: keras.KerasTensor) -> list[keras.KerasTensor]:
    """What one layer gives in two places."""
    layer = keras.layers.Embedding(9, 2, name="both")
    return [layer(x), layer(x + 1)]


class Subclass(keras.Model):
    def call(self, inputs):
        return inputs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Subclass(), r"received Subclass, a model without defined inputs: .* Call it on inputs first"),
        (lambda: keras.Sequential([keras.layers.Dense(2)]), "received Sequential, .* sequential and not built"),
        (lambda: keras.layers.Dense(2), "expected a functional keras.Model: received a Dense"),
        (lambda: keras.Model([x := symbol("a"), y := symbol("b")], x + y), "or with inputs named token_ids, .*'a'"),
        (lambda: keras.Model(x := symbol("segment_ids"), x * 2), "received {'segment_ids'"),
        (lambda: keras.Model(x := keras.Input((), name="token_ids"), x * 2), r"one input \(batch, length\)"),
        (lambda: keras.Model([x := symbol("token_ids", 3), y := symbol("padding_mask")], x * y), r"\(None, 3\)"),
        (lambda: keras.Model(x := symbol("token_ids"), {"truncated": x * 2}), r"\['truncated'\]; .* Rename"),
        (
            lambda: keras.Model(x := symbol("token_ids"), twice(x)),
            r"two outputs would have one name: received \['both'\]",
        ),
    ],
)
def test_models_that_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        NamedModel(make())


def test_a_model_that_takes_strings_exports_itself():
    text = keras.Input((), dtype="string")
    model = keras.Model(text, Tokenize(tiny.tokenizer())(text))
    with pytest.raises(ValueError, match=r"takes strings already: export it with model\.export\(folder\)"):
        NamedModel(model)
