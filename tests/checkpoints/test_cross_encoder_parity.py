"""Folders of cross-encoders of sentence-transformers, both ways: scores equal those of `CrossEncoder.predict`."""

from __future__ import annotations

import json

import bare
import family_cases
import keras
import numpy as np
import pytest
import tiny
from arrays import randomize

import zoo
from keras_transformers.tasks import Task

pytestmark = pytest.mark.parity
QUERIES = ["a fine film", "a dull day", "", "a", "a cold song " * 9, "grey"]
DOCUMENTS = ["a warm room", "a film", "a day", "", "a grey day", "a bright song " * 9]
PROMPTS = {"query": "a dull ", "other": "bright "}
HEAD = [
    {"units": 12, "activation": "gelu"}, {"layer": "dropout", "rate": 0.1}, {"layer": "layer_norm"},
    {"layer": "normalize"}, {"units": 1, "use_bias": False},
]  # fmt: skip
FORMS = {
    "classifier": {}, "sigmoid": {"activation": "sigmoid"},
    "modules": {"pooling": ["max", "first"], "dense": HEAD, "activation": "sigmoid"},
    "prompts": {"prompts": PROMPTS, "default_prompt": "query", "pooling": "last", "dense": [{"units": 1}]},
}  # fmt: skip


def make(name: str = "ranking", family: str = "bert", **options) -> Task:
    keras.utils.set_random_seed(0)
    tokenizer = tiny.tokenizer()
    config = family_cases.CASES[family].small(
        vocabulary_size=tokenizer.vocabulary_size, max_length=24, hidden_dim=32, pad_id=tokenizer.pad_id
    )
    task = Task(name, config, tokenizer, **options)
    randomize(task.model, scale=0.3)
    return task


def read_by_them(folder):
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), device="cpu")


def scores_of(task: Task) -> list[float]:
    return [row["score"] for row in task.predict(QUERIES, DOCUMENTS)]


def pairs() -> list[tuple[str, str]]:
    return [*zip(QUERIES, DOCUMENTS, strict=True)]


@pytest.mark.parametrize("form", FORMS)
def test_both_ways(tmp_path, form):
    task = make(**FORMS[form])
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    expected = theirs.predict(pairs())
    assert np.ptp(expected) > 1e-3  # pairs are told apart
    np.testing.assert_allclose(scores_of(task), expected, atol=1e-5)
    assert theirs.max_seq_length == task.max_length

    theirs.save_pretrained(str(tmp_path / "theirs"))  # in the form of its present version
    again = zoo.load(tmp_path / "theirs")
    assert (again.name, again.max_length, again.activation) == ("ranking", task.max_length, task.activation)
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-5)
    hits = theirs.rank(QUERIES[0], DOCUMENTS)
    assert [hit["index"] for hit in again.rank(QUERIES[0], DOCUMENTS)] == [hit["corpus_id"] for hit in hits]


@pytest.mark.parametrize("family", ["distilbert", "modernbert"])
def test_other_families(tmp_path, family):
    task = make(family=family, activation="sigmoid")
    task.save(tmp_path / "ours")
    np.testing.assert_allclose(scores_of(task), read_by_them(tmp_path / "ours").predict(pairs()), atol=1e-5)


def test_transformers_reads_it(tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    task = make(activation="sigmoid")
    task.save(tmp_path / "ours")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "ours")
    encoded = tokenizer(QUERIES, DOCUMENTS, padding=True, truncation=True, max_length=24, return_tensors="pt")
    with torch.no_grad():
        logits = AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours")(**encoded).logits[:, 0]
    np.testing.assert_allclose(scores_of(task), torch.sigmoid(logits).numpy(), atol=1e-5)


def test_prompts(tmp_path):
    task = make(**FORMS["prompts"])
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    again = zoo.load(tmp_path / "ours")
    assert (again.prompts, again.default_prompt) == (PROMPTS, "query")
    own = [({"prompt_text": text}, {"prompt": text}) for text in ("cold ", "")]
    for ours, options in (({}, {}), ({"prompt": "other"}, {"prompt_name": "other"}), *own):
        expected = theirs.predict([(QUERIES[0], document) for document in DOCUMENTS], **options)
        found = {hit["index"]: hit["score"] for hit in again.rank(QUERIES[0], DOCUMENTS, **ours)}
        np.testing.assert_allclose([found[number] for number in range(len(DOCUMENTS))], expected, atol=1e-5)
    with pytest.raises(ValueError, match="prompt must be one of"):
        again.rank("a", ["b"], prompt="none")


@pytest.mark.parametrize("activation", ["Identity", "Sigmoid"])
@pytest.mark.parametrize("form", ["classifier", "modules"])
def test_several_labels(tmp_path, form, activation):
    """As a classifier: softmax, which `apply_softmax=True` is there, or with a sigmoid each label by itself."""
    problem = {"Identity": "single_label", "Sigmoid": "multi_label"}[activation]
    head = {"pooling": "mean", "dense": [{"units": 8}, {"layer": "layer_norm"}, {"units": 3}]}
    options = head if form == "modules" else {}
    task = make("classification", labels=["no", "maybe", "yes"], problem=problem, **options)
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    assert theirs.num_labels == 3 and type(theirs.activation_fn).__name__ == activation
    expected = theirs.predict(pairs(), apply_softmax=problem == "single_label")
    theirs.save_pretrained(str(tmp_path / "theirs"))
    again = zoo.load(tmp_path / "theirs")
    assert (again.name, again.problem, len(again.labels)) == ("classification", problem, 3)
    for one in (task, again):
        found = [[*row["probabilities"].values()] for row in one.predict(QUERIES, DOCUMENTS)]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_one_label_as_a_classifier(tmp_path):
    for activation, key in (("linear", "scores"), ("sigmoid", "probabilities")):
        task = make(activation=activation)
        task.save(tmp_path / activation)
        read_by_them(tmp_path / activation).save_pretrained(str(tmp_path / "theirs"))
        again = zoo.load(tmp_path / "theirs", "classification")
        found = [row[key]["LABEL_0"] for row in again.predict(QUERIES, DOCUMENTS)]
        np.testing.assert_allclose(found, scores_of(task), atol=1e-5)
        again.save(tmp_path / "again")
        np.testing.assert_allclose(read_by_them(tmp_path / "again").predict(pairs()), scores_of(task), atol=1e-5)


@pytest.mark.parametrize("key", ["sentence_transformers", "sbert_ce_default_activation_function"])
@pytest.mark.parametrize("named", ["torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"])
def test_folders_of_versions_2_to_5(tmp_path, key, named):
    """They say the activation in config.json alone."""
    make().save(tmp_path / "old")
    for name in ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"):
        (tmp_path / "old" / name).unlink()
    path = tmp_path / "old" / "config.json"
    values = json.loads(path.read_text())
    del values["sentence_transformers"], values["zoo_task"]
    path.write_text(json.dumps(values | {key: {"activation_fn": named} if key == "sentence_transformers" else named}))
    expected = read_by_them(tmp_path / "old").predict(pairs())
    np.testing.assert_allclose(scores_of(zoo.load(tmp_path / "old", "ranking")), expected, atol=1e-5)


def test_a_shorter_longest_pair(tmp_path):
    task = make()
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    theirs.max_seq_length = 11
    theirs.save_pretrained(str(tmp_path / "theirs"))
    again = zoo.load(tmp_path / "theirs")
    assert again.max_length == 11
    np.testing.assert_allclose(scores_of(again), read_by_them(tmp_path / "theirs").predict(pairs()), atol=1e-5)


@pytest.mark.parametrize(
    ("family", "tokens"), [("gpt2", [70, 71]), ("llama", [70]), ("gemma", [70]), ("gemma2", [70, 71])]
)
def test_decoders(tmp_path, family, tokens):
    """Pair by pair: with learned positions their scores depend on the padding, which stands on the left there."""
    tokenizer = tiny.byte_tokenizer()
    keras.utils.set_random_seed(0)
    config = family_cases.CASES[family].small(
        vocabulary_size=tokenizer.vocabulary_size, max_length=64, hidden_dim=32, pad_id=None
    )
    task = Task("ranking", config, tokenizer, score_tokens=tokens, activation="sigmoid")
    randomize(task.model, scale=0.3)
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    expected = np.concatenate([theirs.predict([pair]) for pair in pairs()])
    np.testing.assert_allclose(scores_of(task), expected, atol=1e-5)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    again = zoo.load(tmp_path / "theirs")
    assert (again.name, again.score_tokens) == ("ranking", tokens)
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("form", ["modules", "prompts"])
def test_export_in_a_process_of_its_own(tmp_path, form):
    task = make(**FORMS[form])
    task.save(tmp_path / "ours")
    theirs = read_by_them(tmp_path / "ours")
    zoo.load(tmp_path / "ours").export(tmp_path / "1")
    request = {"text": QUERIES, "text_pair": DOCUMENTS}
    requests = {"serving_default": request}
    requests |= {"prompted": request | {"prompt": ["cold "] * len(QUERIES)}} if form == "prompts" else {}
    answers = bare.ask(tmp_path / "1", requests)
    np.testing.assert_allclose(answers["serving_default"]["score"], theirs.predict(pairs()), atol=1e-5)
    if form == "prompts":
        expected = theirs.predict(pairs(), prompt="cold ")
        np.testing.assert_allclose(answers["prompted"]["score"], expected, atol=1e-5)
