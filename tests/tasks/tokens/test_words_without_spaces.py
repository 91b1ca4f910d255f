"""Entities where a tokenizer has no words of its own: in scripts without spaces, and with tokens over several words."""

from __future__ import annotations

from functools import partial

import bare
import keras
import pytest
import tiny
from word_tokenizers import word_tokenizer

import zoo
from keras_transformers.families import bert
from keras_transformers.tasks import Task
from keras_transformers.tasks.reports import measure
from keras_transformers.tasks.tokens.label_schemes import bio_labels
from keras_transformers.tasks.tokens.token_targets import target_classes, units_of

NAMES = bio_labels(["person", "place"])
ENGLISH = ["Ann left Oslo", "Bob and Ann flew from Oslo to Paris", "Bob lives in Paris", "Ann flew to Oslo from Paris"]
KINDS = {"Ann": "person", "Bob": "person", "Oslo": "place", "Paris": "place"}
FIT = tiny.FIT | {"epochs": 25}


def token_classifier(kind: str, max_length: int = 48) -> Task:
    keras.utils.set_random_seed(0)
    tokenizer = word_tokenizer(kind)
    config = bert(
        tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=24, max_length=max_length, dropout=0.0,
        attention_dropout=0.0, initializer_range=0.2,
    )  # fmt: skip
    return Task("token_classification", config, tokenizer, labels=NAMES)


def words_of(texts: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    words = [text.split() for text in texts]
    return words, [[f"B-{KINDS[word]}" if word in KINDS else "O" for word in row] for row in words]


def spans_of(text: str, names: dict[str, str]) -> list[tuple[int, int, str]]:
    found = [(text.find(name), text.find(name) + len(name), kind) for name, kind in names.items() if name in text]
    return sorted(found)


def found(answer) -> list[tuple[int, int, str]]:
    return [(entity["start"], entity["end"], entity["label"]) for entity in answer["entities"]]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
@pytest.mark.parametrize(
    "kind", ["mmbert", pytest.param("llama", marks=pytest.mark.slow), pytest.param("plain", marks=pytest.mark.slow)]
)
def test_words_that_tokens_would_join(kind):
    """It had one word a text: no target but that of the first word, and F1 1.0 all the same."""
    task = token_classifier(kind)
    words, labels = words_of(ENGLISH)
    source = task.parts.source(words, labels, None, shuffle=False)
    assert (source.labels.flat >= 0).sum() == sum(map(len, words))
    assert target_classes(source.labels.flat).max() == 3
    task.fit(words, labels, **FIT)
    assert task.evaluate(words, labels)["f1"] == 1.0
    expected = [spans_of(text, KINDS) for text in ENGLISH]
    assert [found(answer) for answer in task.predict(ENGLISH)] == expected
    assert [found(answer) for answer in task.predict(words)] == expected
    report = measure(task, words, labels)
    assert report["f1"] == 1.0 and sum(row["support"] for row in report["classes"].values()) == 11
    assert task.tokenizer is word_tokenizer(kind)  # which `save` writes


CHINESE = ["我在北京学习", "他去东京工作", "我在北京", "他去东京"]
PLACES = {"北京": "place", "东京": "place"}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
@pytest.mark.parametrize("kind", ["xlmr", pytest.param("t5", marks=pytest.mark.slow)])
def test_a_script_without_spaces(kind):
    """It had one word a text, and no entity."""
    task = token_classifier(kind)
    words = [list(text) for text in CHINESE]
    labels = [["B-place" if x in "北东" else "I-place" if x == "京" else "O" for x in row] for row in words]
    task.fit(words, labels, **FIT)
    assert task.evaluate(words, labels)["f1"] == 1.0
    assert [token["text"] for token in task.predict(words[:1])[0]["tokens"]] == words[0]
    spans = [spans_of(text, PLACES) for text in CHINESE]
    task.fit(CHINESE, spans, **FIT)
    answers = task.predict(CHINESE)
    assert [found(answer) for answer in answers] == spans
    assert answers[0]["entities"][0]["text"] == "北京" and len(answers[0]["tokens"]) == 6
    assert task.evaluate(CHINESE, spans)["f1"] == 1.0


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
@pytest.mark.parametrize("kind", ["roberta_untrimmed", "xlmr"])
def test_entities_have_no_white_space_at_their_ends(kind):
    task = token_classifier(kind)
    words, labels = words_of(ENGLISH)
    task.fit(words, labels, **FIT)
    texts = [*ENGLISH, "Ann\u3000left \xa0Oslo \n", " \t ", ""]
    answers = task.predict(texts)
    for text, answer in zip(texts, answers, strict=True):
        for one in (*answer["entities"], *answer["tokens"]):
            assert one["text"] == one["text"].strip() == text[one["start"] : one["end"]] != ""
    assert [found(answer) for answer in answers[:4]] == [spans_of(text, KINDS) for text in ENGLISH]
    assert [answer["tokens"] for answer in answers[-2:]] == [[], []]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
def test_a_measure_over_fewer_words_than_were_given_is_an_error():
    task = token_classifier("xlmr", max_length=16)
    long = [["Ann"], ["Ann", "left", "Oslo"] * 9], [["B-person"], ["B-person", "O", "B-place"] * 9]
    text = "row 1: the text is longer than max_length=16 tokens, and [0-9]+ of its 27 words lie behind its end"
    for ask in (task.evaluate, partial(measure, task)):
        with pytest.raises(ValueError, match=f"^{text}.*larger max_length"):
            ask(*long)
    with pytest.warns(UserWarning, match="1 of 2 texts were cut"):
        task.dataset(*long, shuffle=False)
    with pytest.raises(ValueError, match="validation data: row 1"):
        task.fit(*words_of(["Ann left Oslo"]), validation_data=long)
    with pytest.raises(ValueError, match=r"row 1: word 1, '\\u3000', gives no token.*\(1 of 3 words\)"):
        task.evaluate([["Ann"], ["Bob", "\u3000"]], [["B-person"], ["B-person", "O"]])
    with pytest.raises(ValueError, match=r"row 0: the text is longer .* 1 entities lie"):
        task.evaluate(["Ann left Oslo " * 9], [[(9 * 13, 9 * 13 + 4, "place")]])


TEXTS = [
    "我在北京学习ABC公司。",
    "東京タワー 2019!",
    "Ann left Oslo, U.S.",
    "ภาษาไทย Oslo",
    "Bob  lives \u3000in Paris\xa0",
    "",
    " \n",
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xlmr", "mmbert", "roberta_untrimmed"])
def test_the_export_answers_the_same(kind, tmp_path):
    """In a process that has TensorFlow only."""
    task = token_classifier(kind)
    task.export(tmp_path / "1")
    (answer,) = bare.ask(tmp_path / "1", {"serving_default": {"text": TEXTS}}).values()
    for row, expected in enumerate(task.predict(TEXTS)):
        for name, prefix, text in (("tokens", "token_", "token"), ("entities", "", "entity")):
            columns = [answer[column][row] for column in (text, f"{prefix}label", f"{prefix}start", f"{prefix}end")]
            exported = [values for values in zip(*columns, strict=True) if values[1]]
            assert exported == [(one["text"], one["label"], one["start"], one["end"]) for one in expected[name]]


@pytest.mark.parity
@pytest.mark.parametrize("kind", ["xlmr", "roberta_untrimmed"])
def test_words_have_the_labels_that_transformers_gives_their_first_tokens(kind, tmp_path):
    """Its pipeline's entities of one token are ours, but for the white space that untrimmed offsets leave in them."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    tokenizer = word_tokenizer(kind)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.XLMRobertaConfig(
        vocab_size=tokenizer.vocabulary_size, max_position_embeddings=66, type_vocab_size=1, pad_token_id=1,
        initializer_range=0.6, id2label=dict(enumerate(NAMES)), label2id={name: i for i, name in enumerate(NAMES)},
        **sizes,
    )  # fmt: skip
    transformers.XLMRobertaForTokenClassification(config).save_pretrained(tmp_path)
    roles = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "pad_token": "<pad>"}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer._library, unk_token="<unk>", **roles)
    theirs.save_pretrained(tmp_path)

    task, pipeline = zoo.load(tmp_path), transformers.pipeline("token-classification", str(tmp_path), ignore_labels=[])
    texts = [text for text in TEXTS if text.strip()]
    encoded = tokenizer.encode(texts)
    for text, answer, units, records in zip(
        texts, task.predict(texts), units_of(encoded, texts), pipeline(texts), strict=True
    ):
        by_place = {record["index"]: record for record in records}
        assert len(units) == len(answer["tokens"]) > 2
        for unit, token in zip(units, answer["tokens"], strict=True):
            record = by_place[unit.position]
            assert token["label"] == record["entity"], text
            assert token["score"] == pytest.approx(float(record["score"]), abs=1e-5)
    assert any(
        text[record["start"] : record["end"]] != text[record["start"] : record["end"]].strip() for record in records
    )
