"""Tokenizers from the vocabulary files of a Hugging Face folder without tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.text.folder import encoder_tokenizers, marian_tokenizers
from keras_transformers.text.folder.class_options import (
    ALBERT,
    BERT,
    CAMEMBERT,
    CLASS,
    CONFIG,
    DEBERTA,
    LLAMA,
    MPNET,
    ROBERTA,
    T5,
    XLM_ROBERTA,
    content,
    follow,
)
from keras_transformers.text.folder.expansion_limit import check_expansion
from keras_transformers.text.folder.extra_tokens import add_tokens_of
from keras_transformers.text.sentencepiece import sentencepiece_pipeline, spm_file
from keras_transformers.text.vocabularies import byte_pair_vocabulary, wordpiece_vocabulary
from keras_transformers.text.vocabularies.vocabulary import ROLES
from keras_transformers.utils.untrusted import read_bytes, shown

T5_FILE, T5_CLASSES, LLAMA_FILE = "spiece.model", (T5, "MT5Tokenizer"), "tokenizer.model"
DEBERTA_FILE, FAIRSEQ_FILE = "spm.model", "sentencepiece.bpe.model"
ALONE = (LLAMA_FILE, DEBERTA_FILE, FAIRSEQ_FILE, "sentencepiece.model", "tekken.json")
# The builders of encoders' classes, and their files.
ENCODERS = {
    ALBERT: (T5_FILE, encoder_tokenizers.build_albert),
    CAMEMBERT: (FAIRSEQ_FILE, encoder_tokenizers.build_camembert),
    DEBERTA: (DEBERTA_FILE, encoder_tokenizers.build_deberta),
    XLM_ROBERTA: (FAIRSEQ_FILE, encoder_tokenizers.build_xlm_roberta),
}
MOST_EXTRA = 10_000  # number of sentinels: a million takes a minute
PROVIDE = (
    "Provide its tokenizer.json: `AutoTokenizer.from_pretrained(...).save_pretrained(...)` of `transformers` writes it."
)
# The special tokens of classes by their roles.
_BERT = {role: tokens[0] for role, tokens in ROLES.items() if tokens[0] in wordpiece_vocabulary.SPECIAL_TOKENS}
_BART = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"}
_BART |= {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
ROLES_OF = {
    **dict.fromkeys(BERT, _BERT),
    **dict.fromkeys(ROBERTA, _BART),
    byte_pair_vocabulary.GPT2: dict.fromkeys(("unk_token", "bos_token", "eos_token"), byte_pair_vocabulary.END),
    T5: {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
}
# The same of classes whose special tokens cannot be others; `transformers` adds them in this order.
_ENDS = {"bos_token": "[CLS]", "eos_token": "[SEP]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
_MASK = {"content": "<mask>", "lstrip": True, "normalized": False, "special": True}
FIXED_ROLES: dict[str, dict[str, Any]] = {
    ALBERT: _ENDS | {"unk_token": "<unk>", "pad_token": "<pad>"},
    CAMEMBERT: _BART | {"mask_token": _MASK},
    DEBERTA: _ENDS | {"unk_token": "[UNK]", "pad_token": "[PAD]"},
    MPNET: _BART | {"unk_token": "[UNK]", "mask_token": _MASK},
    XLM_ROBERTA: _BART,
}


def read(
    folder: Path, name: str | None, of_model: str | None, options: dict[str, Any]
) -> tuple[tokenizers.Tokenizer, str]:
    """Build the pipeline of the class that a folder names, else of the class for the model's type or the kind of files.

    Args:
        folder: Folder of the vocabulary files.
        name: Name of the class, without "Fast"; None if the folder names none.
        of_model: The class for the model's type, or None.
        options: The values of tokenizer_config.json.

    Returns:
        The pipeline, and its class.

    Raises:
        ValueError: The folder holds no such files, or the class is not built from them.
    """
    kind = name or of_model
    if kind in ENCODERS and (folder / ENCODERS[kind][0]).is_file():
        return read_encoder(folder / ENCODERS[kind][0], kind, options), kind
    if (folder / T5_FILE).is_file():
        return _read_t5(folder, kind, options), T5
    if (folder / "vocab.txt").is_file():
        return _read_wordpiece(folder, kind, options), MPNET if kind == MPNET else BERT[0]
    if (folder / "vocab.json").is_file():
        return _read_byte_pair(folder, name, of_model)
    if (folder / LLAMA_FILE).is_file():
        return _read_llama(folder, name, options), LLAMA
    held = [file for file in ALONE if (folder / file).is_file()]
    classes = [name for name, (file, _) in ENCODERS.items() if file in held]
    named = f" Name its class as {CLASS} in {CONFIG}, if it is one of {classes}." if classes else ""
    remedy = f" It holds {', '.join(held)}, which does not define what `transformers` adds to it.{named} {PROVIDE}"
    raise ValueError(
        f"No tokenizer in {folder}: expected tokenizer.json, vocab.txt, vocab.json and merges.txt, {T5_FILE}, or "
        f"{', '.join(marian_tokenizers.SIDES)} and {marian_tokenizers.VOCABULARY}.{remedy if held else ''}"
    )


def read_alone(path: Path, kind: str, **options: Any) -> tuple[tokenizers.Tokenizer, dict[str, bytes]]:
    """Build the pipeline of an encoder's class from its SentencePiece model, whatever the name of that file.

    Args:
        path: Path of the model.
        kind: Name of the class, one of `ENCODERS`.
        **options: As in tokenizer_config.json.

    Returns:
        The pipeline, and the files to keep with it.
    """
    values = {CLASS: kind, **options}
    library = read_encoder(path, kind, values)
    all_options, _ = add_tokens_of(path.parent, library, values, CONFIG, FIXED_ROLES[kind])
    follow(library, kind, all_options, path, False)
    return library, {CONFIG: json.dumps(values).encode(), ENCODERS[kind][0]: read_bytes(path)}


def without_renamed(
    library: tokenizers.Tokenizer, name: str | None, given: Mapping[str, Any], named: set[str]
) -> tokenizers.Tokenizer:
    """Turn special tokens into plain words if the folder gives all their roles to other tokens.

    Args:
        library: The tokenizer that `read` built.
        name: Name of its class.
        given: The folder's special tokens by role.
        named: All tokens that the folder names.
    """
    roles = ROLES_OF.get(name or "", {})
    used = {content(given[role]) if role in given else token for role, token in roles.items()}
    if not (renamed := set(roles.values()) - used - named):
        return library
    config = json.loads(library.to_str())
    config["added_tokens"] = [token for token in config["added_tokens"] if token["content"] not in renamed]
    return tokenizers.Tokenizer.from_str(json.dumps(config))


def _read_t5(folder: Path, name: str | None, options: dict[str, Any]) -> tokenizers.Tokenizer:
    _check_class(folder, name, T5_FILE, T5_CLASSES)
    extra_ids = 100 if options.get("extra_ids") is None else options["extra_ids"]
    if not 0 <= extra_ids <= MOST_EXTRA:
        raise ValueError(
            f"{folder / CONFIG}: extra_ids is a number of sentinels from 0 to {MOST_EXTRA:,}: received "
            f"{shown(extra_ids)}. Correct the file; T5 has 100."
        )
    return sentencepiece_pipeline.build_t5(spm_file.read(folder / T5_FILE), extra_ids)


def read_encoder(path: Path, kind: str, options: dict[str, Any]) -> tokenizers.Tokenizer:
    """Build the pipeline of an encoder's class from its SentencePiece model.

    Args:
        path: Path of the model.
        kind: Name of the class, one of `ENCODERS`.
        options: The values of tokenizer_config.json.
    """
    model = spm_file.read(path)
    try:
        library = ENCODERS[kind][1](model, options)
    except ValueError as error:
        raise ValueError(f"{path}: {error} {PROVIDE}") from error
    check_expansion(library, path)
    # As in `transformers`, the model's symbols have no flags, whatever the folder says of them; others, and <unk>, may.
    roles = FIXED_ROLES[kind]
    special = [text for token in roles.values() if (text := content(token))]
    sentencepiece_pipeline.add_symbols(library, model, but=[roles["unk_token"]], special=special)
    return library


def _read_wordpiece(folder: Path, name: str | None, options: dict[str, Any]) -> tokenizers.Tokenizer:
    path = folder / "vocab.txt"
    _check_class(folder, name, path.name, [*BERT, MPNET])
    build = wordpiece_vocabulary.build_mpnet if name == MPNET else wordpiece_vocabulary.build
    return build(
        wordpiece_vocabulary.read_vocabulary(path),
        lowercase=options.get("do_lower_case") is not False,  # `transformers` assumes the same if it is not given
        strip_accents=options.get("strip_accents"),
        split_chinese=options.get("tokenize_chinese_chars") is not False,
        source=path,
    )


def _read_byte_pair(folder: Path, name: str | None, of_model: str | None) -> tuple[tokenizers.Tokenizer, str]:
    """Read vocab.json and merges.txt; refuse other classes with such files, as they give other ids."""
    builders = byte_pair_vocabulary.BUILDERS | dict.fromkeys(ROBERTA, byte_pair_vocabulary.build_bart)
    _check_class(folder, name, "vocab.json and merges.txt", [*builders])
    vocabulary, merges = byte_pair_vocabulary.read(folder / "vocab.json", folder / "merges.txt")
    kind = name or (of_model if of_model in builders else byte_pair_vocabulary.class_of(vocabulary))
    return builders[kind](vocabulary, merges), kind


def _read_llama(folder: Path, name: str | None, options: dict[str, Any]) -> tokenizers.Tokenizer:
    """Read tokenizer.model, if versions 4 and 5 of `transformers` give the same ids for it."""
    path = folder / LLAMA_FILE
    given = {key: options[key] for key in ("legacy", "add_bos_token", "add_prefix_space") if key in options}
    known = {"legacy": False, "add_bos_token": bool(options.get("add_bos_token")), "add_prefix_space": True}
    if name != LLAMA or {"add_prefix_space": True} | given != known:
        raise ValueError(
            f"{path} does not define the special tokens, in which versions of `transformers` differ. Expected "
            f"{CONFIG} with tokenizer_class {LLAMA!r}, legacy false and add_bos_token true or false; received "
            f"tokenizer_class {name and name[:100]!r} and {given}. {PROVIDE}"
        )
    begins, ends = options["add_bos_token"], bool(options.get("add_eos_token"))
    try:
        return sentencepiece_pipeline.build_llama(spm_file.read(path), begins, ends)
    except ValueError as error:
        raise ValueError(f"{path}: {error} {PROVIDE}") from error


def _check_class(folder: Path, name: str | None, files: str, classes: Sequence[str]) -> None:
    if name is not None and name not in classes:
        raise ValueError(
            f"Cannot build a {name[:100]} from {files} in {folder}: expected one of {list(classes)}. {PROVIDE}"
        )
