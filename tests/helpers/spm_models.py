"""A small SentencePiece model, and the tokens that library and graph cut a text into."""

from __future__ import annotations

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece.charsmap import compile_rules
from keras_transformers.text.sentencepiece.spm_file import (
    BPE,
    BYTE,
    CONTROL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    SentencePieceModel,
)
from keras_transformers.text.tokenizer import Tokenizer

SYMBOLS = (Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL), Piece("</s>", 0.0, CONTROL))
LETTERS = tuple(Piece(letter, -5.0) for letter in "▁abcdt")
WORDS = (Piece("▁a", -2.0), Piece("cat", -3.0), Piece("▁cat", -4.0), Piece("at", -3.5))
MODEL = SentencePieceModel((*SYMBOLS, *LETTERS, *WORDS), charsmap=compile_rules({"C": "c", "\t": " ", "ﬁ": "fi"}))

BYTES = tuple(Piece(f"<0x{number:02X}>", 0.0, BYTE) for number in range(256))
MERGED = tuple(Piece(text, -i) for i, text in enumerate(["▁a", "ca", "cat", "▁cat", "▁", "a", "c", "t"], 1))
LLAMA = SentencePieceModel((*SYMBOLS, *BYTES, *MERGED), kind=BPE, byte_fallback=True, extra_spaces=True)

# Small models of encoders, by the classes of their tokenizers.
RULES = compile_rules({"ﬁ": "fi", "①": "1", "\u0301": "", "\u3000": " "})
PIECES = (*LETTERS, *WORDS, *(Piece(text, -6.0) for text in "1,\"'.ieéC"), Piece("1,", -3.0), Piece("▁1,1", -9.0))


def encoder(*symbols: Piece) -> SentencePieceModel:
    return SentencePieceModel((*symbols, *PIECES), charsmap=RULES)


def control(*texts: str) -> list[Piece]:
    return [Piece(text, 0.0, CONTROL) for text in texts]


ENCODERS = {
    "AlbertTokenizer": encoder(
        *control("<pad>"),
        Piece("<unk>", 0.0, UNKNOWN),
        *control("[CLS]", "[SEP]", "[MASK]"),
        *(Piece(text, 0.0, USER_DEFINED) for text in "(-"),
    ),
    "CamembertTokenizer": encoder(*SYMBOLS),
    "DebertaV2Tokenizer": encoder(*control("[PAD]", "[CLS]", "[SEP]"), Piece("[UNK]", 0.0, UNKNOWN)),
    "XLMRobertaTokenizer": encoder(*SYMBOLS),
}


def tokens(made: Tokenizer, text: str) -> list[str]:
    """The library's, and the same of the graph."""
    row = made.encode([text], special_tokens=False)[0].ids
    assert compile_text(made.to_json(), pad_id=0).tokenize([text]).to_list() == [row]
    return [made.id_to_token(i) for i in row]
