"""Marian's folders: one tokenizer for each side, read, saved and refused."""

from __future__ import annotations

import json
import re

import pytest
import tokenizers
from spm_models import LETTERS, MODEL, SYMBOLS, tokens

from keras_transformers.text.folder import marian_tokenizers
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import Piece, SentencePieceModel
from keras_transformers.text.tokenizer import Tokenizer

TARGET = SentencePieceModel(
    (*SYMBOLS, *LETTERS, Piece("ü", -5.0), Piece("T", -5.0), Piece("▁Tü", -3.0), Piece("▁cat", -9.0))
)
VOCABULARY = [
    "</s>",
    "<unk>",
    *(p.text for p in LETTERS),
    "▁cat",
    "▁a",
    "ü",
    "T",
    "▁Tü",
    "at",
    "cat",
    ">>de<<",
    "<pad>",
]


@pytest.fixture
def marian_folder(tmp_path):
    (tmp_path / "source.spm").write_bytes(spm_file.serialize(MODEL))
    (tmp_path / "target.spm").write_bytes(spm_file.serialize(TARGET))
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(VOCABULARY)}))
    return tmp_path


@pytest.mark.integration
def test_marians_folder(marian_folder, tmp_path):
    source, target = Tokenizer.pair_from_folder(marian_folder)
    assert source.vocabulary_size == target.vocabulary_size == len(VOCABULARY)
    assert source.eos_id == 0 and source.pad_id == len(VOCABULARY) - 1
    ids = [[VOCABULARY.index(token) for token in row] for row in (["▁a", "▁cat", "</s>"], ["▁", "t", "ü", "</s>"])]
    assert source.encode(["a cat"])[0].ids == ids[0]
    assert source.encode(["tü"])[0].ids == ids[1]  # the model of the source has no ü, its vocabulary has
    assert tokens(target, "Tü zz") == ["▁Tü", "▁", "<unk>"]
    assert tokens(source, "Tü") == ["▁", "T", "ü"]  # pieces of the other side are no pieces of this one
    assert tokens(source, ">>de<< a cat") == [">>de<<", "▁a", "▁cat"]
    assert target.decode(target.encode(["Tü cat"])[0].ids) == "Tü cat"
    assert len(source.encode(["a"], ["cat"])[0].ids) == 3


def test_a_pair_is_saved_with_its_files(marian_folder, tmp_path):
    pair = Tokenizer.pair_from_folder(marian_folder)
    Tokenizer.save_pair(tmp_path / "saved", *pair)
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (tmp_path / "saved" / name).read_bytes() == (marian_folder / name).read_bytes()
    again = Tokenizer.pair_from_folder(tmp_path / "saved")
    assert [side.to_json() for side in again] == [side.to_json() for side in pair]
    Tokenizer.save_pair(tmp_path / "twice", *again)
    assert {file.name for file in (tmp_path / "twice").iterdir()} == {f.name for f in (tmp_path / "saved").iterdir()}
    for folder in (marian_folder, tmp_path / "saved"):
        with pytest.raises(ValueError, match=r"two tokenizers, .* use Tokenizer\.pair_from_folder"):
            Tokenizer.from_folder(folder)


def test_separate_vocabularies(marian_folder):
    (marian_folder / "tokenizer_config.json").write_text('{"separate_vocabs": true}')
    with pytest.raises(ValueError, match=r"lacks target_vocab\.json"):
        Tokenizer.pair_from_folder(marian_folder)
    own = {token: i for i, token in enumerate(["<unk>", "</s>", *(p.text for p in TARGET.pieces[3:]), "<pad>"])}
    (marian_folder / "target_vocab.json").write_text(json.dumps(own))
    source, target = Tokenizer.pair_from_folder(marian_folder)
    assert (source.eos_id, target.eos_id) == (0, 1) and target.vocabulary_size == len(own)
    Tokenizer.save_pair(marian_folder / "saved", source, target)
    assert [side.to_json() for side in Tokenizer.pair_from_folder(marian_folder / "saved")] == [
        source.to_json(),
        target.to_json(),
    ]


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["</s>", "<unk>", "x", "y"], r"source\.spm and its vocabulary do not belong together: 0 of \d+ pieces"),
        (["<unk>", *VOCABULARY[2:]], r"lacks \['</s>'\]"),
    ],
)
def test_wrong_pairings(marian_folder, vocabulary, message):
    (marian_folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(vocabulary)}))
    with pytest.raises(ValueError, match=message):
        Tokenizer.pair_from_folder(marian_folder)


def test_incomplete_folders(marian_folder):
    (marian_folder / "vocab.json").write_text('{"</s>": 0, "<unk>": 2}')
    with pytest.raises(ValueError, match="are not 0 to 1, each once"):
        Tokenizer.pair_from_folder(marian_folder)
    kept = {name: (marian_folder / name).read_bytes() for name in ("source.spm", "target.spm")}
    for absent in kept:
        for name, content in kept.items():
            (marian_folder / name).write_bytes(content)
        (marian_folder / absent).unlink()
        with pytest.raises(ValueError, match=re.escape(f"lacks {absent}")):
            Tokenizer.pair_from_folder(marian_folder)


@pytest.mark.integration
def test_unigram_tokenizers_can_be_marians():
    unigram, other = (
        tokenizers.Tokenizer.from_str(Tokenizer.train(["the cat", "ein Hund"], size, model=model).to_json())
        for model, size in (("unigram", 40), ("byte_pair", 300))
    )
    assert marian_tokenizers.can_be(unigram) and not marian_tokenizers.can_be(other)
    files = marian_tokenizers.files(unigram, unigram)
    assert files.keys() == {"source.spm", "target.spm", "vocab.json"} and files["source.spm"] == files["target.spm"]
    assert json.loads(files["vocab.json"]) == unigram.get_vocab()
    again = marian_tokenizers.build(spm_file.parse(files["source.spm"]), unigram.get_vocab())
    assert again.encode("the Hund").ids == unigram.encode("the Hund").ids
