"""SentencePiece models as pipelines of tokenizer.json."""

from __future__ import annotations

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from keras_transformers.text.spm_file import BPE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, SentencePieceModel

SPACE = "▁"
RUNS, ENDS = " {2,}", r"\A +| +\z"  # the spaces of which SentencePiece keeps one, or none
END = "</s>"


def build(model: SentencePieceModel) -> tokenizers.Tokenizer:
    """The pipeline that gives the ids of the sentencepiece library.

    Where the two differ: control symbols and <unk> typed in the text are themselves, and are cut out, with
    user-defined symbols, before anything else; a cluster of letter and marks is normalised as a whole if it is short,
    else character by character, where SentencePiece takes the longest match.
    """
    library = tokenizers.Tokenizer(_byte_pair(model) if model.kind == BPE else _unigram(model))
    steps = [*_charsmap(model)]
    if not model.extra_spaces:
        steps += [normalizers.Replace(Regex(RUNS), " "), normalizers.Replace(Regex(ENDS), "")]
    steps += [normalizers.Prepend(SPACE)] * model.dummy_prefix
    library.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])
    if not any(SPACE in piece.text[1:] for piece in model.pieces if piece.kind == NORMAL):
        library.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "never", split=True)
    joined = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    library.decoder = decoders.Sequence(joined + [decoders.Strip(" ", 1, 0)] * model.dummy_prefix)
    add_symbols(library, model)
    return library


def build_t5(model: SentencePieceModel, extra_ids: int) -> tokenizers.Tokenizer:
    """The pipeline that `transformers` makes of T5's spiece.model: <extra_id_0> is the last id, texts end in </s>."""
    if model.kind == BPE or END not in {piece.text for piece in model.pieces}:
        raise ValueError(f"T5's spiece.model is a unigram model with {END}: received another. Expected T5's.")
    extra = [f"<extra_id_{i}>" for i in range(extra_ids)][::-1]
    vocabulary = [*((piece.text, piece.score) for piece in model.pieces), *((token, 0.0) for token in extra)]
    library = tokenizers.Tokenizer(models.Unigram(vocabulary, model.unk_id, model.byte_fallback))
    if steps := _charsmap(model):
        library.normalizer = steps[0]
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, "always", split=True)]
    library.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    library.decoder = decoders.Metaspace(SPACE, "always", split=True)
    add_symbols(library, model)
    library.add_special_tokens(extra)
    library.post_processor = end_template(library, pair="$A </s> $B </s>")
    return library


def end_template(library: tokenizers.Tokenizer, pair: str) -> processors.TemplateProcessing:
    """Texts end in </s>."""
    return processors.TemplateProcessing(f"$A {END}", pair, [(END, library.token_to_id(END))])


def add_symbols(library: tokenizers.Tokenizer, model: SentencePieceModel) -> None:
    """Let control symbols and <unk> be special tokens, and user-defined symbols added ones."""
    kinds = {CONTROL: True, UNKNOWN: True, USER_DEFINED: False}
    known = [piece for piece in model.pieces if piece.kind in kinds and library.token_to_id(piece.text) is not None]
    library.add_tokens([AddedToken(p.text, special=kinds[p.kind], normalized=False) for p in known])


def byte_pair_merges(model: SentencePieceModel) -> list[tuple[str, str]]:
    """All ways to merge two pieces into a third: the best score first, of equal scores the longest left part."""
    scores = {piece.text: piece.score for piece in model.pieces if piece.kind == NORMAL}
    cuts = [(text, i) for text in scores for i in range(1, len(text)) if text[:i] in scores and text[i:] in scores]
    return [(text[:i], text[i:]) for text, i in sorted(cuts, key=lambda cut: (-scores[cut[0]], -cut[1]))]


def _charsmap(model: SentencePieceModel) -> list[normalizers.Normalizer]:
    return [normalizers.Precompiled(model.charsmap)] if model.charsmap else []


def _unigram(model: SentencePieceModel) -> models.Unigram:
    return models.Unigram([(piece.text, piece.score) for piece in model.pieces], model.unk_id, model.byte_fallback)


def _byte_pair(model: SentencePieceModel) -> models.BPE:
    return models.BPE(
        {piece.text: i for i, piece in enumerate(model.pieces)},
        byte_pair_merges(model),
        unk_token=model.pieces[model.unk_id].text,
        fuse_unk=True,
        byte_fallback=model.byte_fallback,
    )
