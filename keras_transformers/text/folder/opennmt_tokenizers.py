"""The tokenizers of OpenNMT-tf: a vocabulary of one token per line, with or without a SentencePiece model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import tokenizers
from tokenizers import models, pre_tokenizers

from keras_transformers.text.folder import class_options
from keras_transformers.text.pipelines.components import A, B, make_template
from keras_transformers.text.sentencepiece import sentencepiece_pipeline
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import BEGIN, END, UNKNOWN_TOKEN
from keras_transformers.text.sentencepiece.spm_file import SentencePieceModel
from keras_transformers.utils.untrusted import decoded, read_bytes, shown

BLANK = "<blank>"
SPECIAL = (BLANK, BEGIN, END)  # the first three lines
ROLES = {"pad_token": BLANK, "bos_token": BEGIN, "eos_token": END, "unk_token": UNKNOWN_TOKEN}


def read_vocabulary(path: str | Path) -> list[str]:
    """Read the tokens of a vocabulary by id; the last one, <unk>, is not in the file.

    Raises:
        ValueError: The file is no text, does not begin with the special tokens, or has an empty or repeated line.
    """
    lines = [line.rstrip("\r") for line in decoded(read_bytes(path, "a vocabulary"), path).split("\n")]
    tokens = lines[:-1] if lines[-1] == "" else lines
    if (*tokens[:3],) != SPECIAL:
        raise ValueError(f"{path} begins with {shown(tokens[:3])}: expected {list(SPECIAL)}, a line each.")
    number_of: dict[str, int] = {}
    for number, token in enumerate(tokens, 1):
        if token == "" or token in number_of:
            wrong = f"the same as line {number_of[token]}" if token else "empty"
            raise ValueError(f"line {number} of {path} is {wrong}: expected another token in each. Fetch it again.")
        number_of[token] = number
    return tokens


def build(
    tokens: Sequence[str],
    model: SentencePieceModel | None = None,
    before: Sequence[str] = (),
    behind: Sequence[str] = (),
) -> tokenizers.Tokenizer:
    """Build the pipeline of one side; <unk> gets the id after the last token.

    Args:
        tokens: Tokens by id.
        model: Cuts texts into pieces; None if texts are tokens with spaces between them.
        before, behind: Special tokens around a text. There is a template even if there are none: see
            `end_token.is_bare`.
    """
    # A <unk> in the file is a plain token, which no text ever gets: the unknown token is the last one.
    tokens = [f"{UNKNOWN_TOKEN} {number}" if token == UNKNOWN_TOKEN else token for number, token in enumerate(tokens)]
    ids = {token: number for number, token in enumerate([*tokens, UNKNOWN_TOKEN])}
    if model is None:
        library = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN_TOKEN))
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        library = sentencepiece_pipeline.build(model, ids)
    library.add_special_tokens([*SPECIAL, UNKNOWN_TOKEN])
    pair = [(piece, 0) for piece in (*before, A, B, *behind)]
    special = {token: ids[token] for token in (*before, *behind)}
    library.post_processor = make_template([*before, A, *behind], pair, special)
    return library


def files() -> dict[str, bytes]:
    """Return the tokenizer_config.json of such a pipeline, which no class of `transformers` builds."""
    return {class_options.CONFIG: json.dumps({class_options.CLASS: "PreTrainedTokenizerFast", **ROLES}).encode()}
