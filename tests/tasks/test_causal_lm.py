"""Generation from text to text: in process, as a stream, and exported."""

from __future__ import annotations

import bare
import numpy as np
import pytest
import tensorflow as tf
import tokenizers
from arrays import normal
from generating import CORPUS, causal_lm
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_transformers import families
from keras_transformers.generation.request import sampling_parameters_of
from keras_transformers.tasks import Task
from keras_transformers.tasks.exports import saved_model as export_module
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = ["the cat", "", "日本", "a wärm day, " * 20]
PARAMETERS_BY_ROW = {
    "max_new_tokens": [12, 5, 9, 20], "temperature": [0.0, 1.0, 0.7, 1.0], "top_k": [0, 7, 0, 20], "seed": [1, 2, 3, 4],
    "repetition_penalty": [1.3, 1.0, 1.0, 1.0], "min_new_tokens": [0, 3, 0, 20],
}  # fmt: skip


@pytest.fixture(scope="module")
def task():
    return causal_lm()


def whole_passes(task, prompt: list[int], tokens: int) -> str:
    """What the model writes, by a pass over all tokens for each new one."""
    ids = list(prompt)
    while len(ids) < len(prompt) + tokens:
        logits = task.model({"token_ids": np.array([ids]), "padding_mask": np.ones((1, len(ids)), "int32")})["logits"]
        ids.append(int(np.argmax(logits[0, -1])))
        if ids[-1] in task.config.eos_ids:
            break
    return task.tokenizer.decode(ids[len(prompt) :])


def ids_of(task, text: str) -> list[int]:
    return task.tokenizer.encode([text])[0].ids


def same(answer: dict, other: dict) -> None:
    """Equal, up to rounding of the scores."""
    answer, other = dict(answer), dict(other)
    np.testing.assert_allclose(answer.pop("score"), other.pop("score"), atol=1e-3)
    assert answer == other


@pytest.mark.integration
def test_greedy_texts(task):
    prompts = [ids_of(task, TEXTS[0]), list(task.config.eos_ids), ids_of(task, TEXTS[2])]
    expected = [whole_passes(task, prompt, 15) for prompt in prompts]
    assert task.generate(TEXTS[:3], max_new_tokens=15) == expected
    assert len(set("".join(expected))) > 7


@pytest.mark.integration
def test_a_long_prompt_keeps_its_end(task):
    *_, answer = task.predict(TEXTS, max_new_tokens=15)
    assert answer["truncated"] and answer["error"] == ""
    assert answer["generated_text"] == whole_passes(task, ids_of(task, TEXTS[-1])[-33:], 15)
    assert [row["truncated"] for row in task.predict(TEXTS, max_new_tokens=15)[:-1]] == [False] * 3


@pytest.mark.integration
def test_a_row_does_not_depend_on_its_neighbours(task):
    together = task.predict(TEXTS, stop=["ä", "th"], **PARAMETERS_BY_ROW, batch_size=3)
    for row, text in enumerate(TEXTS):
        own = {name: values[row] for name, values in PARAMETERS_BY_ROW.items()}
        same(together[row], *task.predict([text], stop=["ä", "th"], **own))


@pytest.mark.integration
def test_texts_of_like_length_are_answered_together(task, monkeypatch):
    batches, answer = [], task.service.answer
    monkeypatch.setattr(task.service, "answer", lambda texts, *rest: batches.append(texts) or answer(texts, *rest))
    rows = task.predict(["a b c", "a", "a b c d", "a b"], max_new_tokens=[1, 2, 3, 4], min_new_tokens=1, batch_size=2)
    assert batches == [["a b c d", "a b c"], ["a b", "a"]]
    assert all(row["num_tokens"] <= new for row, new in zip(rows, [1, 2, 3, 4], strict=True))
    same(rows[3], *task.predict(["a b"], max_new_tokens=4, min_new_tokens=1))


@pytest.mark.integration
def test_several_texts_of_a_prompt(task):
    rows = task.predict(TEXTS[:2], num_sequences=3, temperature=1.0, max_new_tokens=8)
    assert [len(row[name]) for row in rows for name in ("generated_text", "score", "num_tokens")] == [3] * 6
    assert len({text for row in rows for text in row["generated_text"]}) == 6
    assert [row["error"] for row in rows] == ["", ""]
    assert task.generate(TEXTS[:2], num_sequences=3, temperature=1.0, max_new_tokens=8) == [
        row["generated_text"] for row in rows
    ]


@pytest.mark.integration
def test_a_row_that_cannot_be_served(task):
    rows = task.predict(["a", "a", "a"], max_new_tokens=[5, 48, 5])
    assert [bool(row["error"]) for row in rows] == [False, True, False]
    assert "takes 48 tokens" in rows[1]["error"] and rows[1]["generated_text"] == "" and rows[1]["num_tokens"] == 0
    assert rows[0]["num_tokens"] == 5
    same(rows[0], rows[2])
    with pytest.raises(ValueError, match="text 1 cannot be answered: max_new_tokens"):
        task.generate(["a", "a"], max_new_tokens=[5, 48])
    with pytest.raises(ValueError, match="cannot be answered: max_new_tokens"):
        task.stream("a", max_new_tokens=48)
    assert task.predict([]) == []


@pytest.mark.parametrize(
    "options, message",
    [
        ({"warmth": 1}, "unknown options"), ({"num_beams": 2, "num_sequences": 3}, "2 beams give no 3 texts"),
        ({"num_sequences": 0}, "num_sequences.*at least 1"), ({"num_beams": 2.5}, "num_beams.*2.5"),
        ({"num_beams": 2, "seed": 1}, "unknown options.*seed is for samples"), ({"stop": "a"}, "list of str"),
        ({"token_bias": {99999: 1.0}}, "token_bias.*99999"), ({"token_bias": {-1: 1.0}}, "token_bias.*-1"),
        ({"token_bias": {1: float("nan")}}, "token_bias.*nan"),
    ],
)  # fmt: skip
def test_what_is_refused(task, options, message):
    with pytest.raises(ValueError, match=message):
        task.generate(["a"], **options)


def test_a_stream_brings_its_labels_along(task):
    with pytest.raises(ValueError, match="zip them with the texts"):
        task.dataset(tf.data.Dataset.from_tensors("a"), ["b"])


@pytest.mark.integration
def test_a_model_without_a_beginning():
    task = causal_lm(end_token=False)
    empty, other = task.predict(["", "a"], max_new_tokens=3)
    assert "prompt is empty" in empty["error"] and other["error"] == ""
    assert task.generate(["", "a"], max_new_tokens=3) == ["", other["generated_text"]]
    assert [*task.stream("", max_new_tokens=3)] == []


@pytest.mark.integration
def test_a_prompt_that_is_cut_is_told(task):
    with pytest.warns(UserWarning, match="1 of 2 texts were cut to max_length=48 tokens"):
        task.generate(["the cat " * 40, "a"], max_new_tokens=2)
    with pytest.warns(UserWarning, match="1 of 1 texts were cut to max_length=48 tokens"):
        [*task.stream("the cat " * 40, max_new_tokens=2)]


def stop_strings(text: str) -> list[str]:
    """Some that the text holds: within tokens and across them, of several bytes a character."""
    return [text[start : start + length] for start, length in [(0, 1), (3, 2), (5, 4), (9, 3)]]


@pytest.mark.integration
def test_a_text_ends_before_its_stop_string(task):
    options = {"temperature": 1.0, "seed": 3, "max_new_tokens": 40, "min_new_tokens": 40, "token_bias": legible(task)}
    (text,) = task.generate(["the cat"], **options)
    assert any(ord(letter) > 127 for letter in text) and "\ufffd" not in text[:12]
    for stop in stop_strings(text):
        assert task.generate(["the cat"], stop=["never", stop], **options) == [text[: text.index(stop)]]
    both = stop_strings(text)[1:3]
    assert task.generate(["the cat"], stop=both, **options) == [text[: text.index(both[0])]]
    tokens = task.predict(["the cat"], stop=both, **options)[0]["num_tokens"]
    assert tokens < 40


def legible(task) -> dict[int, float]:
    """Only tokens that are whole characters, or the letters of the corpus in pieces."""
    corpus = set("".join(CORPUS))
    spelled = [piece.decode("utf-8", "replace") for piece in task.tokenizer.token_bytes()]
    return {i: float("-inf") for i, piece in enumerate(spelled) if not piece or not set(piece) <= corpus}


@pytest.mark.integration
@pytest.mark.parametrize("stop", [[], ["at", "ä", "the cat"]], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_is_the_text(task, stop, seed):
    options = {"temperature": 1.0, "seed": seed, "max_new_tokens": 40, "stop": stop}
    pieces = list(task.stream("a", **options))
    assert "".join(pieces) == task.generate(["a"], **options)[0]
    assert len(pieces) > 5 or stop
    assert all(pieces)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:\\d+ of \\d+")
def test_beams(task):
    rows = task.predict(TEXTS, num_beams=3, num_sequences=2, max_new_tokens=10, length_penalty=0.5)
    greedy = task.predict(TEXTS, max_new_tokens=10)
    for row, other, text in zip(rows, greedy, TEXTS, strict=True):
        assert row["score"][0] >= max(row["score"][1], other["score"] / other["num_tokens"] ** 0.5 - 1e-4)
        same(row, *task.predict([text], num_beams=3, num_sequences=2, max_new_tokens=10, length_penalty=0.5))
    best = task.generate(TEXTS, num_beams=3, max_new_tokens=10, length_penalty=0.5)
    assert best == [row["generated_text"][0] for row in rows]
    stopped = task.generate(TEXTS, num_beams=3, max_new_tokens=10, stop=["a", "e"])
    assert not any(set(text) & {"a", "e"} for text in stopped)


@pytest.mark.integration
@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_after_the_weights_have_changed(tie_embeddings):
    task = causal_lm(tie_embeddings=tie_embeddings)
    before = task.generate(TEXTS[:3], max_new_tokens=10)
    name = "token_embedding" if tie_embeddings else "lm_head"
    (weight,) = task.model.get_layer(name).trainable_weights
    weight.assign(normal(*weight.shape, seed=9))
    after = task.generate(TEXTS[:3], max_new_tokens=10)
    assert after != before
    assert after[0] == whole_passes(task, ids_of(task, TEXTS[0]), 10)


@pytest.mark.integration
def test_half_precision():
    task = causal_lm("mixed_bfloat16")
    rows = task.predict(TEXTS, max_new_tokens=10)
    (alone,) = task.predict(TEXTS[2:3], max_new_tokens=10)
    assert alone["generated_text"] == rows[2]["generated_text"]
    prompt = ids_of(task, "the cat")
    new = ids_of(task, rows[0]["generated_text"])
    assert rows[0]["num_tokens"] == 10 and len(prompt) and len(new)


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving") / "1"
    task.export(folder, stop=["ä"], max_new_tokens=12, repetition_penalty=1.2)
    return folder


@pytest.fixture(scope="module")
def signatures(folder):
    return tf.saved_model.load(str(folder)).signatures


def parameters(values: dict, rows: int, num_beams: int = 1) -> dict[str, list]:
    """All parameters of a request: the ones given, the others neutral."""
    return {
        name: values.get(name, [knob.neutral] * rows) if rows else []
        for name, knob in sampling_parameters_of(num_beams).items()
    }


def ask(signature, texts, **inputs) -> list[dict]:
    """Rows of the answer, as `predict` has them."""
    specs = signature.structured_input_signature[1]
    columns = signature(**{k: tf.constant(v, specs[k].dtype) for k, v in {"text": texts, **inputs}.items()})
    columns = {name: column.numpy().tolist() for name, column in columns.items()}
    text = [[t.decode() for t in x] if isinstance(x, list) else x.decode() for x in columns["generated_text"]]
    columns |= {"generated_text": text, "error": [error.decode() for error in columns["error"]]}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.integration
def test_exported_is_in_process(task, signatures):
    assert sorted(signatures) == ["choose", "generate", "score", "serving_default"]
    assert sorted(signatures["serving_default"].structured_input_signature[1]) == ["text"]
    assert sorted(signatures["generate"].structured_input_signature[1]) == sorted(
        ["text", "stop", *sampling_parameters_of(1)]
    )
    expected = task.predict(TEXTS, stop=["ä"], max_new_tokens=12, repetition_penalty=1.2)
    for answer, row in zip(ask(signatures["serving_default"], TEXTS), expected, strict=True):
        same(answer, row)
    assert sum("ä" in row["generated_text"] for row in expected) == 0


@pytest.mark.integration
def test_parameters_and_stop_strings_of_each_row(task, signatures):
    stop = [["t", ""], ["", ""], ["", "日"], ["a", "e"]]
    answers = ask(signatures["generate"], TEXTS, stop=stop, **parameters(PARAMETERS_BY_ROW, 4))
    for row, answer in enumerate(answers):
        own = {name: values[row] for name, values in PARAMETERS_BY_ROW.items()}
        same(answer, *task.predict([TEXTS[row]], stop=[string for string in stop[row] if string], **own))


@pytest.mark.integration
def test_a_bad_row_fails_no_batch(signatures):
    values = {"temperature": [0.0, -1.0, 0.0, 0.0], "max_new_tokens": [5, 5, 500, 5], "top_p": [1.0, 1.0, 1.0, 2.0]}
    answers = ask(signatures["generate"], ["a"] * 4, stop=[[]] * 4, **parameters(values, 4))
    assert [answer["error"].partition(" ")[0] for answer in answers] == ["", "temperature", "max_new_tokens", "top_p"]
    assert [answer["num_tokens"] for answer in answers] == [5, 0, 0, 0]


@pytest.mark.integration
def test_no_rows(task, signatures):
    assert ask(signatures["serving_default"], []) == []
    assert ask(signatures["generate"], [], stop=np.zeros((0, 0), str), **parameters({}, 0)) == []


@pytest.mark.integration
def test_exported_beams(task, tmp_path):
    task.export(tmp_path / "1", num_beams=3, num_sequences=2, max_new_tokens=10)
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    assert "length_penalty" in signatures["generate"].structured_input_signature[1]
    assert "temperature" not in signatures["generate"].structured_input_signature[1]
    expected = task.predict(TEXTS, num_beams=3, num_sequences=2, max_new_tokens=10)
    for answer, row in zip(ask(signatures["serving_default"], TEXTS), expected, strict=True):
        same(answer, row)
    values = {"length_penalty": [0.0, 1.0, 2.0, -1.0], "max_new_tokens": [9, 8, 7, 6]}
    answers = ask(signatures["generate"], TEXTS, stop=[["a"]] * 4, **parameters(values, 4, 3))
    for answer, row in zip(
        answers, task.predict(TEXTS, num_beams=3, num_sequences=2, stop=["a"], **values), strict=True
    ):
        same(answer, row)
    assert ask(signatures["serving_default"], []) == []


@pytest.mark.integration
def test_warm_up_requests_are_answered(folder, signatures):
    file = folder / "assets.extra" / "tf_serving_warmup_requests"
    message = export_module._messages()["PredictionLog"]
    requests = [message.FromString(record.numpy()).predict_log.request for record in tf.data.TFRecordDataset(str(file))]
    names = [request.model_spec.signature_name for request in requests]
    assert names == ["serving_default", "generate", "choose", "score"]
    for request in requests:
        inputs = {entry.key: tf.make_ndarray(TensorProto.FromString(entry.value)) for entry in request.inputs}
        if request.model_spec.signature_name == "score":
            answer = signatures["score"](**{key: tf.constant(value) for key, value in inputs.items()})
            assert answer["error"].numpy().tolist() == [b""] and answer["num_tokens"].numpy()[0] > 0
            continue
        (answer,) = ask(signatures[request.model_spec.signature_name], inputs.pop("text"), **inputs)
        assert answer["error"] == "" and answer["num_tokens"] > 0


@pytest.mark.slow
def test_a_process_that_has_only_tensorflow(task, folder):
    request = {"text": TEXTS, "stop": [["t"]] * 4, **parameters(PARAMETERS_BY_ROW, 4)}
    answers = bare.ask(folder, {"serving_default": {"text": TEXTS}, "generate": request})
    expected = task.predict(TEXTS, stop=["ä"], max_new_tokens=12, repetition_penalty=1.2)
    assert answers["serving_default"]["generated_text"] == [row["generated_text"] for row in expected]
    expected = task.predict(TEXTS, stop=["t"], **PARAMETERS_BY_ROW)
    assert answers["generate"]["generated_text"] == [row["generated_text"] for row in expected]
    np.testing.assert_allclose(answers["generate"]["score"], [row["score"] for row in expected], atol=1e-3)


def ending(template: str) -> Task:
    """A language model whose tokenizer puts tokens around texts."""
    tokenizer = Tokenizer.train(CORPUS, 280, model="byte_pair", special_tokens=["<s>", "</s>"])
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    special = [("<s>", 0), ("</s>", 1)]
    library.post_processor = tokenizers.processors.TemplateProcessing(single=template, special_tokens=special)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    return Task("causal_lm", families.gpt2(280, **sizes, eos_ids=[1]), Tokenizer(library))


def rows_of(dataset) -> list:
    inputs, labels = next(iter(dataset))
    return sorted(zip(inputs["token_ids"].numpy().tolist(), labels.numpy().tolist(), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("template", ["$A", "<s> $A", "$A </s>", "<s> $A </s>"])
@pytest.mark.parametrize(("packing", "has_targets"), [("documents", False), (None, False), (None, True)])
def test_lists_and_streams_begin_and_end_alike(template, packing, has_targets):
    """One end token behind a text or a target, none behind an input; one that begins a text, where there is one."""
    task, texts, targets = ending(template), ["the cat", "a day"], ["the mat", "a"] if has_targets else None
    of_list = rows_of(task.dataset(texts, targets, packing=packing))
    both = texts if targets is None else (texts, targets)
    assert rows_of(task.dataset(tf.data.Dataset.from_tensor_slices(both), packing=packing)) == of_list
    begins = template.startswith("<s>")
    for ids, labels in of_list:
        written = [i for i in labels if i >= 0]
        texts_in_row = 2 if packing else 1
        assert written.count(1) == texts_in_row and written[-1] == 1
        assert (ids[0] == 0) == begins and (has_targets or 1 not in ids)


@pytest.mark.integration
def test_a_prompt_does_not_end(tmp_path):
    """What is saved has the tokenizer as it was."""
    task, plain = ending("<s> $A </s>"), ending("<s> $A")
    plain.model.set_weights(task.model.get_weights())
    assert task.generate(["the cat"], max_new_tokens=4) == plain.generate(["the cat"], max_new_tokens=4)
    task.save(tmp_path / "saved")
    saved = Tokenizer.from_folder(tmp_path / "saved")
    assert saved.encode(["the cat"])[0].ids == task.tokenizer.encode(["the cat"])[0].ids
    assert saved.encode(["the cat"])[0].ids[-1] == 1
