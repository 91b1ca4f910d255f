"""Layers of strings: the ids and texts of the library, wherever a Keras layer may stand, and with their tokenizer."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import time
import weakref

import bare
import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from cats import CORPUS

from keras_transformers.layers import EncoderBlock, TokenEmbedding
from keras_transformers.text.string_layers import TOKENIZERS, Detokenize, Tokenize
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = [
    *CORPUS, "", " ", "\0", "typed [MASK] and [SEP]", "a\u0316\u0301b 中文 שלום 😀", b"\xff cat \xc3", "the cat " * 30,
]  # fmt: skip
INPUTS = "token_ids", "segment_ids", "padding_mask"
TWO = ["The cat danced", "a dog"]


def library_rows(tokenizer: Tokenizer, texts: list, pairs: list | None = None, max_length: int | None = None) -> dict:
    """What the library gives, padded with the tokenizer's id: the columns as lists, and what was cut."""
    texts, pairs = (
        [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in c or ()] for c in (texts, pairs)
    )
    rows = tokenizer.encode(texts, pairs or None, max_length=max_length)
    width = max(len(row.ids) for row in rows)
    columns = {
        "token_ids": [row.ids + [tokenizer.pad_id] * (width - len(row.ids)) for row in rows],
        "segment_ids": [row.segment_ids + [0] * (width - len(row.ids)) for row in rows],
        "padding_mask": [[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows],
    }
    return {**columns, "truncated": [row.truncated for row in rows]}


def as_lists(rows: dict[str, tf.Tensor]) -> dict[str, list]:
    return {name: column.numpy().tolist() for name, column in rows.items()}


@pytest.fixture(scope="module")
def text_model(tokenizer) -> keras.Model:
    """From a text to two logits."""
    keras.utils.set_random_seed(0)
    text = keras.Input((), dtype="string", name="text")
    tokens = Tokenize(tokenizer, max_length=12)(text)
    states = TokenEmbedding(tokenizer.vocabulary_size, 8)(tokens["token_ids"])
    states = EncoderBlock(num_heads=2, intermediate_dim=8)(states, padding_mask=tokens["padding_mask"])
    pooled = keras.layers.GlobalAveragePooling1D()(states, mask=tokens["padding_mask"])
    return keras.Model(text, keras.layers.Dense(2)(pooled))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("options", "pairs"),
    [({}, None), ({"max_length": 8}, None), ({"max_length": 9}, TEXTS[::-1])],
    ids=["no limit", "cut", "pairs"],
)
def test_rows_are_those_of_the_library(tokenizer, options, pairs):
    layer = Tokenize(tokenizer, pairs=pairs is not None, outputs=[*INPUTS, "truncated"], **options)
    rows = as_lists(layer(TEXTS if pairs is None else (TEXTS, pairs)))
    assert rows == library_rows(tokenizer, TEXTS, pairs, options.get("max_length"))
    assert rows["truncated"][-1] == bool(options)


@pytest.mark.data
@pytest.mark.parametrize("vocabulary", ["bert_vocab", "gpt2_vocab"])
def test_real_text_of_real_vocabularies(data_dir, vocabulary):
    """And its layers are copied without parsing a tokenizer again."""
    folder = data_dir / vocabulary
    is_bert = vocabulary == "bert_vocab"
    tokenizer = Tokenizer.from_vocab(folder / "vocab.txt") if is_bert else Tokenizer.from_folder(folder)
    texts = (data_dir / "tinyshakespeare" / "input.txt").read_text("utf-8").split("\n\n")[:500]
    rows = Tokenize(tokenizer, max_length=64, pad_id=3, outputs=["token_ids", "padding_mask"])(texts)
    ids, mask = (column.numpy() for column in rows.values())
    encoded = [row.ids for row in tokenizer.encode(texts, max_length=64)]
    assert [row[kept == 1].tolist() for row, kept in zip(ids, mask, strict=True)] == encoded
    layer = Detokenize(tokenizer)
    written = layer(np.where(mask == 1, ids, -1)).numpy()
    assert [text.decode() for text in written] == tokenizer.decode(encoded)
    begin = time.process_time()
    assert keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer)).graph is layer.graph
    assert time.process_time() - begin < 1


@pytest.mark.integration(quick=["tensor"])
@pytest.mark.parametrize(
    "texts",
    [
        TWO, tuple(TWO), np.array(TWO), np.array(TWO, object), tf.constant(TWO), np.array(TWO)[:, None],
        [TWO[0].encode(), TWO[1]],
    ],
    ids=["list", "tuple", "array", "objects", "tensor", "a column", "bytes"],
)  # fmt: skip
def test_strings_in_any_form(tokenizer, texts):
    rows = Tokenize(tokenizer)(texts)
    assert list(rows) == [*INPUTS] and {column.dtype for column in rows.values()} == {tf.int32}
    assert as_lists(rows) == {name: library_rows(tokenizer, TWO)[name] for name in INPUTS}


def test_one_string_is_a_row_and_no_strings_are_none(tokenizer):
    layer = Tokenize(tokenizer, outputs=[*INPUTS, "truncated"])
    assert as_lists(layer("a dog")) == {name: column[0] for name, column in library_rows(tokenizer, ["a dog"]).items()}
    assert layer([])["token_ids"].shape == (0, 1)


def test_all_rows_may_have_one_length(tokenizer):
    rows = Tokenize(tokenizer, max_length=20, pad_to_max_length=True, pad_id=7, outputs=("token_ids", "padding_mask"))(
        TWO
    )
    ids, mask = rows["token_ids"].numpy(), rows["padding_mask"].numpy()
    assert list(rows) == ["token_ids", "padding_mask"] and ids.shape == mask.shape == (2, 20)
    assert [row[kept == 1].tolist() for row, kept in zip(ids, mask, strict=True)] == [
        r.ids for r in tokenizer.encode(TWO)
    ]
    assert (ids[mask == 0] == 7).all()


@pytest.mark.integration
@pytest.mark.parametrize("is_batch", [True, False], ids=["batches", "texts"])
def test_in_a_data_set(tokenizer, is_batch):
    """Traced there, by several threads, without any variable; with static shapes where there may be."""
    layer = Tokenize(tokenizer, max_length=8, pad_to_max_length=True)
    dataset = tf.data.Dataset.from_tensor_slices(TWO)
    dataset = dataset.batch(2, drop_remainder=True).map(layer, 2) if is_batch else dataset.map(layer, 2).batch(2)
    spec = dataset.element_spec["token_ids"]
    assert spec.shape.as_list() == [2 if is_batch else None, 8] and spec.dtype == tf.int32
    assert as_lists(next(iter(dataset))) == as_lists(layer(TWO))
    assert layer.variables == [] and not layer.supports_jit


@pytest.mark.integration
def test_in_a_functional_model(text_model):
    texts = tf.constant(TWO)
    logits = text_model.predict(texts, verbose=0)
    alone = [text_model(text[None]).numpy()[0] for text in texts]
    np.testing.assert_allclose(logits, alone, atol=1e-5)  # padding changes nothing


@pytest.mark.integration(quick=["options0", "options2", "options3"])
@pytest.mark.parametrize("options", [
    {}, {"pairs": True, "max_length": 6, "pad_to_max_length": True}, {"outputs": "truncated"},
    {"outputs": ["truncated", "token_ids"]},
])  # fmt: skip
def test_symbolic_outputs_are_as_real_ones(tokenizer, options):
    layer = Tokenize(tokenizer, **options)
    columns = keras.Input((1,), dtype="string"), tf.constant(TWO)[:, None]
    symbols, rows = (layer((column, column) if layer.pairs else column) for column in columns)
    keras.tree.assert_same_structure(symbols, rows)
    for symbol, row in zip(keras.tree.flatten(symbols), keras.tree.flatten(rows), strict=True):
        assert symbol.dtype == row.dtype.name and len(symbol.shape) == len(row.shape)
        assert all(size in (None, real) for size, real in zip(symbol.shape, row.shape, strict=True))
        assert symbol.shape[1:] == ((6,) if layer.pad_to_max_length else (None,) * (len(row.shape) - 1))


@pytest.mark.integration
def test_it_learns_from_strings_in_a_sequential_model(tokenizer):
    keras.utils.set_random_seed(0)
    layers = [
        Tokenize(tokenizer, outputs="token_ids"), TokenEmbedding(tokenizer.vocabulary_size, 8, mask_zero=True),
        EncoderBlock(num_heads=2, intermediate_dim=8), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1),
    ]  # fmt: skip
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    texts, labels = tf.constant(TWO), np.array([0.0, 1.0])
    assert min(model.fit(texts, labels, epochs=40, verbose=0).history["loss"]) < 0.01
    assert model.inputs[0].dtype == "string"
    np.testing.assert_allclose(model.predict(texts, verbose=0)[1:], model.predict(texts[1:], verbose=0), atol=1e-5)


@pytest.mark.parametrize("copied", [
    keras.models.clone_model, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)),
    lambda model: keras.models.model_from_json(model.to_json()),
], ids=["clone", "deep copy", "pickle", "JSON"])  # fmt: skip
def test_copies_share_the_tokenizer(text_model, copied):
    """Nothing is parsed or compiled again."""
    layer = copied(text_model).layers[1]
    assert layer.tokenizer is text_model.layers[1].tokenizer and layer.graph is text_model.layers[1].graph
    assert layer.get_config() == text_model.layers[1].get_config()


@pytest.mark.integration(quick=["options2"])
@pytest.mark.parametrize("options", [
    {}, {"max_length": np.int64(9), "pairs": True, "pad_to_max_length": True, "outputs": ["truncated"], "pad_id": 5},
    {"outputs": "padding_mask", "name": "text", "dtype": "mixed_bfloat16"},
])  # fmt: skip
def test_the_configuration_makes_the_same_layer(tokenizer, options):
    layer = Tokenize(tokenizer, **options)
    config = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(config)
    assert keras.saving.serialize_keras_object(again) == config
    inputs = (TWO, TWO) if layer.pairs else TWO
    keras.tree.map_structure(np.testing.assert_array_equal, layer(inputs), again(inputs))


LOAD = """
import json, sys
from keras_transformers import EncoderBlock, Tokenize, TokenEmbedding
import keras
import tensorflow as tf
model = keras.models.load_model(sys.argv[2])
print(json.dumps(model.predict(tf.constant(json.loads(sys.argv[3])), verbose=0).tolist()))
"""


@pytest.mark.integration
def test_a_file_holds_the_tokenizer(text_model, tmp_path):
    """Which another process has nothing else of; and in this one, once all of it is forgotten."""
    path = tmp_path / "model.keras"
    text_model.save(path)
    expected = text_model.predict(tf.constant(TWO), verbose=0)
    answer = json.loads(processes.run(LOAD, str(path), json.dumps(TWO)).splitlines()[-1])
    np.testing.assert_allclose(answer, expected, atol=1e-5)
    TOKENIZERS.clear()
    loaded = keras.models.load_model(path)
    assert loaded.layers[1].tokenizer is not text_model.layers[1].tokenizer
    np.testing.assert_allclose(loaded.predict(tf.constant(TWO), verbose=0), expected, atol=1e-6)


@pytest.mark.integration
def test_in_mixed_precision(tokenizer, text_model, tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = keras.models.clone_model(text_model)
        layer = Tokenize(tokenizer)
    finally:
        keras.config.set_dtype_policy("float32")
    assert as_lists(layer(TWO)) == {name: library_rows(tokenizer, TWO)[name] for name in INPUTS}
    model.compile("sgd", "mse")
    model.fit(tf.constant(TWO), np.zeros((2, 2)), verbose=0)


@pytest.mark.slow
def test_text_in_and_out_of_a_bare_process(tokenizer, tmp_path):
    """Keras' own export: text to ids, a model that writes each token again, ids to text."""
    text = keras.Input((), dtype="string", name="text")
    ids = Tokenize(tokenizer)(text)["token_ids"]
    size = tokenizer.vocabulary_size
    logits = keras.layers.Dense(size, kernel_initializer="identity", use_bias=False)(keras.ops.one_hot(ids, size))
    written = Detokenize(tokenizer)(keras.ops.argmax(logits, axis=-1))
    model = keras.Model(text, {"written": written, "logits": logits})
    model.export(tmp_path / "1", verbose=False)
    answer = bare.ask(tmp_path / "1", {"serving_default": {"text": TWO}})["serving_default"]
    assert answer["written"] == ["the cat danced", "a dog"]
    assert model.predict(tf.constant(TWO), verbose=0)["written"].tolist() == [b"the cat danced", b"a dog"]


def test_texts_are_those_of_the_library(tokenizer):
    rows = library_rows(tokenizer, TEXTS)["token_ids"]
    expected = tokenizer.decode(rows)
    for ids in (rows, np.array(rows, np.int64), tf.constant(rows)):
        assert [text.decode() for text in Detokenize(tokenizer)(ids).numpy()] == expected
    assert Detokenize(tokenizer)(np.full((2, 3), -1)).numpy().tolist() == [b"", b""]
    for other in (tokenizer, Tokenizer.train(CORPUS, model="words")):  # with the ids 0 and 1 for padding
        assert Detokenize(other).graph is Tokenize(other).graph
    model = keras.Sequential([Detokenize(tokenizer)])
    assert model(tf.constant(rows))[0].numpy().decode() == expected[0] and model.inputs[0].dtype == "int32"


@pytest.mark.integration
def test_what_is_dropped_is_freed():
    def make() -> list[weakref.ref]:
        tokenizer = Tokenizer.train(["one two"], vocabulary_size=40)
        text = keras.Input((), dtype="string")
        model = keras.Model(text, Detokenize(tokenizer)(Tokenize(tokenizer, outputs="token_ids")(text)))
        model.predict(tf.constant(["one"]), verbose=0)
        keras.models.clone_model(model)
        return [weakref.ref(tokenizer), weakref.ref(model.layers[1].graph)]

    references = make()
    for _ in range(3):
        gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize(("options", "message"), [
    ({"max_length": 2}, "leaves no room for text beside 2 special tokens"),
    ({"max_length": 3, "pairs": True}, "beside 3 special tokens"),
    ({"max_length": 2.5}, "max_length must be a positive integer, or None for no limit: received 2.5"),
    ({"max_length": True}, "received True"), ({"pad_to_max_length": True}, "needs a max_length: received None"),
    ({"pad_id": -1}, "pad_id must be the id of a token"), ({"outputs": []}, r"outputs must be one of .*received \[\]"),
    ({"outputs": "ids"}, "received 'ids'"), ({"outputs": ["token_ids", 1]}, "outputs must be one of"),
])  # fmt: skip
def test_options_that_are_refused(tokenizer, options, message):
    with pytest.raises(ValueError, match=message):
        Tokenize(tokenizer, **options)


@pytest.mark.parametrize("layer", [Tokenize, Detokenize])
def test_tokenizers_that_are_refused(tokenizer, layer):
    for wrong in ("bert", None, tokenizer._library):
        with pytest.raises(ValueError, match=r"takes a keras_transformers\.Tokenizer: received a .*from_folder"):
            layer(wrong)
    with pytest.raises(ValueError, match=r"Expected the content of a tokenizer\.json, a str: received 5"):
        layer.from_config({"tokenizer": 5})
    with pytest.raises(ValueError, match=r"is not a tokenizer\.json that `tokenizers` can read"):
        layer.from_config({"tokenizer": "{}"})


def test_a_tokenizer_without_padding_needs_an_id():
    tokenizer = Tokenizer.train(["abc"], model="character")
    with pytest.raises(ValueError, match="no token for padding: pass pad_id"):
        Tokenize(tokenizer)
    assert Tokenize(tokenizer, pad_id=0, outputs="token_ids")(["ab", "c"]).numpy().tolist() == [[0, 1], [2, 0]]
    assert Detokenize(tokenizer)([[0, 1]]).numpy().tolist() == [b"ab"]


@pytest.mark.parametrize(("inputs", "message"), [
    ([1, 2], "expected strings, as a tensor, an array or a list of str: received"), (np.ones(2), "expected strings"),
    (None, "expected strings"), ((["a"], ["b"]), r"Rows of two texts need Tokenize\(pairs=True\)"),
    (["a", "\ud800"], "the text at row 1 has the lone surrogate"), (tf.constant([1]), "received a tensor of int32"),
    (keras.Input((None,), dtype="int32"), 'keras.Input.*dtype="string"'),
    (keras.Input((3,), dtype="string"), r"expected one string a row, .*: received the shape \(None, 3\)"),
    (tf.constant([["a", "b"]]), r"received the shape \(1, 2\)"),
])  # fmt: skip
def test_inputs_that_are_refused(tokenizer, inputs, message):
    with pytest.raises(ValueError, match=message):
        Tokenize(tokenizer)(inputs)


@pytest.mark.parametrize(("inputs", "message"), [
    (["a"], "takes a tuple of two"), (tf.constant(["a", "b"]), "takes a tuple of two"),
    ((["a"], ["b", "c"]), r"one second text for each first: received shapes \(1,\), \(2,\)"), ((["a"], [1]), "strings"),
    (keras.Input((), dtype="string"), r"Pass tokenize\(\(texts, pairs\)\)"),
])  # fmt: skip
def test_pairs_that_are_refused(tokenizer, inputs, message):
    with pytest.raises(ValueError, match=message):
        Tokenize(tokenizer, pairs=True)(inputs)


@pytest.mark.integration
def test_pairs_of_unknown_number_are_counted_when_they_come(tokenizer):
    layer = Tokenize(tokenizer, pairs=True, outputs="token_ids")
    run = tf.function(lambda *pair: layer(pair), input_signature=[tf.TensorSpec([None], tf.string)] * 2)
    assert run(tf.constant(TWO), tf.constant(TWO)).shape[0] == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="second of the pairs must have one row for each first"):
        run(tf.constant(["a"]), tf.constant(TWO))


@pytest.mark.parametrize("ids", [[1, 2], np.ones((1, 2)), keras.Input((2, 2), dtype="int32"), [[True]]], ids=str)
def test_ids_that_are_refused(tokenizer, ids):
    with pytest.raises(ValueError, match=r"Detokenize takes integers \(batch, length\): received"):
        Detokenize(tokenizer)(ids)


ON_JAX = """
import keras_transformers
for name in ("Tokenize", "Detokenize"):
    try:
        getattr(keras_transformers, name)(None)
    except ValueError as error:
        print(error)
"""


def test_ids_that_int32_cannot_hold_are_left_out(tokenizer):
    ids = np.array([[5, 2**32 + 5, -1, 2**31, 5]])
    expected = Detokenize(tokenizer)([[5, 5]])
    assert Detokenize(tokenizer)(ids).numpy().tolist() == expected.numpy().tolist()
    for ids in (None, [[1], [1, 2]]):
        with pytest.raises(ValueError, match=r"Detokenize takes integers \(batch, length\): received"):
            Detokenize(tokenizer)(ids)


@pytest.mark.parametrize("pairs", [[("a", "b"), ("c", "d")], [("a", "b")] * 3, ["a"], "ab"], ids=str)
def test_rows_of_pairs_are_no_columns(tokenizer, pairs):
    with pytest.raises(ValueError, match=r"Tokenize\(pairs=True\) takes a tuple of two"):
        Tokenize(tokenizer, pairs=True)(pairs)


@pytest.mark.slow
def test_on_jax_it_says_what_to_do():
    for line in processes.run_on_jax(ON_JAX).splitlines():
        assert "received the backend 'jax'. Encode texts outside of the model, with Tokenizer.encode" in line
