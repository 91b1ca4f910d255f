"""`list`."""

from __future__ import annotations

from command_line import run

import zoo


def test_list():
    table = run("list")
    assert all(name in table for name in zoo.names())
    assert "109,482,240" in table and "12 x 768" in table and "Apache-2.0" in table
    assert "bert_large_en_cased" not in run("list", "bert_base*")
    assert [line.split()[0] for line in run("list", "--bundled").splitlines()[3:] if line.strip()] == [
        "gpt_mini_en",
        "mini_bert_en",
        "minilm_mini_en",
        "transformer_mini_en_de",
    ]
