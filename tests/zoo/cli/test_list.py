"""`list`, at any width of the terminal."""

from __future__ import annotations

import pytest
from command_line import fail, run
from rich.console import Console

import zoo
from zoo.terminal import console


def test_list():
    table = run("list")
    assert all(name in table for name in zoo.names())
    assert "109 M" in table and "12x768" in table and "Apache-2.0" in table
    assert "bert_large_en_cased" not in run("list", "bert_base*")


def test_models_are_grouped_by_kind_and_task():
    lines = [line.split() for line in run("list", "--bundled").splitlines()[2:]]
    assert [" ".join(line) if line and line[0].endswith(",") else line[:1] for line in lines] == [
        "encoder, pretraining", ["mini_bert_en"], [],
        "encoder, sentence_embedding", ["minilm_mini_en"], [],
        "decoder, causal_lm", ["gpt_mini_en"], [],
        "encoder_decoder, seq2seq_lm", ["transformer_mini_en_de"],
    ]  # fmt: skip
    assert all(line[-1] == "bundled" for line in lines if line and not line[0].endswith(","))


def test_small_models_come_first_in_their_family():
    names = [line.split()[0] for line in run("list", "--family", "gpt2").splitlines()[3:]]
    assert names == ["gpt_mini_en", "distilgpt2", "gpt2", "gpt2_medium", "gpt2_large", "gpt2_xl"]


def test_filters_are_combined():
    table = run("list", "*_e5_*", "--task", "sentence_embedding", "--license", "mit", "--max-parameters", "0.3B")
    assert [line.split()[0] for line in table.splitlines()[3:]] == ["multilingual_e5_small", "multilingual_e5_base"]


WRONG = {
    ("--family", "berd"): r"family must be one of ['albert', 'bart', 'bert', ",
    ("--task", "ner"): "task must be one of ['causal_lm', 'masked_lm', ",
    ("--license", "GPL-3.0"): "licence must be one of ['Apache-2.0', ",
    ("--max-parameters", "-1M"): "max_parameters must be a number of at least 1, such as 200M or 1.5B: received '-1M'",
    ("bert*", "--bundled", "--license", "MIT"): "no model is bundled, named like 'bert*', licence MIT:",
    ("bert_bse_en_cased",): "no model 'bert_bse_en_cased' in the zoo. The nearest names are ['bert_base_en_cased'",
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG.items())
def test_what_is_not_in_the_zoo_is_refused_with_the_choices(arguments, message):
    code, error = fail("list", *arguments)
    assert code == 2 and message in error


def test_it_fits_80_columns_and_holds_nothing_but_text():
    table = run("list")
    assert max(map(len, table.splitlines())) <= 80
    assert table.replace("\n", "").isprintable()


def test_names_are_whole_where_the_terminal_is_narrower(monkeypatch):
    whole = run("list")
    monkeypatch.setattr(console, "console", lambda: Console(width=30, highlight=False, markup=False))
    assert run("list") == whole
