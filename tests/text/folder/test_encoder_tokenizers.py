"""The pipelines of encoders from SentencePiece models: pieces of library and graph, options, other models."""

from __future__ import annotations

import dataclasses

import pytest
from spm_models import ENCODERS, LLAMA, MODEL, tokens

from keras_transformers.text.folder.vocabulary_files import ENCODERS as BUILDERS
from keras_transformers.text.tokenizer import Tokenizer

ALBERT, CAMEMBERT, DEBERTA, XLM_ROBERTA = ENCODERS


def built(name: str, **options) -> Tokenizer:
    _, build = BUILDERS[name]
    return Tokenizer(build(ENCODERS[name], options))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "options", "text", "expected"),
    [
        (XLM_ROBERTA, {}, "a  cat\n", ["▁a", "▁cat"]),
        (XLM_ROBERTA, {}, "ﬁ1,", ["▁", "<unk>", "i", "1,"]),
        (XLM_ROBERTA, {"add_prefix_space": False}, "cat cat", ["cat", "cat"]),
        (CAMEMBERT, {}, "C cat", ["▁", "C", "▁cat"]),
        (ALBERT, {}, "``Cát''", ["▁", '"', "cat", '"']),
        (ALBERT, {}, "1,1", ["▁1,1"]),
        (ALBERT, {}, "a1,", ["▁a", "1", ","]),
        (ALBERT, {"do_lower_case": False}, "Cé", ["▁", "C", "e"]),
        (ALBERT, {"keep_accents": True}, "Cé", ["▁", "c", "é"]),
        (DEBERTA, {}, "a \t cat \n", ["▁a", "▁cat"]),
        (DEBERTA, {}, " a", ["▁a"]),
        (DEBERTA, {}, "ﬁe\u0301", ["▁", "[UNK]", "é"]),
        (DEBERTA, {"do_lower_case": True}, "CAT", ["▁cat"]),
        (DEBERTA, {"split_by_punct": True}, "a1,1", ["▁a", "1", "▁", ",", "▁", "1"]),
        (DEBERTA, {"split_by_punct": True, "add_prefix_space": False}, "cat,cat", ["▁cat", ",", "cat"]),
    ],
)
def test_pieces(name, options, text, expected):
    assert tokens(built(name, **options), text) == expected


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("model", [LLAMA, dataclasses.replace(MODEL, pieces=MODEL.pieces[1:])], ids=["BPE", "others"])
def test_other_models_are_refused(name, model):
    _, build = BUILDERS[name]
    with pytest.raises(ValueError, match=r"Expected .* a unigram model.*<unk>|\[CLS\].*: received another model"):
        build(model, {})
