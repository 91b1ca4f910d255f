"""The model that a run goes on with: what it learns from plain text, what is lost, its licence."""

from __future__ import annotations

import json

import pytest
from messages import saved_t5
from tiny import classifier

from zoo.scratch.origin import Origin, licence_in


def test_a_sentence_encoder():
    start = Origin("minilm_mini_en")
    assert (start.learns.name, start.has_head, start.end_id, start.max_length) == ("masked_lm", False, 102, 256)
    assert start.licence == "Apache-2.0"
    assert start.result == (
        "a masked language model; minilm_mini_en was made for sentence_embedding: fine-tune the result for that again "
        "(its pooling to vectors of texts (mean) and their scaling to length one is not in it)"
    )


def test_a_pretrained_encoder():
    start = Origin("mini_bert_en")
    assert (start.learns.name, start.has_head, start.made_for_another) == ("masked_lm", True, None)
    assert start.result == "a masked language model (its pooler layer and its next-sentence layer are not in it)"


def test_a_decoder():
    start = Origin("gpt_mini_en")
    assert (start.learns.name, start.has_head, start.end_id, start.most_tokens) == ("causal_lm", True, 0, 256)
    assert start.result == "a language model of the next token"


def test_a_classifier_names_its_labels(tmp_path):
    classifier().save(tmp_path / "c")
    start = Origin(str(tmp_path / "c"))
    assert start.learns.name == "masked_lm" and not start.has_head and start.licence == "not stated"
    assert "was made for classification" in start.result
    assert "its pooler layer and its classifier layer of the labels bad, good are not in it" in start.result


@pytest.mark.integration
def test_a_t5_needs_its_sentinels(tmp_path):
    start = Origin(str(saved_t5(tmp_path / "t5")))
    assert (start.learns.name, start.result) == ("seq2seq_lm", "a model of hidden spans (span corruption)")
    with pytest.raises(ValueError, match="has no <extra_id_0>, which marks a hidden span"):
        Origin(str(saved_t5(tmp_path / "bare", with_sentinels=False)))


def test_a_translator_is_refused():
    with pytest.raises(
        ValueError, match=r"transformer_mini_en_de \(marian\) translates a source.*--source FILE --target"
    ):
        Origin("transformer_mini_en_de")


@pytest.mark.parametrize(("name", "message"), [("gpt_mini", "there is no model"), ("transformer_tiny", "weights")])
def test_no_model(name, message):
    with pytest.raises(ValueError, match=message):
        Origin(name)


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\nlanguage: en\n---\n# A model\n", "apache-2.0"),
        ('---\nlanguage: en\nlicense: "cc-by-4.0"\n---\n', "cc-by-4.0"),
        ("# mine\n\n|  |  |\n| --- | --- |\n| licence of the start | MIT |\n| result | a model |\n", "MIT"),
        ("# mine\n\nNothing is said.\n", "not stated"),
        ("", "not stated"),
    ],
)
def test_the_licence_that_a_card_states(tmp_path, card, licence):
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    assert licence_in(tmp_path / "README.md") == licence


def test_a_damaged_folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ValueError, match=r"config\.json"):
        Origin(str(tmp_path))
