"""`finetune` of language models: on plain text, on inputs and targets, on translations."""

from __future__ import annotations

import json

import pytest
from command_line import fail, run

import zoo
from keras_transformers.families import gpt2
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

LINES = ["a fine film", "a dull book", "the fine day", "", "the long play"]


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.mark.integration
@pytest.mark.usefixtures("loaded_once", "eager_fit")
def test_finetune_on_a_text_file(folders, text_file, tmp_path, served):
    out = tmp_path / "out"
    files = ("--train", text_file, "--test", text_file)
    lines = run(
        "finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--epochs", 1, "--out", out
    ).splitlines()
    for start in ("fit 4 texts", "evaluate 4 held-out texts", "  perplexity", "save", "export"):
        assert any(line.startswith(start) for line in lines), start
    assert served == [["a fine film"]]
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()
    assert zoo.load(out).name == "causal_lm"
    assert set(json.loads(run("evaluate", out, "--data", text_file))) == {"accuracy", "cross_entropy", "perplexity"}
    answer = json.loads(run("predict", out, "a fine"))
    assert answer["text"] == "a fine" and answer["generated_text"] == zoo.load(out).generate(["a fine"])[0]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
def test_finetune_on_inputs_and_targets(folders, table, tmp_path, served):
    rows = [{"text": "a fine film", "label": " a fine day"}, {"text": "a dull book", "label": " a dull play"}]
    files = ("--train", table("pairs.csv", rows), "--out", tmp_path / "out")
    run("finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--label", "label", "--epochs", 1)
    assert served == [["a fine film"]]


def test_finetune_errors(folders, tmp_path):
    command = ("finetune", folders["causal_lm"], "--task", "causal_lm", "--out", tmp_path / "out")
    assert "needs --train" in fail(*command)[1]
    assert "there is no such file" in fail(*command, "--train", tmp_path / "none.txt")[1]
    (tmp_path / "blank.txt").write_text("\n\n")
    assert "contains no text" in fail(*command, "--train", tmp_path / "blank.txt")[1]
    for name, content, message in (
        ("lines.txt", "a\n", "text without columns, so none is 'b'"),
        ("numbers.jsonl", '{"text": "a", "b": 1}\n', "row 1 (line 1): 'b' is 1; expected a string"),
    ):
        (tmp_path / name).write_text(content)
        assert message in fail(*command, "--train", tmp_path / name, "--label", "b")[1]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
def test_finetune_translations(folders, table, tmp_path, served):
    rows = [{"en": "a fine film", "de": "ein guter Film"}, {"en": "a dull book", "de": "ein fades Buch"}]
    command = ("finetune", folders["seq2seq_lm"], "--task", "seq2seq_lm", "--out", tmp_path / "out")
    files = ("--train", table("pairs.csv", rows), "--test", table("more.csv", rows), "--text", "en")
    assert "needs --label" in fail(*command, *files)[1]
    lines = run(*command, *files, "--label", "de", "--epochs", 1)
    assert "perplexity" in lines and served == [["a fine film"]]
    assert zoo.load(tmp_path / "out").name == "seq2seq_lm"
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()


TALKS = [
    {"messages": [{"role": "user", "content": f"say {word}"}, {"role": "assistant", "content": word}]}
    for word in ("cat", "dog", "film", "book", "play", "day")
]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
def test_conversations(tmp_path, served):
    """By their own option, or found by the keys of the first record."""
    tokenizer = Tokenizer.train(["say cat dog film book play day <|user|> <|assistant|>"], 300, model="byte_pair")
    config = gpt2(tokenizer.vocabulary_size, 1, 2, 8, max_length=64, eos_ids=[tokenizer.eos_id])
    Task("causal_lm", config, tokenizer).save(tmp_path / "model")
    file = tmp_path / "chats.jsonl"
    file.write_text("".join(json.dumps(talk) + "\n" for talk in TALKS), encoding="utf-8")
    out = tmp_path / "out"
    printed = run("finetune", tmp_path / "model", "--messages", file, "--split", "0.34", "--out", out)
    assert "4 rows to train, 2 held out" in printed
    assert "exact_match" in printed and "perplexity" in printed
    assert (out / "chat_template.jinja").is_file()
    assert served[0]["role"] == ["user"] and served[0]["content"][0].startswith("say ")
    report = json.loads(run("evaluate", out, "--data", file))
    assert report["answers"][0]["prompt"] == "say cat" and 0 <= report["f1"] <= 100
    assert isinstance(zoo.load(out).chat(TALKS[0]["messages"][:1], max_new_tokens=2), str)


def test_wrong_options_of_conversations(tmp_path):
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps(TALKS[0]) + "\n" + '{"messages": []}\n', encoding="utf-8")
    for options, message in (
        (("--messages", file, "--train", file), "give one of them"),
        (("--messages", file, "--task", "classification"), "--messages is for --task causal_lm"),
        (("--messages", file, "--label", "a", "--problem", "regression"), "received --label, --problem"),
        (("--messages", tmp_path / "none.jsonl"), "none.jsonl"),
        (("--messages", file), "chats.jsonl, line 2: 'messages' must be a list of messages"),
    ):
        assert message in fail("finetune", "gpt_mini_en", *options, "--out", tmp_path / "out")[1]
    assert not (tmp_path / "out").exists()
