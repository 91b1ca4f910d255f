"""Scores of texts that are cut, beside `transformers`: without token types, and with the end of a text kept."""

from __future__ import annotations

import numpy as np
import pytest
from truncating import TEXTS, WORDS, write

import zoo

SIDES = ["right", "left"]
MAX_LENGTH = 16
TOPICS = ["oslo", "a draw"]
pytestmark = pytest.mark.parity


def made(folder, kind, side, architecture, **options):
    """Write a folder with random weights that are far apart; return `transformers`' model and tokenizer."""
    import torch
    import transformers

    kind, _, untyped = kind.partition(" ")
    names = ["input_ids", *([] if untyped else ["token_type_ids"]), "attention_mask"]
    names = names if kind == "wordpiece" else ...
    write(folder, kind, truncation_side=side, model_max_length=MAX_LENGTH, model_input_names=names)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    family = "Bert" if kind == "wordpiece" else "Roberta"
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(theirs), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=MAX_LENGTH + 2 * (family == "Roberta"), type_vocab_size=1 + (family == "Bert"),
        pad_token_id=theirs.pad_token_id, bos_token_id=None, eos_token_id=None, **options,
    )  # fmt: skip
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}For{architecture}")(config).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(torch.randn(value.shape) * (0.3 if value.ndim > 1 else 0.2) + (value.ndim == 1) * value)
    model.save_pretrained(folder)
    return model, theirs


def logits_of(model, encoded):
    import torch

    with torch.no_grad():
        return model(**{name: torch.tensor(value) for name, value in encoded.items()})


def softmax(values):
    values = np.exp(values - values.max(-1, keepdims=True))
    return values / values.sum(-1, keepdims=True)


@pytest.fixture(params=SIDES)
def side(request):
    return request.param


@pytest.fixture(params=["wordpiece", "wordpiece untyped", "byte_pairs"])
def kind(request):
    """BERT's, with token types and without them, and RoBERTa's."""
    return request.param


def test_ranking(tmp_path, kind, side):
    model, theirs = made(tmp_path, kind, side, "SequenceClassification", num_labels=1)
    task = zoo.load(tmp_path, "ranking")
    pairs = [TEXTS[0], "oslo", TEXTS[4]]
    queries = ["ann left", TEXTS[0], TEXTS[0]]
    encoded = theirs(queries, pairs, truncation=True, max_length=MAX_LENGTH, padding=True)
    expected = 1 / (1 + np.exp(-logits_of(model, encoded).logits[:, 0].numpy()))
    found = [row["probability"] for row in task.predict(queries, pairs)]
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_multiple_choice(tmp_path, kind, side):
    model, theirs = made(tmp_path, kind, side, "MultipleChoice")
    task = zoo.load(tmp_path, "multiple_choice")
    choices = ["in oslo", TEXTS[0], "ann left oslo " * 4]
    encoded = theirs([TEXTS[0]] * 3, choices, truncation=True, max_length=MAX_LENGTH, padding=True)
    expected = softmax(logits_of(model, {name: [value] for name, value in encoded.items()}).logits[0].numpy())
    (found,) = task.predict(TEXTS[:1], [choices])
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


def test_zero_shot(tmp_path, kind, side):
    """The text alone is cut, as in the pipeline of `transformers`."""
    import transformers

    names = ["contradiction", "neutral", "entailment"]
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    made(tmp_path, kind, side, "SequenceClassification", **labels)
    pipeline = transformers.pipeline("zero-shot-classification", str(tmp_path), device="cpu")
    task = zoo.load(tmp_path)
    texts, template = [TEXTS[0], "oslo", TEXTS[4]], "we stayed in {} it rained in berlin"
    for multi_label in (False, True):
        expected = pipeline(texts, TOPICS, hypothesis_template=template, multi_label=multi_label)
        found = task.zero_shot(texts, TOPICS, template=template, multi_label=multi_label)
        for ours, row in zip(found, expected, strict=True):
            assert ours["probabilities"] == pytest.approx(
                dict(zip(row["labels"], row["scores"], strict=True)), abs=1e-5
            )
        assert np.ptp([row["scores"][0] for row in expected]) > 1e-3
        assert [row["truncated"] for row in found] == [True, False, True]
    with pytest.raises(ValueError, match=r"the label in its template has .* tokens, and max_length=16 leaves"):
        task.zero_shot(["oslo"], [TEXTS[0]], template=template)


@pytest.mark.parametrize("words", [3, 24, 48])
def test_question_answering(tmp_path, kind, side, words):
    """The best span by logits over the windows of a context, and its probability in its window."""
    model, theirs = made(tmp_path, kind, side, "QuestionAnswering")
    task = zoo.load(tmp_path, stride=2, max_answer_length=4)
    rng = np.random.default_rng(words)
    question, context = "ann left", " ".join(rng.choice(WORDS, words))
    encoded = theirs(
        [question], [context], truncation="only_second", max_length=MAX_LENGTH, stride=2, padding=True,
        return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    assert (len(encoded["input_ids"]) == 1) == (words == 3)
    outputs = logits_of(model, {name: encoded[name] for name in theirs.model_input_names})
    spans = []
    for window, (starts, ends) in enumerate(zip(outputs.start_logits.numpy(), outputs.end_logits.numpy(), strict=True)):
        inside = [0] + [place for place, text in enumerate(encoded.sequence_ids(window)) if text == 1]
        start, end = softmax(starts[inside]), softmax(ends[inside])
        for i in range(1, len(inside)):
            for j in range(i, min(i + 4, len(inside))):
                place = encoded["offset_mapping"][window][inside[i]][0], encoded["offset_mapping"][window][inside[j]][1]
                spans.append((starts[inside[i]] + ends[inside[j]], start[i] * end[j], *place))
    _, score, first, last = max(spans)
    (found,) = task.predict([question], [context])
    assert (found["start"], found["end"], found["answer"]) == (first, last, context[first:last])
    assert found["score"] == pytest.approx(float(score), abs=1e-5)
