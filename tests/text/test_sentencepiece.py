"""SentencePiece models as pipelines: generic ones, T5's folder, Marian's pair of tokenizers."""

from __future__ import annotations

import json
import re

import pytest
import tensorflow as tf

from keras_transformers.text import spm_file
from keras_transformers.text.charsmap import compile_rules
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.spm_file import BPE, BYTE, CONTROL, UNKNOWN, USER_DEFINED, Piece, SentencePieceModel
from keras_transformers.text.tokenizer import Tokenizer

SYMBOLS = (Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL), Piece("</s>", 0.0, CONTROL))
LETTERS = tuple(Piece(letter, -5.0) for letter in "▁abcdt")
WORDS = (Piece("▁a", -2.0), Piece("cat", -3.0), Piece("▁cat", -4.0), Piece("at", -3.5))
MODEL = SentencePieceModel((*SYMBOLS, *LETTERS, *WORDS), charsmap=compile_rules({"C": "c", "\t": " ", "ﬁ": "fi"}))
BYTES = tuple(Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256))


def tokenizer(tmp_path, **changes) -> Tokenizer:
    (tmp_path / "x.model").write_bytes(spm_file.serialize(SentencePieceModel(**{**MODEL.__dict__, **changes})))
    return Tokenizer.from_sentencepiece(tmp_path / "x.model")


def tokens(made: Tokenizer, text: str) -> list[str]:
    """The library's, and the same of the graph."""
    row = made.encode([text], special_tokens=False)[0].ids
    assert compile_text(made.to_json(), pad_id=0).tokenize([text]).to_list() == [row]
    return [made.id_to_token(i) for i in row]


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


def test_spaces_as_the_model_says(tmp_path):
    kept = tokenizer(tmp_path, extra_spaces=True)
    assert tokens(kept, " a  cat ") == ["▁", "▁a", "▁", "▁cat", "▁"]
    bare = tokenizer(tmp_path, dummy_prefix=False)
    assert tokens(bare, "cat a") == ["cat", "▁a"] and bare.decode(bare.encode(["cat a"])[0].ids) == "cat a"
    across = tokenizer(tmp_path, pieces=(*SYMBOLS, *LETTERS, Piece("a▁c", -1.0)))
    assert tokens(across, "ta cat") == ["▁", "t", "a▁c", "a", "t"]


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
    assert (config["tokenizer_class"], config["extra_ids"], config["eos_token"]) == ("T5Tokenizer", 100, "</s>")
    again = Tokenizer.from_folder(tmp_path / "saved")
    assert again.to_json() == made.to_json()
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice" / "spiece.model").is_file()
    source, target = Tokenizer.pair_from_folder(tmp_path)
    assert source is target and source.to_json() == made.to_json()


def test_other_folders_with_t5s_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Cannot build a PegasusTokenizer .* Provide its tokenizer\.json"):
        Tokenizer.from_folder(t5_folder(tmp_path, {"tokenizer_class": "PegasusTokenizer"}))
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "spiece.model").write_bytes(spm_file.serialize(MODEL)[:50])
    with pytest.raises(ValueError, match=r"spiece\.model cannot be used: it is not a whole"):
        Tokenizer.from_folder(tmp_path)


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
