"""The tokenizers of Marian's translation models: one for the source, one for the target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken

from keras_transformers.text.sentencepiece import sentencepiece_pipeline, spm_file
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import END, PAD, UNKNOWN_TOKEN
from keras_transformers.text.vocabularies import byte_pair_vocabulary, unigram_vocabulary
from keras_transformers.utils.untrusted import read_bytes

SIDES = ("source.spm", "target.spm")
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"


def read(folder: Path, options: dict[str, Any]) -> list[tuple[tokenizers.Tokenizer, dict[str, bytes]]]:
    """Read the tokenizers of source and target, each with its files.

    Args:
        folder: Folder of source.spm, target.spm and vocab.json; and target_vocab.json, with the option
            `separate_vocabs`.
        options: The content of tokenizer_config.json.
    """
    vocabularies = (VOCABULARY, TARGET_VOCABULARY if options.get("separate_vocabs") else VOCABULARY)
    needed = dict.fromkeys((*SIDES, *vocabularies))
    if absent := [name for name in needed if not (folder / name).is_file()]:
        raise ValueError(f"{folder} lacks {', '.join(absent)}: a translation model needs {', '.join(needed)}.")
    pair = []
    for model, vocabulary in zip(SIDES, vocabularies, strict=True):
        library = build(
            spm_file.read(folder / model), byte_pair_vocabulary.read_vocabulary(folder / vocabulary), folder / model
        )
        pair.append((library, {name: read_bytes(folder / name) for name in (model, vocabulary)}))
    return pair


def build(
    model: spm_file.SentencePieceModel, vocabulary: dict[str, int], path: str | Path = "The model"
) -> tokenizers.Tokenizer:
    """Build one side's pipeline: the model cuts texts into pieces, the vocabulary gives their ids, </s> ends a text.

    `transformers`, which runs the sentencepiece library, differs in two cases. There a piece that is not in the
    vocabulary becomes <unk>; here smaller pieces are used. There successive characters that the model does not know are
    looked up as one token; here each gets its id if the vocabulary has one (from the other side).

    Args:
        path: Path of the model, for error messages.
    """
    if absent := [token for token in (END, UNKNOWN_TOKEN) if token not in vocabulary]:
        raise ValueError(f"The vocabulary beside {path} lacks {absent}. Expected Marian's vocab.json.")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"The ids of the vocabulary beside {path} are not 0 to {len(vocabulary) - 1}, each once.")

    sentencepiece_pipeline.count_absent(model, vocabulary, path)
    library = sentencepiece_pipeline.build(model, vocabulary)
    library.add_special_tokens([token for token in (END, UNKNOWN_TOKEN, PAD) if token in vocabulary])
    codes = [token for token in vocabulary if token.startswith(">>") and token.endswith("<<")]
    library.add_tokens([AddedToken(code, normalized=False) for code in codes])  # ">>deu<<": the target language
    sentencepiece_pipeline.end_texts(library, pair=f"$A $B {END}")
    return library


def can_be(library: tokenizers.Tokenizer) -> bool:
    """Return whether a tokenizer can be written as Marian's: a unigram model with </s>."""
    pipeline = json.loads(library.to_str())
    return pipeline["model"]["type"] == "Unigram" and library.token_to_id(END) is not None


def files(source: tokenizers.Tokenizer, target: tokenizers.Tokenizer) -> dict[str, bytes]:
    """Return Marian's files, name to content, for tokenizers that were not read from such files."""
    sides = [_written(source)] * 2 if target is source else [_written(source), _written(target)]
    written = {name: model for name, (model, _) in zip(SIDES, sides, strict=True)}
    written[VOCABULARY] = sides[0][1]
    if sides[0][1] != sides[1][1]:
        written[TARGET_VOCABULARY] = sides[1][1]
    return written


def _written(library: tokenizers.Tokenizer) -> tuple[bytes, bytes]:
    """Return the contents of a tokenizer's .spm file and vocab.json."""
    model = spm_file.serialize(unigram_vocabulary.model_of(json.loads(library.to_str())))
    vocabulary = dict(sorted(library.get_vocab().items(), key=lambda item: item[1]))
    return model, json.dumps(vocabulary, ensure_ascii=False, indent=2).encode()
