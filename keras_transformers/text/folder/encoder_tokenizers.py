"""The pipelines of encoders (XLM-R, CamemBERT, ALBERT, DeBERTa-v2 and v3) from their SentencePiece models alone.

They are the pipelines that the classes of `transformers` build. All but DeBERTa's drop all whitespace of a text and put
"▁" before each word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from keras_transformers.text.pipelines.components import A, B, Piece, make_template
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import BEGIN, END, PAD, SPACE, UNKNOWN_TOKEN
from keras_transformers.text.sentencepiece.spm_file import UNIGRAM, SentencePieceModel
from keras_transformers.text.vocabularies import wordpiece_vocabulary
from keras_transformers.text.vocabularies.wordpiece_vocabulary import CLS, SEP

MASK = "<mask>"  # the last id of XLM-R and CamemBERT
FAIRSEQ = (UNKNOWN_TOKEN, BEGIN, END)  # the first pieces of their models
UNUSED = -100.0  # added to the score of a piece that no text is to be cut into
Rows = list[tuple[str, float]]


def build_xlm_roberta(model: SentencePieceModel, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Build XLM-R's pipeline: fairseq's four first tokens, then the pieces, <mask> last.

    Args:
        model: A unigram model that begins with <unk>, <s> and </s>.
        options: The values of tokenizer_config.json.
    """
    _check(model, "XLM-R's sentencepiece.bpe.model", first=FAIRSEQ)
    first = [(token, 0.0) for token in (BEGIN, PAD, END, UNKNOWN_TOKEN)]
    return _fairseq_pipeline([*first, *_rows(model)[3:], (MASK, 0.0)], model, options)


def build_camembert(model: SentencePieceModel, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Build CamemBERT's pipeline: as XLM-R's, but fairseq's tokens do not replace the model's."""
    _check(model, "CamemBERT's sentencepiece.bpe.model", first=FAIRSEQ)
    first = [("<s>NOTUSED", 0.0), (PAD, 0.0), ("</s>NOTUSED", 0.0), (UNKNOWN_TOKEN, 0.0), ("<unk>NOTUSED", UNUSED)]
    return _fairseq_pipeline([*first, *_rows(model)[1:], (MASK, 0.0)], model, options)


def build_albert(model: SentencePieceModel, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Build ALBERT's pipeline, with the ids of the model.

    Pieces that end in a digit and a comma are not used, as ALBERT was trained without them. This is the rule of the
    tokenizer.json that ALBERT's repositories hold; `transformers` 5.24 does not follow it when it reads spiece.model.
    """
    _check(model, "ALBERT's spiece.model", first=(PAD, UNKNOWN_TOKEN), held=(CLS, SEP))
    rows = [(text, score + UNUSED if _ends_in_number_and_comma(text) else score) for text, score in _rows(model)]
    rewrite: list[Any] = [normalizers.Replace(quotes, '"') for quotes in ("``", "''")]
    if not options.get("keep_accents"):
        rewrite += [normalizers.NFKD(), normalizers.StripAccents()]
    if options.get("do_lower_case") is not False:
        rewrite += [normalizers.Lowercase()]
    if model.charsmap:
        rewrite += [normalizers.Precompiled(model.charsmap)]
    library = _words_pipeline(rows, 1, options)
    library.normalizer = normalizers.Sequence(rewrite)
    _put_around(library)
    return library


def build_deberta(model: SentencePieceModel, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Build DeBERTa-v3's pipeline, with the ids of the model; spaces at the beginning of a text are kept."""
    _check(model, "DeBERTa's spm.model", held=(CLS, SEP))
    library = tokenizers.Tokenizer(models.Unigram(_rows(model), model.unk_id, False))
    spaces = [normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(), normalizers.Strip(left=False)]
    lower = [normalizers.Lowercase()] if options.get("do_lower_case") else []
    library.normalizer = normalizers.Sequence([*lower, *spaces])
    marks = [pre_tokenizers.Punctuation("isolated")] if options.get("split_by_punct") else []
    _mark_spaces(library, marks, "first" if options.get("add_prefix_space") is False else "always")
    _put_around(library)
    return library


def _fairseq_pipeline(rows: Rows, model: SentencePieceModel, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    library = _words_pipeline(rows, 3, options)
    if model.charsmap:
        library.normalizer = normalizers.Precompiled(model.charsmap)
    vocabulary = library.get_vocab()
    ids = {token: vocabulary[token] for token in (BEGIN, END)}
    pair: list[tuple[Piece, int]] = [(piece, 0) for piece in (BEGIN, A, END, END, B, END)]
    library.post_processor = make_template([BEGIN, A, END], pair, ids)
    return library


def _words_pipeline(rows: Rows, unk_id: int, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Build a pipeline that splits texts at whitespace."""
    library = tokenizers.Tokenizer(models.Unigram(rows, unk_id, False))
    scheme = "never" if options.get("add_prefix_space") is False else "always"
    _mark_spaces(library, [pre_tokenizers.WhitespaceSplit()], scheme)
    return library


def _mark_spaces(library: tokenizers.Tokenizer, splitters: Sequence[Any], scheme: str) -> None:
    library.pre_tokenizer = pre_tokenizers.Sequence([*splitters, pre_tokenizers.Metaspace(SPACE, scheme)])
    library.decoder = decoders.Metaspace(SPACE, scheme)


def _put_around(library: tokenizers.Tokenizer) -> None:
    vocabulary = library.get_vocab()
    library.post_processor = wordpiece_vocabulary.template((CLS, vocabulary[CLS]), (SEP, vocabulary[SEP]))


def _check(model: SentencePieceModel, name: str, first: Sequence[str] = (), held: Sequence[str] = ()) -> None:
    """Refuse a model that does not begin with the pieces `first`, or lacks one of `held`."""
    texts = [piece.text for piece in model.pieces]
    if model.kind != UNIGRAM or texts[: len(first)] != [*first] or not {*texts} >= {*held}:
        begins = f", that begins with {', '.join(first)}" if first else ""
        holds = f", with {', '.join(held)}" if held else ""
        raise ValueError(f"Expected {name}, a unigram model{begins}{holds}: received another model.")


def _rows(model: SentencePieceModel) -> Rows:
    return [(piece.text, piece.score) for piece in model.pieces]


def _ends_in_number_and_comma(piece: str) -> bool:
    return piece[-1:] == "," and piece[-2:-1].isdigit()
