"""`predict`."""

from __future__ import annotations

import json

import pytest
from command_line import LABELS, ROWS, fail, run


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.integration
def test_predict_takes_arguments_lines_and_files(folders, table):
    model, texts = folders["classification"], list(LABELS)
    answers = json_lines(run("predict", model, *texts))
    assert [answer["text"] for answer in answers] == texts
    assert {answer["label"] for answer in answers} <= {"bad", "good"}
    assert answers == json_lines(run("predict", model, stdin="\r\n".join(texts)))
    assert answers == json_lines(run("predict", model, "--file", table("rows.tsv", ROWS), "--text", "0"))
    one_by_one = json_lines(run("predict", model, *texts, "--batch-size", "1"))
    assert [answer["label"] for answer in one_by_one] == [answer["label"] for answer in answers]


@pytest.mark.integration
def test_predict_takes_pairs(folders, table):
    file = table("pairs.jsonl", [{"q": "a fine film", "a": "the day"}])
    (answer,) = json_lines(run("predict", folders["classification"], "--file", file, "--text", "q", "--text-pair", "a"))
    assert (answer["text"], answer["text_pair"]) == ("a fine film", "the day")


@pytest.mark.integration
def test_predict_fills_gaps(folders):
    (answer,) = json_lines(run("predict", folders["pretraining"], "a [MASK] film"))
    assert len(answer["fills"][0]) == 5


@pytest.mark.integration
def test_predict_prints_json_for_what_cannot_be_answered(folders):
    blank = json.loads(run("predict", folders["seq2seq_lm"], " "), parse_constant=pytest.fail)
    assert blank["score"] == 0 and blank["error"].startswith("The text is blank")


@pytest.mark.integration
def test_predict_takes_pairs_and_choices_as_arguments(folders, tmp_path):
    import zoo

    for task in ("ranking", "multiple_choice"):
        zoo.load(folders["masked_lm"], task).save(tmp_path / task)
    pairs = json_lines(run("predict", tmp_path / "ranking", "a fine film", "the day", "a song", "the play"))
    assert [(pair["text"], pair["text_pair"]) for pair in pairs] == [("a fine film", "the day"), ("a song", "the play")]
    assert all("score" in pair for pair in pairs)
    (answer,) = json_lines(run("predict", tmp_path / "multiple_choice", "a fine", "film", "day", "book"))
    assert answer["text_pair"] == ["film", "day", "book"] and len(answer["probabilities"]) == 3
    assert "received one text" in fail("predict", tmp_path / "multiple_choice", "a fine")[1]


@pytest.mark.integration
def test_predict_takes_a_task(folders):
    (answer,) = json_lines(run("predict", folders["masked_lm"], "a film", "--task", "sentence_embedding"))
    assert len(answer["embedding"]) == 16
