"""SentencePiece files are read and written, and refused where they are broken."""

from __future__ import annotations

import struct

import pytest

from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import (
    BPE,
    BYTE,
    CONTROL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    SentencePieceModel,
)

PIECES = (Piece("<unk>", 0.0, UNKNOWN), Piece("</s>", 0.0, CONTROL), Piece("▁a", -1.5), Piece("<0x41>", 0.0, BYTE))
MODEL = SentencePieceModel(PIECES, BPE, b"\x04\x00", True, False, True)


def field(number: int, wire: int, content: bytes) -> bytes:
    return bytes([number << 3 | wire]) + (bytes([len(content)]) if wire == 2 else b"") + content


def piece(text: str, score: float, kind: int | None = None) -> bytes:
    content = field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score))
    return field(1, 2, content + (field(3, 0, bytes([kind])) if kind else b""))


# The bytes that protobuf's documentation prescribes, written here by hand: defaults are left out.
UNIGRAM = piece("<unk>", 0.0, UNKNOWN) + piece("▁b", -2.25)
TRAINER, NORMALIZER = field(2, 2, field(3, 0, b"\x01")), field(3, 2, field(1, 2, b"nfkc"))


def test_a_file_by_hand():
    expected = SentencePieceModel((Piece("<unk>", 0.0, UNKNOWN), Piece("▁b", -2.25)))
    assert spm_file.parse(UNIGRAM + TRAINER + NORMALIZER) == expected
    assert spm_file.parse(TRAINER + field(7, 2, b"later") + NORMALIZER + UNIGRAM) == expected
    assert expected.unk_id == 0 and expected.dummy_prefix and not expected.extra_spaces


def test_what_is_written_is_read(tmp_path):
    pieces = (*PIECES, Piece("x" * 300, -123.456, USER_DEFINED))
    model = SentencePieceModel(tuple(Piece(t, struct.unpack("<f", struct.pack("<f", s))[0], k) for t, s, k in pieces))
    (tmp_path / "a.spm").write_bytes(spm_file.serialize(model))
    assert spm_file.read(tmp_path / "a.spm") == model
    assert spm_file.parse(spm_file.serialize(MODEL)) == MODEL


def test_every_truncated_file_is_refused(tmp_path):
    data, path = spm_file.serialize(MODEL), tmp_path / "source.spm"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"source\.spm cannot be used: it is not a whole SentencePiece model"):
            spm_file.read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "not a whole SentencePiece model"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "a number in it has no end"),
        (field(1, 2, field(1, 2, b"\xff")) + UNIGRAM + TRAINER + NORMALIZER, "a piece is not UTF-8"),
        (field(1, 2, field(3, 0, b"\x01")) + UNIGRAM + TRAINER + NORMALIZER, "a piece has no text"),
        (field(1, 0, b"\x01") + UNIGRAM + TRAINER + NORMALIZER, "a field is int, not bytes"),
        (
            field(1, 2, field(1, 2, b"a") + field(2, 2, b"ab")) + UNIGRAM + TRAINER + NORMALIZER,
            "the score of piece 'a'",
        ),
        (piece("a", 0.0) + TRAINER + NORMALIZER, "0 of its pieces are the unknown one"),
        (UNIGRAM * 2 + TRAINER + NORMALIZER, "2 of its pieces are the unknown one"),
        (UNIGRAM + field(2, 2, field(3, 0, b"\x03")) + NORMALIZER, "of the kind 3"),
        (UNIGRAM + field(2, 2, field(3, 0, b"\x01") + b"\xc0\x01\x01") + NORMALIZER, "treat_whitespace_as_suffix"),
        (UNIGRAM + TRAINER + field(3, 2, field(5, 0, b"\x00")), "escape_whitespaces=false"),
        (UNIGRAM + piece("c", -1.0, spm_file.UNUSED) + TRAINER + NORMALIZER, "unused pieces"),
        (UNIGRAM + TRAINER + NORMALIZER + field(5, 2, field(2, 2, b"x")), "denormaliser"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        spm_file.parse(data)


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"No SentencePiece model at .*x\.spm"):
        spm_file.read(tmp_path / "x.spm")
