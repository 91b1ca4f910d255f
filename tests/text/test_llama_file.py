"""Llama's tokenizer.model without a tokenizer.json: read where all versions of `transformers` give the same ids."""

from __future__ import annotations

import io
import json
import random

import pytest
from spm_models import LLAMA

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import BPE, SentencePieceModel
from keras_transformers.text.tokenizer import Tokenizer

CONFIG = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True}


def write(folder, model: bytes | SentencePieceModel = LLAMA, **changes):
    content = model if isinstance(model, bytes) else spm_file.serialize(model)
    (folder / "tokenizer.model").write_bytes(content)
    (folder / "tokenizer_config.json").write_text(json.dumps(CONFIG | changes))
    return folder


AROUND = [
    ({}, ["<s>"], []),
    ({"add_bos_token": False}, [], []),
    ({"add_eos_token": True, "tokenizer_class": "LlamaTokenizerFast"}, ["<s>"], ["</s>"]),
]
TEXTS = {
    "cat": ["▁cat"],
    " a": ["▁a"],
    "a  cé": ["▁a", "▁", "▁", "c", "<0xC3>", "<0xA9>"],
    "a cat": ["▁a", "▁cat"],
    "<s>a": ["<s>", "a"],
}


@pytest.mark.parametrize(("changes", "begin", "end"), AROUND)
def test_pieces_and_what_stands_around_them(tmp_path, changes, begin, end):
    tokenizer = Tokenizer.from_folder(write(tmp_path, **changes))
    rows = [row.ids for row in tokenizer.encode(list(TEXTS))]
    assert [[*map(tokenizer.id_to_token, row)] for row in rows] == [begin + row + end for row in TEXTS.values()]
    assert tokenizer.decode(rows)[:4] == ["cat", "a", "a  cé", "a cat"]


def test_the_graph_gives_the_same(tmp_path):
    tokenizer = Tokenizer.from_folder(write(tmp_path))
    rows = [row.ids for row in tokenizer.encode(list(TEXTS), special_tokens=False)]
    assert compile_text(tokenizer.to_json(), pad_id=0).tokenize(list(TEXTS)).to_list() == rows


UNSAID = [
    {"legacy": True}, {"legacy": None}, {"add_bos_token": None}, {"add_prefix_space": False},
    {"tokenizer_class": None}, {"tokenizer_class": "CodeLlamaTokenizer"},
]  # fmt: skip


@pytest.mark.parametrize("changes", UNSAID, ids=str)
def test_what_versions_of_transformers_read_differently_is_refused(tmp_path, changes):
    with pytest.raises(
        ValueError, match=r"tokenizer\.model does not define .*legacy false.*Provide its tokenizer\.json"
    ):
        Tokenizer.from_folder(write(tmp_path, **changes))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LLAMA.pieces[:1] + LLAMA.pieces[3:], "Expected Llama's tokenizer.model"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"", "pieces, trainer or normaliser are missing"),
    ],
    ids=["no </s>", "pointer", "empty"],
)
def test_another_file(tmp_path, model, message):
    model = model if isinstance(model, bytes) else SentencePieceModel(model, BPE, byte_fallback=True)
    with pytest.raises(ValueError, match=rf"tokenizer\.model.*{message}"):
        Tokenizer.from_folder(write(tmp_path, model))


@pytest.mark.parametrize("name", ["sentencepiece.bpe.model", "tekken.json"])
def test_a_model_that_stands_alone_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(spm_file.serialize(LLAMA))
    with pytest.raises(ValueError, match=rf"No tokenizer in .*It holds {name}.*Provide its tokenizer\.json"):
        Tokenizer.from_folder(tmp_path)


@pytest.fixture(scope="module")
def trained() -> bytes:
    """A file of the library's own trainer, with Llama's options."""
    sentencepiece, made = pytest.importorskip("sentencepiece"), io.BytesIO()
    lines = ["I don't know what 123 of 4567 is: été, naïve — 日本語.", "two  spaces   here", "tabs\tand more", "a film"]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 20), model_writer=made, vocab_size=320, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, minloglevel=2,
        character_coverage=0.98,
    )  # fmt: skip
    return made.getvalue()


@pytest.mark.parity
@pytest.mark.parametrize("changes", [{}, {"add_bos_token": False}, {"add_eos_token": True}], ids=str)
def test_the_ids_of_transformers(tmp_path, trained, changes):
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer.from_folder(write(tmp_path, trained, bos_token="<s>", eos_token="</s>", **changes))
    reference = transformers.LlamaTokenizer.from_pretrained(tmp_path)
    random.seed(0)
    letters = [*"abdefiklmnopstw no▁ 123é日.,'ſ😀", "<s>", "</s>", "<unk>", "\t", "\n"]
    texts = ["", " ", "▁x", *("".join(random.choices(letters, k=random.randint(1, 40))) for _ in range(1000))]
    rows = [row.ids for row in tokenizer.encode(texts)]
    assert rows == [reference(text)["input_ids"] for text in texts]
    graph = compile_text(tokenizer.to_json(), pad_id=0).tokenize(texts).to_list()
    assert graph == [row.ids for row in tokenizer.encode(texts, special_tokens=False)]
