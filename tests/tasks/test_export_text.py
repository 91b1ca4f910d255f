"""A model of one's own as a SavedModel that takes text: what a task's export is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bare
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformers.layers import EncoderBlock, LearnedPositions, TokenEmbedding
from keras_transformers.tasks.export_text import _check_scale, export_text
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.lora import add_lora

COLUMNS = ("token_ids", "segment_ids", "padding_mask")
TEXTS = ["a fine film", "", "a dull day " * 9, "typed [MASK] and [SEP]", b"\xff film \xc3", "x" * 1000, "song 😀 中文"]


def own_model(*names: str, length: int | None = None, head: Any = None) -> keras.Model:
    """Of these columns: embeddings, a block, the mean of tokens, and a head that gives two logits if none is given."""
    keras.utils.set_random_seed(0)
    inputs = {name: keras.Input((length,), dtype="int32", name=name) for name in names or COLUMNS}
    mask = inputs.get("padding_mask")
    embedding = TokenEmbedding(tiny.tokenizer().vocabulary_size, 8, num_segments=2, initializer_range=1.0)
    states = embedding(inputs["token_ids"], segment_ids=inputs.get("segment_ids"))
    states = LearnedPositions(16)(states)
    states = EncoderBlock(num_heads=2, intermediate_dim=8)(states, padding_mask=mask)
    pooled = keras.layers.GlobalAveragePooling1D()(states, mask=mask)
    return keras.Model(inputs, (head or keras.layers.Dense(2, name="logits"))(pooled))


def signatures(folder: Path) -> Any:
    return tf.saved_model.load(str(folder)).signatures


def ask(folder: Path, texts: list, pairs: list | None = None) -> dict[str, np.ndarray]:
    """What an export answers."""
    request = {"text": texts} | ({} if pairs is None else {"text_pair": pairs})
    signature = signatures(folder)["serving_default" if pairs is None else "pair"]
    return {n: value.numpy() for n, value in signature(**{k: tf.constant(v) for k, v in request.items()}).items()}


def by_hand(model: keras.Model, texts: list, pairs: list | None = None, width: int | None = None) -> np.ndarray:
    """What a model gives for the rows of the `tokenizers` library, one by one: padding changes nothing."""
    texts, pairs = (
        [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in c or ()] for c in (texts, pairs)
    )
    answers = []
    for row in tiny.tokenizer().encode(texts, pairs or None, max_length=width or 16):
        padding = [0] * ((width or len(row.ids)) - len(row.ids))
        columns = zip(COLUMNS, (row.ids, row.segment_ids, [1] * len(row.ids)), strict=True)
        answers.append(model({n: np.array([[*values, *padding]]) for n, values in columns if n in model.input}))
    return np.concatenate(answers)


@pytest.mark.integration
@pytest.mark.parametrize("pairs", [None, TEXTS[::-1]], ids=["text", "pair"])
def test_it_answers_as_the_model_does(pairs, tmp_path):
    model = own_model()
    export_text(model, tiny.tokenizer(), tmp_path / "1", labels=tiny.NAMES)
    assert sorted(signatures(tmp_path / "1")) == ["labels", "pair", "serving_default"]
    answer, logits = ask(tmp_path / "1", TEXTS, pairs), by_hand(model, TEXTS, pairs)
    assert answer.keys() == {"label", "probabilities", "truncated"}
    np.testing.assert_allclose(answer["probabilities"], tiny.softmax(logits), atol=1e-5)
    assert [label.decode() for label in answer["label"]] == [tiny.NAMES[number] for number in logits.argmax(-1)]
    texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in TEXTS]
    cut = tiny.tokenizer().encode(texts, pairs and texts[::-1], max_length=16)
    assert answer["truncated"].tolist() == [row.truncated for row in cut] and answer["truncated"].any()


@pytest.mark.integration
def test_the_model_of_a_task_is_exported_as_the_task_is(tmp_path):
    task = tiny.classifier()
    task.compile()
    export_text(task.model, task.tokenizer, tmp_path / "own", labels=tiny.NAMES, max_length=16)
    task.export(tmp_path / "task")
    assert {*signatures(tmp_path / "own"), "ids"} == {*signatures(tmp_path / "task")}
    for pairs in (None, TEXTS[::-1]):
        own, its = ask(tmp_path / "own", TEXTS, pairs), ask(tmp_path / "task", TEXTS, pairs)
        assert own.keys() == its.keys()
        for name, column in own.items():
            np.testing.assert_array_equal(column, its[name])
    files = [{str(p.relative_to(f)) for p in f.rglob("*")} for f in (tmp_path / "own", tmp_path / "task")]
    assert files[0] == files[1] and "assets.extra/tf_serving_warmup_requests" in files[0]
    sizes = [sum(p.stat().st_size for p in (tmp_path / f).rglob("variables*")) for f in ("own", "task")]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)  # no optimizer's


@pytest.mark.slow
def test_a_bare_process(tmp_path):
    """It has TensorFlow, and neither Keras nor tokenizers nor this package."""
    model, texts, pairs = own_model(), ["a fine film", "", "grey 中文 " * 9], ["a day", "a song", ""]
    export_text(model, tiny.tokenizer(), tmp_path / "1", labels=tiny.NAMES)
    answers = bare.ask(
        tmp_path / "1", {"serving_default": {"text": texts}, "pair": {"text": texts, "text_pair": pairs}}
    )
    for name, columns in {"serving_default": [texts], "pair": [texts, pairs]}.items():
        np.testing.assert_allclose(answers[name]["probabilities"], tiny.softmax(by_hand(model, *columns)), atol=1e-5)
        assert answers[name]["truncated"] == [False, False, True]


@pytest.mark.integration
def test_outputs_as_they_are(tmp_path):
    """Without labels: by name, without softmax, and several of them; and without `segment_ids` no pairs."""
    base = own_model("token_ids", "padding_mask")
    model = keras.Model(base.input, {"logits": base.output, "twice": base.output * 2})
    export_text(model, tiny.tokenizer(), tmp_path / "1")
    assert [*signatures(tmp_path / "1")] == ["serving_default"]
    answer, logits = ask(tmp_path / "1", TEXTS), by_hand(base, TEXTS)
    assert answer.keys() == {"logits", "twice", "truncated"}
    np.testing.assert_allclose(answer["logits"], logits, atol=1e-5)
    export_text(model, tiny.tokenizer(), tmp_path / "1", labels=2)  # replaces it
    assert ask(tmp_path / "1", TEXTS).keys() == {"label", "probabilities", "twice", "truncated"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("head", "options"),
    [
        (keras.layers.Dense(3, activation="softmax"), {"labels": ["a", "b", "c"], "from_logits": False}),
        (
            keras.layers.Dense(1, activation="sigmoid"),
            {"labels": ["a"], "problem": "multi_label", "from_logits": False},
        ),
        (keras.layers.Dense(3), {"labels": 3, "problem": "regression"}),
    ],
    ids=["softmax", "sigmoid", "numbers"],
)
def test_models_that_end_in_an_activation(head, options, tmp_path):
    model = own_model(head=head)
    export_text(model, tiny.tokenizer(), tmp_path / "1", **options)
    answer = ask(tmp_path / "1", TEXTS)
    name = "scores" if options.get("problem") == "regression" else "probabilities"
    np.testing.assert_allclose(answer[name], by_hand(model, TEXTS), atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("labels", [None, 2])
def test_half_precision_is_answered_in_float32(labels, tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = small(dtype="mixed_bfloat16")
    finally:
        keras.config.set_dtype_policy("float32")
    assert model.output.dtype == "bfloat16"
    export_text(model, tiny.tokenizer(), tmp_path / "1", labels=labels, max_length=8)
    answer = ask(tmp_path / "1", TEXTS)
    assert answer["probabilities" if labels else "logits"].dtype == np.float32


@pytest.mark.integration
def test_rows_of_a_fixed_length(tmp_path):
    model = own_model(length=12)
    export_text(model, tiny.tokenizer(), tmp_path / "1")
    np.testing.assert_allclose(ask(tmp_path / "1", TEXTS)["logits"], by_hand(model, TEXTS, width=12), atol=1e-5)
    export_text(model, tiny.tokenizer(), tmp_path / "1", max_length=4)
    assert ask(tmp_path / "1", ["a fine film"])["truncated"].tolist() == [True]


@pytest.mark.integration
def test_a_sequential_model_and_a_padding_of_its_own(tmp_path):
    tokenizer = tiny.byte_tokenizer()
    layers = [keras.Input((None,), name="words"), keras.layers.Embedding(320, 4, name="states")]
    model = keras.Sequential(layers)
    export_text(model, tokenizer, tmp_path / "1", max_length=8, pad_id=7)
    answer = ask(tmp_path / "1", ["a fine film", "a"])
    ids = [row.ids for row in tokenizer.encode(["a fine film", "a"], max_length=8)]
    expected = model(np.array([row + [7] * (max(map(len, ids)) - len(row)) for row in ids]))
    np.testing.assert_allclose(answer["states"], expected, atol=1e-6)


@pytest.mark.integration
def test_tables_of_layers_are_kept(tmp_path):
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    rank = keras.layers.IntegerLookup(vocabulary=list(range(5, 40)), name="rank")
    model = keras.Model(ids, rank(ids))
    export_text(model, tiny.tokenizer(), tmp_path / "1", max_length=8)
    (row,) = tiny.tokenizer().encode(TEXTS[:1])
    assert ask(tmp_path / "1", TEXTS[:1])["rank"].tolist() == [
        [max(number - 4, 0) if number < 40 else 0 for number in row.ids]
    ]


@pytest.mark.integration
def test_adapters_are_merged(tmp_path):
    model = own_model()
    before = by_hand(model, TEXTS)
    add_lora(model, 2)
    for variable in model.trainable_variables:
        variable.assign(variable + 0.3)
    after = by_hand(model, TEXTS)
    assert np.abs(after - before).max() > 1e-2
    export_text(model, tiny.tokenizer(), tmp_path / "1")
    np.testing.assert_allclose(ask(tmp_path / "1", TEXTS)["logits"], after, atol=1e-4)
    stored = [name for name, _ in tf.train.list_variables(str(tmp_path / "1" / "variables" / "variables"))]
    assert sum(name.endswith("VARIABLE_VALUE") for name in stored) == len(own_model().variables)


def small(size: int = 80, **head: Any) -> keras.Model:
    """From token ids to the mean of embeddings, and a head."""
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    mean = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(size, 4)(ids))
    return keras.Model(ids, keras.layers.Dense(**{"units": 2, "name": "logits"} | head)(mean))


def two_outputs() -> keras.Model:
    model = small()
    return keras.Model(model.input, {"one": model.output, "label": model.output * 2, "logits": model.output})


def nested() -> keras.Model:
    model = small()
    return keras.Model(model.input, {"one": {"a": model.output, "b": model.output * 2}})


@pytest.mark.integration(quick=["small-options7-labels must be a list of names"])
@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (small, {}, "does not specify the maximum length of a text: pass max_length"),
        (small, {"max_length": 2}, "leaves no room for text beside 2 special tokens"),
        (small, {"max_length": "8"}, "max_length must be a positive integer"),
        (own_model, {"max_length": 17}, "max_length must be at most 16, the most tokens of the model: received 17"),
        (own_model, {"max_length": 3}, "beside 3 special tokens"),  # of pairs
        (small, {"max_length": 8, "labels": ["a", "b", "c"]}, r"3 labels need an output \(batch, 3\): .* \(None, 2\)"),
        (lambda: small(units=1), {"max_length": 8, "labels": 2}, "one sigmoid has one label: problem='multi_label'"),
        (small, {"max_length": 8, "labels": "ab"}, "labels must be a list of names"),
        (small, {"max_length": 8, "labels": ["a"]}, "a classifier needs at least two labels"),
        (small, {"max_length": 8, "problem": "regression"}, "problem='regression' needs labels"),
        (lambda: small(activation="softmax"), {"max_length": 8, "labels": 2}, "already.*from_logits=False"),
        (
            lambda: small(bias_initializer="ones"), {"max_length": 8, "labels": 2, "from_logits": False},
            "from_logits=False is for a model that gives probabilities: this one gives",
        ),
        (two_outputs, {"max_length": 8, "labels": 2, "from_logits": False}, "or that named 'probabilities'"),
        (lambda: small(size=10), {"max_length": 8}, "fails on the largest id of tokenizer and padding, 73"),
        (small, {"max_length": 8, "pad_id": 10**6}, "largest id of tokenizer and padding, 1000000"),
        (nested, {"max_length": 8}, "outputs must be a dict of tensors"),
        (
            lambda: small(activation="sigmoid"), {"max_length": 8, "labels": 2, "problem": "multi_label"},
            "ends in a sigmoid and gives probabilities already: pass from_logits=False",
        ),
        (small, {"max_length": 8, "pad_id": 0.5}, "pad_id must be the id of a token"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_is_written(make, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_text(make(), tiny.tokenizer(), tmp_path / "1", **options)
    assert [*tmp_path.iterdir()] == []


def test_numbers_that_may_be_logits_or_probabilities_are_taken_as_told():
    _check_scale(np.array([[0.5, 0.6]]), is_single=False, from_logits=True)
    _check_scale(np.array([[0.5, 0.6]]), is_single=False, from_logits=False)
    _check_scale(np.array([[0.5, 0.6]]), is_single=True, from_logits=True)
    _check_scale(np.array([[0.5, 0.5], [1.0, 0.0]]), is_single=True, from_logits=False)
    with pytest.raises(ValueError, match=r"this one gives, for example, \[0\.5, 0\.6\]"):
        _check_scale(np.array([[0.5, 0.6]]), is_single=True, from_logits=False)


@pytest.mark.integration
def test_names_that_would_stand_for_two_outputs(tmp_path):
    with pytest.raises(ValueError, match=r"names of the answer's: \['label'\]. Rename them"):
        export_text(two_outputs(), tiny.tokenizer(), tmp_path / "1", labels=2, max_length=8)


def test_other_refusals(tmp_path, monkeypatch):
    for wrong in (None, "bert", tiny.tokenizer()._library):
        with pytest.raises(ValueError, match=r"export_text takes a keras_transformers\.Tokenizer: received a"):
            export_text(small(), wrong, tmp_path / "1")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds no saved_model\.pb, so it is not replaced"):
        export_text(small(), tiny.tokenizer(), tmp_path)  # told before anything else
    with pytest.raises(ValueError, match="no token for padding: pass pad_id"):
        export_text(small(), Tokenizer.train(["abc"], model="character"), tmp_path / "1", max_length=8)
    monkeypatch.setattr("keras_transformers.tasks.answers.services.on_tensorflow", lambda: False)
    with pytest.raises(ValueError, match=r"Save the model with model\.save, and export it in a process with"):
        export_text(small(), tiny.tokenizer(), tmp_path / "1", max_length=8)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
