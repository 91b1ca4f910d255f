"""Unigram vocabularies: training, and conversion to SentencePiece models."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tokenizers
from tokenizers import models, normalizers, trainers

from keras_transformers.text.pipelines.components import component, parts
from keras_transformers.text.sentencepiece import charsmap, sentencepiece_pipeline, spm_file
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import END, PAD, UNKNOWN_TOKEN
from keras_transformers.text.vocabularies.pieces import BYTE

SPECIAL_TOKENS = (PAD, END, UNKNOWN_TOKEN)
REWRITES = ("Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt")  # normalisers that can be written as rules
SPACES = ("Prepend", "Replace")
STEP = 1e-4  # difference between consecutive scores that the trainer gives to rare letters


def train(texts: Iterable[str], size: int, lowercase: bool, special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Learn the pieces that make a corpus most likely (Kudo, 2018), the same in every run."""
    absent = {END, UNKNOWN_TOKEN}.difference(special_tokens)
    if absent or size <= len(special_tokens):
        raise ValueError(
            f"A unigram vocabulary has the special tokens {END} and {UNKNOWN_TOKEN}, and pieces: received "
            f"vocabulary_size={size} and special_tokens={list(special_tokens)}."
        )

    rewrite = [normalizers.Nmt(), normalizers.NFKC()]
    if lowercase:
        rewrite.append(normalizers.Lowercase())
    plain = spm_file.SentencePieceModel(())
    scratch = tokenizers.Tokenizer(models.Unigram())
    sentencepiece_pipeline.add_pipeline(scratch, plain, rewrite)
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(special_tokens), unk_token=UNKNOWN_TOKEN, show_progress=False
    )
    try:
        scratch.train_from_iterator(texts, trainer)
    except BaseException as error:  # the trainer panics on an empty corpus; a panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(_TOO_SMALL) from error

    rows = json.loads(scratch.to_str())["model"]["vocab"]
    learned = _in_order([(text, score) for text, score in rows if text not in special_tokens])
    if not learned:
        raise ValueError(_TOO_SMALL)

    rows = [*((token, 0.0) for token in special_tokens), *learned]
    library = tokenizers.Tokenizer(models.Unigram(rows, list(special_tokens).index(UNKNOWN_TOKEN), False))
    sentencepiece_pipeline.add_pipeline(library, plain, rewrite)
    library.add_special_tokens(list(special_tokens))
    sentencepiece_pipeline.end_texts(library, pair=f"$A {END} $B {END}")
    return library


def _in_order(learned: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Make the learned rows the same in every run, and sort them by score.

    The library's threads sum in any order, so the last digits of scores differ: scores are rounded to float32, as in
    .spm files. A randomly seeded hash map orders ties: rows of equal scores are sorted by text. Rarely used letters get
    successive scores upwards from the lowest, in any order: these are assigned again in order of text.
    """
    lowest = min((score for _, score in learned), default=0.0)
    rare = sorted(text for text, score in learned if len(text) == 1 and score < lowest + STEP * len(learned))
    scores = sorted(score for text, score in learned if text in rare)
    rows = [*(row for row in learned if row[0] not in rare), *zip(rare, scores, strict=True)]
    return sorted(((text, float(np.float32(score))) for text, score in rows), key=lambda row: (-row[1], row[0]))


_TOO_SMALL = "The corpus holds no text to train on. Expected an iterable of non-empty str."


def model_of(pipeline: dict[str, Any]) -> spm_file.SentencePieceModel:
    """Convert a unigram pipeline to a SentencePiece model that cuts texts in the same way."""
    model, steps, splitters = pipeline["model"], parts(pipeline["normalizer"]), parts(pipeline["pre_tokenizer"])
    if model["type"] != "Unigram" or model["unk_id"] is None:
        raise ValueError(f"Only a Unigram model can be written as a SentencePiece model: received {model['type']}.")

    patterns = [step["pattern"].get("Regex") for step in steps if step["type"] == "Replace"]
    prefixed = [step["type"] == "Prepend" for step in steps]
    prefixed += [part.get("prepend_scheme") in ("always", "first") for part in splitters]
    one_space = sentencepiece_pipeline.RUNS in patterns or "WhitespaceSplit" in [part["type"] for part in splitters]
    return spm_file.SentencePieceModel(
        pieces=tuple(_pieces(pipeline)),
        charsmap=_charsmap([step for step in steps if step["type"] not in SPACES]),
        byte_fallback=model["byte_fallback"],
        dummy_prefix=any(prefixed),
        extra_spaces=not one_space,
    )


def _pieces(pipeline: dict[str, Any]) -> Iterable[spm_file.Piece]:
    """Return the pieces of the vocabulary that the model uses."""
    model, special = pipeline["model"], {token["id"]: token["special"] for token in pipeline["added_tokens"]}
    for i, (text, score) in enumerate(model["vocab"]):
        if i == model["unk_id"]:
            yield spm_file.Piece(text, 0.0, spm_file.UNKNOWN)
        elif i in special:
            yield spm_file.Piece(text, 0.0, spm_file.CONTROL if special[i] else spm_file.USER_DEFINED)
        elif score > sentencepiece_pipeline.FOREIGN_LETTER:
            is_byte = model["byte_fallback"] and BYTE.fullmatch(text)
            yield spm_file.Piece(text, score, spm_file.BYTE if is_byte else spm_file.NORMAL)


def _charsmap(rewrite: list[dict[str, Any]]) -> bytes:
    kinds = [step["type"] for step in rewrite]
    if kinds == ["Precompiled"]:
        return base64.b64decode(rewrite[0]["precompiled_charsmap"])
    if unknown := sorted(set(kinds).difference(REWRITES)):
        known = ["Precompiled alone", *REWRITES, *SPACES]
        raise ValueError(f"The normaliser {unknown[0]} cannot be written as a SentencePiece model. Expected {known}.")
    sequence = component(normalizers.Sequence([]), {"type": "Sequence", "normalizers": rewrite})
    return charsmap.compile_rules(charsmap.rules_of(sequence.normalize_str)) if rewrite else b""
