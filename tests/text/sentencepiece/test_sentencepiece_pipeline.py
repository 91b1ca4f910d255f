"""SentencePiece models as pipelines: generic ones, and T5's folder."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf
from spm_models import LETTERS, MODEL, SYMBOLS, tokens

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import BPE, BYTE, USER_DEFINED, Piece, SentencePieceModel
from keras_transformers.text.tokenizer import Tokenizer

BYTES = tuple(Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256))


def tokenizer(tmp_path, **changes) -> Tokenizer:
    (tmp_path / "x.model").write_bytes(spm_file.serialize(SentencePieceModel(**{**MODEL.__dict__, **changes})))
    return Tokenizer.from_sentencepiece(tmp_path / "x.model")


@pytest.mark.integration(quick=["-pieces3"])
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a cat", ["▁a", "▁cat"]),
        ("  a \t Cat ", ["▁a", "▁cat"]),
        ("acat", ["▁a", "cat"]),
        ("", []),
        (" \t ", []),
        ("zz cat", ["▁", "<unk>", "▁cat"]),
        ("a</s>a", ["▁a", "</s>", "▁a"]),
    ],
)
def test_a_unigram_model(tmp_path, text, pieces):
    made = tokenizer(tmp_path)
    assert tokens(made, text) == pieces
    assert made.token_to_id("▁a") == 9 and made.special_ids == (0, 1, 2)


def test_decoded_text(tmp_path):
    made = tokenizer(tmp_path)
    rows = [made.encode([text])[0].ids for text in ("a cat", " cat at", "")]
    assert made.decode(rows) == ["a cat", "cat at", ""]
    graph = compile_text(made.to_json(), pad_id=0)
    assert graph.decode(tf.ragged.constant(rows).to_tensor(-1)).numpy().tolist() == [b"a cat", b"cat at", b""]


@pytest.mark.integration
def test_spaces_as_the_model_says(tmp_path):
    kept = tokenizer(tmp_path, extra_spaces=True)
    assert tokens(kept, " a  cat ") == ["▁", "▁a", "▁", "▁cat", "▁"]
    bare = tokenizer(tmp_path, dummy_prefix=False)
    assert tokens(bare, "cat a") == ["cat", "▁a"] and bare.decode(bare.encode(["cat a"])[0].ids) == "cat a"
    across = tokenizer(tmp_path, pieces=(*SYMBOLS, *LETTERS, Piece("a▁c", -1.0)))
    assert tokens(across, "ta cat") == ["▁", "t", "a▁c", "a", "t"]


@pytest.mark.integration
def test_bytes_and_symbols(tmp_path):
    made = tokenizer(tmp_path, pieces=(*MODEL.pieces, *BYTES), byte_fallback=True)
    assert tokens(made, "aé") == ["▁a", "<0xC3>", "<0xA9>"]
    assert made.decode(made.encode(["aé"])[0].ids) == "aé"
    made = tokenizer(tmp_path, pieces=(*MODEL.pieces, Piece("<sep>", 0.0, USER_DEFINED)))
    assert tokens(made, "a<sep>a") == ["▁a", "<sep>", "▁a"] and made.special_ids == (0, 1, 2)


def test_a_byte_pair_model(tmp_path):
    """The best score merges first: "at", then "cat"; "ca" comes too late."""
    merged = [Piece(text, float(-rank)) for rank, text in enumerate(("at", "cat", "ca", "▁cat"))]
    made = tokenizer(tmp_path, pieces=(*SYMBOLS, *merged, *LETTERS), kind=BPE)
    assert tokens(made, "cat cab zz") == ["▁cat", "▁", "ca", "b", "▁", "<unk>"]


def t5_folder(folder, config: dict | None = None):
    (folder / "spiece.model").write_bytes(spm_file.serialize(MODEL))
    (folder / "tokenizer_config.json").write_text(json.dumps(config or {}))
    return folder


@pytest.mark.integration
def test_t5s_folder(tmp_path):
    """</s> ends texts; sentinels are numbered from the end (Raffel et al., 2020)."""
    made = Tokenizer.from_folder(t5_folder(tmp_path))
    assert made.vocabulary_size == len(MODEL.pieces) + 100
    assert made.token_to_id("<extra_id_0>") == made.vocabulary_size - 1
    assert made.token_to_id("<extra_id_99>") == len(MODEL.pieces)
    assert tokens(made, "a<extra_id_0> cat") == ["▁a", "<extra_id_0>", "▁cat"]
    assert made.encode(["a"], ["cat"])[0].ids == [9, 2, 11, 2]
    made.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "spiece.model").read_bytes() == (tmp_path / "spiece.model").read_bytes()
    config = json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())
    assert (config["tokenizer_class"], config["extra_ids"]) == ("T5Tokenizer", 100)
    assert set(config["additional_special_tokens"]) == {f"<extra_id_{i}>" for i in range(100)}
    again = Tokenizer.from_folder(tmp_path / "saved")
    assert again.to_json() == made.to_json()
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice" / "spiece.model").is_file()
    source, target = Tokenizer.pair_from_folder(tmp_path)
    assert source is target and source.to_json() == made.to_json()


@pytest.mark.parametrize("number", [-1, 10_001, 10**30])
def test_a_number_of_sentinels_that_no_model_has(tmp_path, number):
    with pytest.raises(
        ValueError, match=r"tokenizer_config\.json: extra_ids is a number of sentinels from 0 to 10,000"
    ):
        Tokenizer.from_folder(t5_folder(tmp_path, {"extra_ids": number}))


def test_other_folders_with_t5s_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Cannot build a PegasusTokenizer .* Provide its tokenizer\.json"):
        Tokenizer.from_folder(t5_folder(tmp_path, {"tokenizer_class": "PegasusTokenizer"}))
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "spiece.model").write_bytes(spm_file.serialize(MODEL)[:50])
    with pytest.raises(ValueError, match=r"spiece\.model cannot be used: it is not a whole"):
        Tokenizer.from_folder(tmp_path)
