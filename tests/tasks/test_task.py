from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny import EAGER, FIT, LABELS, NUMBERS, TEXTS

import zoo
from keras_transformers.tasks import Task
from keras_transformers.training.freeze import freeze

OPTIONAL = ("hidden_states", "all_hidden_states", "attention_scores")


@pytest.mark.integration
def test_a_task_says_what_it_is():
    task = tiny.classifier(max_length=12)
    parameters = f"{task.model.count_params():,}"
    expected = (
        f"Task('classification', bert of 1 layers x 16, {parameters} parameters, labels ['bad', 'good'], max_length 12)"
    )
    assert repr(task) == expected
    assert "labels" not in repr(tiny.masked_lm())
    assert repr(task.tokenizer) == f"Tokenizer(WordPiece, {task.tokenizer.vocabulary_size} tokens)"
    assert len(repr(tiny.classifier(labels=[str(number) for number in range(1000)]))) < 600


@pytest.mark.parametrize("max_length", [3, 17])
def test_max_length_must_be_the_models(max_length):
    with pytest.raises(ValueError, match=r"\[4, 16\]"):
        tiny.classifier(max_length=max_length)


def test_tokenizer_and_model_must_belong_together():
    with pytest.raises(ValueError, match="do not belong together"):
        Task("classification", tiny.config().replace(vocabulary_size=20), tiny.tokenizer(), labels=2)


def test_unknown_output():
    with pytest.raises(ValueError, match="pooled"):
        tiny.classifier(outputs=["pooled"])


@pytest.mark.parametrize("make", [tiny.classifier, tiny.masked_lm, tiny.pretraining])
def test_dataset_gives_exactly_the_models_inputs(make):
    task = make()
    texts = tiny.DOCUMENTS if task.name == "pretraining" else TEXTS
    inputs = task.dataset(texts).element_spec[0]
    assert set(inputs) == set(task.model.input)
    assert all(spec.dtype == tf.int32 for spec in inputs.values())


@pytest.mark.integration
def test_a_model_without_segments_gets_none():
    task = Task("classification", tiny.config(num_segments=0), tiny.tokenizer(), labels=2)
    stream = tf.data.Dataset.from_tensor_slices((list(TEXTS), NUMBERS))
    for dataset in (task.dataset(TEXTS, NUMBERS), task.dataset(stream)):
        assert set(dataset.element_spec[0]) == {"token_ids", "padding_mask"}
    assert task.evaluate(TEXTS, NUMBERS) == pytest.approx(task.evaluate(stream), abs=1e-6)
    assert len(task.predict(TEXTS[:2])) == 2


@pytest.mark.parametrize(
    "texts, options, message",
    [
        ("one text", {}, "received one str"),
        ([], {}, "empty data set"),
        (TEXTS, {"pairs": ["one"]}, "24 texts and 1 pairs"),
        (TEXTS, {"labels": None}, "needs labels"),
        (TEXTS, {"schedule": "step"}, "'step'"),
        (TEXTS, {"warmup": 1.0}, "warmup"),
        (TEXTS, {"batch_size": 0}, "batch_size"),
        (tf.data.Dataset.from_tensor_slices(list(TEXTS)), {}, "number of steps"),
    ],
)
def test_fit_errors(trained, texts, options, message):
    with pytest.raises(ValueError, match=message):
        trained.fit(texts, **({"labels": NUMBERS[: len(texts)]} | options))


@pytest.mark.integration
def test_a_second_fit_goes_on():
    task = tiny.classifier()
    first = task.fit(TEXTS, LABELS, **FIT).history["loss"]
    second = task.fit(TEXTS, LABELS, **FIT).history["loss"]
    assert second[0] < 0.5 * first[0]


@pytest.mark.integration
def test_the_same_seed_gives_the_same_result():
    def run(seed):
        task = tiny.classifier(dropout=0.3)
        task.fit(TEXTS, LABELS, seed=seed, **(FIT | EAGER | {"epochs": 2}))
        return tiny.weights(task)

    first, second, other = run(1), run(1), run(2)
    assert all(map(np.array_equal, first, second))
    assert not all(map(np.array_equal, first, other))


@pytest.mark.integration
@pytest.mark.parametrize("make", [tiny.classifier, tiny.pretraining])
def test_optional_outputs_do_not_change_training(make):
    plain, task = make(), make(outputs=OPTIONAL)
    assert set(task.model.output) == {*plain.model.output, *OPTIONAL}
    texts = tiny.DOCUMENTS if task.name == "pretraining" else TEXTS
    labels = None if task.name == "pretraining" else NUMBERS
    histories = [t.model.fit(t.dataset(texts, labels), verbose=0).history for t in (plain, task)]
    assert histories[1]["loss"] == pytest.approx(histories[0]["loss"], rel=1e-5)
    results, more = plain.evaluate(texts, labels), task.evaluate(texts, labels)
    assert {name.removeprefix("logits_"): value for name, value in more.items()} == pytest.approx(results, rel=1e-5)
    assert all(map(np.array_equal, tiny.weights(plain), tiny.weights(task)))


@pytest.mark.integration
def test_freeze():
    task = tiny.classifier()
    freeze(task.model, "token_embedding/*")
    before = tiny.weights(task)
    task.fit(TEXTS, LABELS, **(FIT | {"epochs": 2}))
    changed = {v.path for v, old in zip(task.model.weights, before, strict=True) if not np.array_equal(v, old)}
    assert "classifier/kernel" in changed
    assert not any(path.startswith("token_embedding") for path in changed)


@pytest.mark.integration
def test_accumulation_is_one_large_batch():
    def run(**settings):
        task = tiny.classifier()
        task.fit(TEXTS, LABELS, epochs=2, learning_rate=1e-3, verbose=0, **EAGER, **settings)
        return tiny.weights(task)

    for one, accumulated in zip(run(batch_size=24), run(batch_size=8, accumulation_steps=3), strict=True):
        np.testing.assert_allclose(one, accumulated, atol=1e-5)


@pytest.mark.integration
def test_options_of_the_optimizer_by_their_names():
    task = tiny.classifier()
    task.fit(TEXTS, LABELS, beta_2=0.9, clip_norm=None, optimizer_options={"epsilon": 1e-8}, **{**FIT, "epochs": 1})
    optimizer = task.model.optimizer
    assert (optimizer.beta_2, optimizer.epsilon, optimizer.clip_norm) == (0.9, 1e-8, None)


@pytest.mark.integration
def test_fit_ends_with_averaged_weights():
    task = tiny.classifier()
    task.fit(TEXTS, LABELS, ema_momentum=0.9, **FIT)
    averages = task.model.optimizer._model_variables_moving_average
    for variable, average in zip(task.model.trainable_variables, averages, strict=True):
        np.testing.assert_allclose(variable, average, atol=1e-6)
    assert task.evaluate(TEXTS, LABELS)["accuracy"] > 0.9


@pytest.mark.integration
def test_early_stopping_and_the_best_checkpoint(tmp_path):
    task, file = tiny.classifier(), tmp_path / "best.weights.h5"
    stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2)
    best = keras.callbacks.ModelCheckpoint(
        file, monitor="val_cross_entropy", save_best_only=True, save_weights_only=True
    )
    options = FIT | {"epochs": 40, "schedule": "constant", "validation_data": (TEXTS, LABELS)}
    history = task.fit(TEXTS, LABELS, callbacks=[stop, best], **options).history
    assert max(history["val_accuracy"]) == 1.0 and len(history["loss"]) < 40
    task.model.load_weights(file)
    assert task.evaluate(TEXTS, LABELS)["cross_entropy"] == pytest.approx(min(history["val_cross_entropy"]), rel=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_the_step_of_fit_is_traced_once(dtype):
    task, traces = tiny.classifier(dtype=dtype), []
    step = task.model.train_step
    task.model.train_step = lambda data: traces.append(data) or step(data)
    task.fit(TEXTS, LABELS, **FIT)
    assert len(traces) == 1


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(dtype):
    task = tiny.classifier(dtype=dtype)
    assert {variable.dtype for variable in task.model.trainable_variables} == {"float32"}
    assert task.model.output["logits"].dtype == dtype.removeprefix("mixed_")
    history = task.fit(TEXTS, LABELS, **FIT).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    assert sum(task.predict(TEXTS[:1])[0]["probabilities"].values()) == pytest.approx(1, abs=1e-6)
    assert (dtype == "mixed_float16") == isinstance(task.model.optimizer, keras.optimizers.LossScaleOptimizer)


@pytest.mark.integration
def test_a_stream_of_texts():
    task = tiny.classifier()
    stream = tf.data.Dataset.from_tensor_slices((list(TEXTS), NUMBERS))
    assert task.evaluate(stream) == pytest.approx(task.evaluate(TEXTS, NUMBERS), abs=1e-6)
    keras.utils.set_random_seed(0)
    task.compile(keras.optimizers.AdamW(1e-2))
    history = task.model.fit(task.dataset(stream, batch_size=8), epochs=8, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    with pytest.raises(ValueError, match="zip them"):
        task.dataset(stream, NUMBERS)


@pytest.mark.integration
def test_a_stream_of_texts_and_names_of_labels():
    """A second string is the label where the task has labels, and a pair where it has none."""
    task = tiny.classifier()
    expected = task.evaluate(TEXTS, LABELS)
    named = tf.data.Dataset.from_tensor_slices((list(TEXTS), list(LABELS)))
    assert task.evaluate(named) == pytest.approx(expected, abs=1e-6)
    pairs = named.map(lambda text, name: (text, "", name))
    assert task.evaluate(pairs) == pytest.approx(task.evaluate(TEXTS, LABELS, pairs=[""] * len(TEXTS)), abs=1e-6)
    unknown = tf.data.Dataset.from_tensor_slices((["a", "b"], ["good", "nice"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown label 'nice'"):
        list(task.dataset(unknown))
    with pytest.raises(ValueError, match=r"unknown label 'nice'.*\(text, string\) .* label"):
        task.dataset(unknown.skip(1))
    several = tiny.classifier(["a", "b", "c"], problem="multi_label")
    with pytest.raises(ValueError, match="expected a list of labels for each text, received the str 'bad'"):
        several.dataset(named)
    names = tf.data.Dataset.from_tensor_slices((["x", "y"], [["a", "b"], ["c", "a"]]))
    assert tiny.outputs(several, several.dataset(names, shuffle=False))[1].numpy().tolist() == [[1, 1, 0], [1, 0, 1]]


@pytest.mark.integration(quick=["list"])
@pytest.mark.parametrize("as_source", [list, tf.data.Dataset.from_tensor_slices], ids=["list", "stream"])
def test_texts_that_are_cut_are_counted_once(as_source):
    texts = ["film " * 14, "film " * 15, "film " * 30]  # between [CLS] and [SEP], 14 fit
    task = tiny.masked_lm()
    with pytest.warns(UserWarning, match="were cut") as caught:
        rows = sum(len(inputs["token_ids"]) for inputs, *_ in task.dataset(as_source(texts)))
    assert rows == 3
    told = {str(warning.message) for warning in caught}
    assert told == {"2 of 3 texts were cut to max_length=16 tokens."}


@pytest.mark.integration
def test_fit_tells_how_many_texts_it_cuts():
    task = tiny.classifier()
    with pytest.warns(UserWarning) as caught:
        task.fit(["film " * 20, "a fine film"], ["bad", "good"], epochs=2, verbose=0)
    assert [str(warning.message) for warning in caught] == ["1 of 2 texts were cut to max_length=16 tokens."]


@pytest.mark.integration
def test_an_interrupted_save_leaves_the_old_folder(trained, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    trained.save(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = zoo.load(folder)
    assert (again.name, again.labels, again.problem) == (trained.name, trained.labels, trained.problem)
    assert again.predict(TEXTS[:3]) == trained.predict(TEXTS[:3])
    monkeypatch.setattr(type(again.tokenizer), "save", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        again.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_within_the_service_is_not_hidden(monkeypatch):
    """As `Task` has attributes of its own, Python would else say that the task has no `service`."""
    task = tiny.classifier()

    def fail():
        raise AttributeError("a fault of ours")

    monkeypatch.setattr(task.parts.answers, "make_service", fail)
    with pytest.raises(AttributeError, match="a fault of ours"):
        _ = task.service
    with pytest.raises(AttributeError, match="no attribute 'stream'"):
        _ = task.stream


@pytest.mark.parametrize("length", [16.0, "16", True, 3, 10**6, float("nan")])
def test_a_length_that_is_none(length):
    with pytest.raises(ValueError, match=r"max_length must be in \[4, .*and whole: received "):
        tiny.classifier(max_length=length)


def test_a_length_of_numpy_is_saved(tmp_path):
    task = tiny.classifier(max_length=np.int64(9))
    task.save(tmp_path / "model")
    assert (type(task.max_length), zoo.load(tmp_path / "model").max_length) == (int, 9)


@pytest.mark.integration
def test_copies_and_pickles_are_refused_with_the_way_to_go():
    for make_copy in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"write it with save\(folder\), read it with zoo\.load"):
            make_copy(tiny.classifier())


@pytest.mark.integration
def test_rows_without_labels_keep_their_order():
    task = tiny.classifier()
    scores = task.model.predict(task.dataset(TEXTS, batch_size=4), verbose=0)["logits"]
    answers = [answer["label"] for answer in task.predict(TEXTS)]
    assert [task.labels[row.argmax()] for row in scores] == answers
    shuffled = task.model.predict(task.dataset(TEXTS, batch_size=4, shuffle=True), verbose=0)["logits"]
    assert np.abs(shuffled - scores).max() > 1e-3


FORKED = """
import os
import tiny

task = tiny.classifier()
task.predict(["a fine film"])
calls = {
    "predict": lambda: task.predict(["a"]), "fit": lambda: task.fit(["a", "b"], ["good", "bad"]),
    "evaluate": lambda: task.evaluate(["a"], ["good"]), "save": lambda: task.save("saved"),
    "export": lambda: task.export("exported"), "compile": lambda: task.compile(),
}
for name, call in calls.items():
    if (child := os.fork()) == 0:
        try:
            call()
        except ValueError as error:
            os._exit(0 if "load the task in each process after the fork" in str(error) else 2)
        os._exit(1)
    print(name, os.waitpid(child, 0)[1])
"""


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_says_why_it_does_not_answer(tmp_path):
    """It would hang for ever."""
    folders = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", FORKED]
    options = {"env": {**os.environ, "PYTHONPATH": folders}, "cwd": tmp_path, "timeout": 300, "text": True}
    done = subprocess.run(command, capture_output=True, **options)
    lines = done.stdout.split("\n")[:-1]
    assert lines == [f"{name} 0" for name in ("predict", "fit", "evaluate", "save", "export", "compile")], done.stderr


@pytest.mark.integration
def test_a_model_of_one_segment_takes_pairs():
    task = Task("classification", tiny.config(num_segments=1), tiny.tokenizer(), labels=["a", "b"])
    task.fit(["a fine film"] * 2, ["a", "b"], pairs=["a dull film"] * 2, epochs=1, verbose=0)
    assert task.predict(["a fine film"], ["a dull film"])[0]["label"] in task.labels


def test_names_of_a_task_are_those_that_it_has():
    task = tiny.classifier()
    assert {"predict", "export", "labels", "fit"} <= set(dir(task))
    assert not {"generate", "stream", "generation"} & set(dir(task))
    assert not any(hasattr(task, name) for name in ("generate", "stream", "generation"))
    with pytest.raises(AttributeError, match="no attribute 'generation'"):
        task.generation = {"seed": 1}
