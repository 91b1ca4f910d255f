"""`train --from`: options, refusals in one line, and a run of the command line."""

from __future__ import annotations

import json

import pytest
from command_line import fail, run
from messages import text_file

import zoo

pytestmark = pytest.mark.usefixtures("quick_speed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "gpt_mini_en"), "--from MODEL continues training on your own text: give --text FILES, too"),
        (("--text", "{text}", "--add-tokens", "{text}"), "--add-tokens widens .* give --from MODEL, too"),
        (("--text", "{text}", "--from", "gpt_mini_en", "--size", "mini"), "--size is for new models"),
        (
            ("--text", "{text}", "--from", "gpt_mini_en", "--layers", "2", "--vocabulary", "300"),
            "--layers, --vocabulary",
        ),
        (("--text", "{text}", "--from", "gpt_mini_en", "--tokenizer", "bytes"), "--tokenizer is for new models"),
        (("--text", "{text}", "--from", "gpt_mini_en", "--model", "bert"), "--model is for new models"),
        (("--text", "{text}", "--from", "gpt_mini"), "there is no model 'gpt_mini'"),
        (("--text", "{text}", "--from", "transformer_tiny"), "weights"),
        (("--text", "{text}", "--from", "transformer_mini_en_de"), "--source FILE --target FILE"),
        (("--text", "{text}", "--from", "gpt_mini_en", "--max-length", "300"), "takes 256 tokens at most"),
        (("--text", "{folder}/none.txt", "--from", "gpt_mini_en"), "none.txt"),
        (("--text", "{text}", "--from", "gpt_mini_en", "--add-tokens", "{folder}/none.txt"), "no such file"),
        (("mini_bert_en", "--text", "{text}", "--from", "gpt_mini_en"), "NAME of a recipe"),
    ],
)
def test_what_is_refused(tmp_path, arguments, message):
    import re

    places = {"text": text_file(tmp_path), "folder": tmp_path}
    code, error = fail("train", *(argument.format(**places) for argument in arguments), "--out", tmp_path / "mine")
    assert code == 2 and re.search(message, error), error
    assert not (tmp_path / "mine").exists() and not (tmp_path / "mine.run").exists()


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_a_model_goes_on_by_one_command(tmp_path):
    (tmp_path / "words.txt").write_text("metformin\ninsulin pump\n")
    printed = run(
        "train", "--from", "mini_bert_en", "--text", text_file(tmp_path), "--add-tokens", tmp_path / "words.txt",
        "--steps", "4", "--rounds", "2", "--batch-size", "4", "--max-length", "32", "--out", tmp_path / "mine",
    )  # fmt: skip
    results = json.loads(printed.splitlines()[-1])
    assert 0 < results["perplexity"] <= results["perplexity before any step"]
    assert "new tokens" in printed and "2: metformin, insulin pump" in printed
    assert zoo.load(tmp_path / "mine").tokenizer.vocabulary_size == 8194
