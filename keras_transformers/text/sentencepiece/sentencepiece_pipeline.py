"""Pipelines of tokenizer.json from SentencePiece models."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from keras_transformers.text.sentencepiece.spm_file import (
    BPE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    SentencePieceModel,
)

SPACE = "▁"
RUNS, ENDS = " {2,}", r"\A +| +\z"  # spaces that SentencePiece replaces by one space, and drops
BEGIN, END, UNKNOWN_TOKEN, PAD = "<s>", "</s>", "<unk>", "<pad>"
# Scores of tokens that are only in the vocabulary: a letter scores above an unknown one, a longer token is never used.
FOREIGN_LETTER, FOREIGN = -1e6, -1e9
LEAST_SHARE = 0.5  # minimum share of a model's pieces in its vocabulary; below it, they do not belong together


def build(model: SentencePieceModel, vocabulary: dict[str, int] | None = None) -> tokenizers.Tokenizer:
    """Build the pipeline that gives the ids of the sentencepiece library.

    The two differ in two cases. Control symbols and <unk> typed in the text are tokens here; they are cut out, with
    user-defined symbols, before any other step. A grapheme cluster is normalised as a whole if it is short, else
    character by character; SentencePiece takes the longest match.

    Args:
        model: Cuts the text into pieces.
        vocabulary: Token to id, if the ids are not the model's (Marian's vocab.json). Pieces that are not in it are not
            used. It may give ids to characters that the model does not know.
    """
    ids = {piece.text: i for i, piece in enumerate(model.pieces)} if vocabulary is None else vocabulary
    unknown = model.pieces[model.unk_id].text if vocabulary is None else UNKNOWN_TOKEN
    library = tokenizers.Tokenizer((_byte_pair if model.kind == BPE else _unigram)(model, ids, unknown))
    add_pipeline(library, model, [normalizers.Precompiled(model.charsmap)] if model.charsmap else [])
    add_symbols(library, model)
    return library


def count_absent(model: SentencePieceModel, vocabulary: Container[str], path: Any) -> int:
    """Count the pieces that a vocabulary has no id for.

    Args:
        path: Path of the model, for the error message.

    Raises:
        ValueError: Most pieces have no id.
    """
    pieces = [piece.text for piece in model.pieces if piece.kind == NORMAL]
    known = sum(text in vocabulary for text in pieces)
    if known < LEAST_SHARE * len(pieces):
        raise ValueError(
            f"{path} and its vocabulary do not belong together: {known} of {len(pieces)} pieces have an id. Expected "
            "the files of one model."
        )
    return len(pieces) - known


def add_pipeline(
    library: tokenizers.Tokenizer, model: SentencePieceModel, rewrite: list[normalizers.Normalizer]
) -> None:
    """Set the normaliser (`rewrite`, then spaces as SentencePiece writes them), pre-tokeniser and decoder."""
    steps = [*rewrite]
    if not model.extra_spaces:
        steps += [normalizers.Replace(Regex(RUNS), " "), normalizers.Replace(Regex(ENDS), "")]
    if model.dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    library.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])
    if not any(SPACE in piece.text[1:] for piece in model.pieces if piece.kind == NORMAL):
        library.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "never", split=True)
    joined = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if model.dummy_prefix:
        joined.append(decoders.Strip(" ", 1, 0))
    library.decoder = decoders.Sequence(joined)


def add_symbols(
    library: tokenizers.Tokenizer, model: SentencePieceModel, but: Container[str] = (), special: Container[str] = ()
) -> None:
    """Add control symbols and <unk> as special tokens, and user-defined symbols as other added tokens.

    Args:
        but: Symbols that are not added.
        special: User-defined symbols that are special tokens, too.
    """
    known = [
        piece for piece in model.pieces if piece.kind in (CONTROL, UNKNOWN, USER_DEFINED) and piece.text not in but
    ]
    library.add_tokens(
        [
            AddedToken(piece.text, special=piece.kind != USER_DEFINED or piece.text in special, normalized=False)
            for piece in known
            if library.token_to_id(piece.text) is not None
        ]
    )


def build_t5(model: SentencePieceModel, extra_ids: int) -> tokenizers.Tokenizer:
    """Build the pipeline of `transformers` for T5's spiece.model: <extra_id_0> is the last id, texts end in </s>."""
    if model.kind == BPE or END not in {piece.text for piece in model.pieces}:
        raise ValueError(f"Expected T5's spiece.model, a unigram model with {END}: received another model.")

    extra = [f"<extra_id_{i}>" for i in range(extra_ids)][::-1]
    vocabulary = [*((piece.text, piece.score) for piece in model.pieces), *((token, 0.0) for token in extra)]
    library = tokenizers.Tokenizer(models.Unigram(vocabulary, model.unk_id, model.byte_fallback))

    if model.charsmap:
        library.normalizer = normalizers.Precompiled(model.charsmap)
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, "always", split=True)]
    library.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    library.decoder = decoders.Metaspace(SPACE, "always", split=True)

    add_symbols(library, model)
    library.add_special_tokens(extra)
    end_texts(library, pair=f"$A {END} $B {END}")
    return library


def build_llama(model: SentencePieceModel, begins: bool, ends: bool) -> tokenizers.Tokenizer:
    """Build the pipeline of `transformers` for Llama's tokenizer.model, with `"legacy": false` in
    tokenizer_config.json.

    A text that begins with a space gets no second one, unlike in the sentencepiece library.

    Args:
        model: Byte pairs; characters that are in no piece are spelled in bytes.
        begins, ends: Whether <s> is put before a text, and </s> after it.
    """
    ids = {piece.text: i for i, piece in enumerate(model.pieces)}
    if model.kind != BPE or not model.byte_fallback or model.charsmap or not ids.keys() >= {BEGIN, END}:
        raise ValueError(
            f"Expected Llama's tokenizer.model, byte pairs without a normaliser, with {BEGIN}, {END} and all bytes: "
            "received another model."
        )
    library = tokenizers.Tokenizer(_byte_pair(model, ids, model.pieces[model.unk_id].text))
    library.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first", split=False)
    library.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    add_symbols(library, model)
    before, after = ([BEGIN] if begins else []), ([END] if ends else [])
    text, other = ([*before, side, *after] for side in ("$A", "$B"))
    pair = [*text, *(f"{part}:1" for part in other)]
    symbols = [(token, ids[token]) for token in (BEGIN, END)]
    library.post_processor = processors.TemplateProcessing(text, pair, symbols)
    return library


def end_texts(library: tokenizers.Tokenizer, pair: str) -> None:
    """Let texts end in </s>."""
    end = [(END, library.token_to_id(END))]
    library.post_processor = processors.TemplateProcessing(f"$A {END}", pair, end)


def byte_pair_merges(model: SentencePieceModel, ids: dict[str, int]) -> list[tuple[str, str]]:
    """Return all merges of two pieces into a third: the best score first, of equal scores the longest left part."""
    scores = {piece.text: piece.score for piece in model.pieces if piece.kind == NORMAL and piece.text in ids}
    cuts = [(text, i) for text in scores for i in range(1, len(text)) if text[:i] in scores and text[i:] in scores]
    return [(text[:i], text[i:]) for text, i in sorted(cuts, key=lambda cut: (-scores[cut[0]], -cut[1]))]


def _unigram(model: SentencePieceModel, ids: dict[str, int], unknown: str) -> models.Unigram:
    scores = {piece.text: piece.score for piece in model.pieces}
    in_order = sorted(ids, key=lambda text: ids[text])
    rows = [(text, scores.get(text, FOREIGN if len(text) > 1 else FOREIGN_LETTER)) for text in in_order]
    return models.Unigram(rows, ids[unknown], model.byte_fallback)


def _byte_pair(model: SentencePieceModel, ids: dict[str, int], unknown: str) -> models.BPE:
    merges = byte_pair_merges(model, ids)
    return models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=model.byte_fallback)
