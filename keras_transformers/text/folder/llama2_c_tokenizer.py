"""The tokenizers of llama2.c: a SentencePiece model, or the file tokenizer.bin that its C program reads."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import tokenizers

from keras_transformers.text.folder import class_options
from keras_transformers.text.pipelines.components import A, B, make_template
from keras_transformers.text.sentencepiece import sentencepiece_pipeline
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import BEGIN, END, SPACE, UNKNOWN_TOKEN
from keras_transformers.text.sentencepiece.spm_file import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    Piece,
    SentencePieceModel,
)
from keras_transformers.utils.untrusted import read_bytes

ROLES = {"bos_token": BEGIN, "eos_token": END, "unk_token": UNKNOWN_TOKEN}
SPECIAL = {UNKNOWN_TOKEN: UNKNOWN, f"\n{BEGIN}\n": CONTROL, f"\n{END}\n": CONTROL}
BYTES = re.compile(r"<0x[0-9A-F]{2}>")


def read(path: Path) -> SentencePieceModel:
    """Read tokenizer.bin: the length of the longest piece, then for each piece its score, its length and its bytes.

    Raises:
        ValueError: It is cut short, or does not begin with the special tokens.
    """
    content, place, pieces = read_bytes(path, "a tokenizer.bin"), 4, []
    try:
        while place < len(content):
            score, size = struct.unpack_from("<fi", content, place)
            place += 8 + size
            if size < 0 or place > len(content):
                raise ValueError("a piece reaches behind the end")
            text = content[place - size : place].decode()
            kind = BYTE if BYTES.fullmatch(text) else SPECIAL.get(text, NORMAL)
            pieces.append(Piece(text.strip("\n") if kind == CONTROL else text.replace(" ", SPACE), score, kind))
    except (struct.error, ValueError) as error:
        raise ValueError(f"{path} is cut short, or no tokenizer.bin of llama2.c ({error}). Copy it again.") from error
    if [piece.text for piece in pieces[:3]] != [UNKNOWN_TOKEN, BEGIN, END]:
        raise ValueError(
            f"{path} does not begin with {UNKNOWN_TOKEN}, {BEGIN} and {END}: give llama2.c's tokenizer.bin."
        )
    return SentencePieceModel(tuple(pieces), BPE, byte_fallback=True, extra_spaces=True)


def build(model: SentencePieceModel) -> tokenizers.Tokenizer:
    """Build the pipeline of the sentencepiece library, with <s> before each text.

    Raises:
        ValueError: The model has no <s>.
    """
    library = sentencepiece_pipeline.build(model)
    begin = library.token_to_id(BEGIN)
    if begin is None:
        raise ValueError(f"it has no {BEGIN}, with which the texts of llama2.c begin. Give its tokenizer.model.")
    library.post_processor = make_template([BEGIN, A], [(BEGIN, 0), (A, 0), (B, 0)], {BEGIN: begin})
    return library


def files() -> dict[str, bytes]:
    """Return the tokenizer_config.json of such a pipeline, which no class of `transformers` builds."""
    return {class_options.CONFIG: json.dumps({class_options.CLASS: "PreTrainedTokenizerFast", **ROLES}).encode()}
