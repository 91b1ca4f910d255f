"""Byte-pair encoding as in GPT-1 and GPT-2: files, training, tokenizers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from keras_transformers.utils.json_file import read_json
from keras_transformers.utils.untrusted import MOST_BYTES, read_bytes, shown, warn_user

END = "<|endoftext|>"
UNKNOWN = "<unk>"
END_OF_WORD = "</w>"
GPT1, GPT2, BART = "OpenAIGPTTokenizer", "GPT2Tokenizer", "BartTokenizer"  # classes of `transformers`
BART_TOKENS = ("<s>", "<pad>", "</s>", UNKNOWN, "<mask>")
STRAY_TOKENS = 16  # maximum tokens that no merge makes (special tokens); more mean an incomplete merges.txt

SPECIAL = re.compile(r"<.*>|\[.*\]", re.DOTALL)  # as special tokens are spelled, which no merge makes

Merges = list[tuple[str, str]]


def byte_letters() -> dict[str, int]:
    """Map the letters that represent bytes in a byte-level vocabulary to the bytes (Radford et al., 2019).

    A byte that is printable in Latin-1 represents itself; the others get the letters from U+0100.
    """
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)).difference(printing))
    return {chr(byte): byte for byte in printing} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


LETTER_BYTES = dict.fromkeys(range(256), 0x100) | {ord(letter): byte for letter, byte in byte_letters().items()}


def letters_to_bytes(token: str) -> bytes | None:
    """Return the bytes of a token of byte letters; None if it holds any other character."""
    try:
        return token.translate(LETTER_BYTES).encode("latin-1")
    except UnicodeEncodeError:
        return None


def read(vocabulary_path: str | Path, merges_path: str | Path) -> tuple[dict[str, int], Merges]:
    """Read vocab.json (token to id) and merges.txt (two parts a line, by rank); check that they match."""
    for path in (vocabulary_path, merges_path):
        if not Path(path).is_file():
            raise ValueError(f"No file at {path}. Byte-pair encoding needs both a vocab.json and its merges.txt.")
    vocabulary = read_vocabulary(vocabulary_path)
    merges = _read_merges(merges_path)

    for left, right in merges:
        absent = [piece for piece in (left, right, left + right) if piece not in vocabulary]
        if absent:
            raise ValueError(
                f"{merges_path} merges {shown(left)} and {shown(right)}, but {shown(absent[0])} is not in "
                f"{vocabulary_path}. Expected the two files of one tokenizer."
            )

    products = {"".join(parts) for parts in merges}
    strays = [token for token in vocabulary if len(token.removesuffix(END_OF_WORD)) > 1 and token not in products]
    if len(strays) > STRAY_TOKENS:
        raise ValueError(
            f"{len(strays)} tokens of {vocabulary_path}, such as {shown(strays[0])}, are made by none of the "
            f"{len(merges)} merges of {merges_path}. Expected the two files of one tokenizer, complete."
        )
    if lost := [token for token in strays if not SPECIAL.fullmatch(token)]:
        warn_user(
            f"{merges_path} ends with the merge of {shown(' and '.join(merges[-1]) if merges else '')}, and makes none "
            f"of {len(lost)} tokens of {vocabulary_path}: {shown(lost)}. Texts never get them. If they are no special "
            "tokens, the file is cut: fetch it again."
        )
    return vocabulary, merges


def read_vocabulary(path: str | Path) -> dict[str, int]:
    """Read vocab.json: token to id."""
    vocabulary = read_json(path, "a vocab.json", MOST_BYTES)
    is_map = isinstance(vocabulary, dict) and all(type(i) is int and 0 <= i < 2**31 for i in vocabulary.values())
    if not is_map or not vocabulary or len(set(vocabulary.values())) < len(vocabulary):
        raise ValueError(f"{path} does not give each token a separate id. Expected a vocab.json: token to id.")
    return vocabulary


def _read_merges(path: str | Path) -> Merges:
    merges = []
    for number, line in enumerate(read_bytes(path, "a merges.txt").decode("utf-8", "replace").split("\n"), 1):
        if not line.strip() or line.startswith("#version"):
            continue
        parts = tuple(line.rstrip("\r").split(" "))
        if len(parts) != 2:
            raise ValueError(f"{path}, line {number}: expected two parts and one space, received {line[:80]!r}.")
        merges.append(parts)
    return merges


def class_of(vocabulary: dict[str, int]) -> str:
    """Return the class of `transformers` for a vocabulary: GPT-1's if tokens mark the ends of words ("ing</w>"),
    BART's if its special tokens are present, else GPT-2's."""
    if any(token.endswith(END_OF_WORD) for token in vocabulary):
        return GPT1
    return BART if vocabulary.keys() >= set(BART_TOKENS) else GPT2


def build(vocabulary: dict[str, int], merges: Merges) -> tokenizers.Tokenizer:
    """Build the pipeline of the vocabulary's class."""
    return BUILDERS[class_of(vocabulary)](vocabulary, merges)


def build_gpt2(
    vocabulary: dict[str, int], merges: Merges, special_tokens: Sequence[str] = (END,)
) -> tokenizers.Tokenizer:
    """Build GPT-2's byte-level BPE: every string can be encoded, and decodes to itself (Radford et al., 2019)."""
    absent = [letter for letter in byte_letters() if letter not in vocabulary]
    if absent:
        raise ValueError(
            f"The vocabulary lacks {len(absent)} of the 256 byte letters, such as {absent[0]!r}: some text would be "
            "lost. Expected the vocab.json of a byte-level tokenizer (GPT-2), or one with </w> (GPT-1)."
        )
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([token for token in special_tokens if token in vocabulary])
    return tokenizer


def build_bart(vocabulary: dict[str, int], merges: Merges) -> tokenizers.Tokenizer:
    """Build GPT-2's BPE with RoBERTa's template (Liu et al., 2019): <s> A </s>, for pairs <s> A </s></s> B </s>."""
    if absent := [token for token in BART_TOKENS if token not in vocabulary]:
        raise ValueError(f"The vocabulary lacks {absent}: BART's pipeline needs all of {list(BART_TOKENS)}. Add them.")
    library = build_gpt2(vocabulary, merges, BART_TOKENS[:-1])
    library.add_special_tokens([tokenizers.AddedToken(BART_TOKENS[-1], lstrip=True)])
    start, end = ((token, vocabulary[token]) for token in ("<s>", "</s>"))
    library.post_processor = processors.RobertaProcessing(end, start, trim_offsets=True, add_prefix_space=False)
    return library


def build_gpt1(vocabulary: dict[str, int], merges: Merges) -> tokenizers.Tokenizer:
    """Build GPT-1's BPE: lower-cased words that end in </w>; other characters are <unk> (Radford et al., 2018)."""
    if UNKNOWN not in vocabulary:
        raise ValueError(f"The vocabulary has tokens that end in {END_OF_WORD}, as GPT-1's, but no {UNKNOWN}. Add it.")
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, merges, unk_token=UNKNOWN, end_of_word_suffix=END_OF_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix=END_OF_WORD)
    tokenizer.add_special_tokens([UNKNOWN])
    return tokenizer


BUILDERS = {GPT1: build_gpt1, GPT2: build_gpt2, BART: build_bart}


def train(texts: Iterable[str], size: int, special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Learn a byte-level vocabulary as GPT-2's: special tokens, the 256 bytes, then merges; the same in every run."""
    smallest = len(special_tokens) + 256
    if size < smallest:
        raise ValueError(
            f"vocabulary_size={size} cannot hold 256 bytes and {len(special_tokens)} special tokens. "
            f"Ask for {smallest} or more."
        )

    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    scratch = tokenizers.Tokenizer(models.BPE())
    scratch.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    scratch.train_from_iterator(texts, trainer)

    model = json.loads(scratch.to_str())["model"]
    if not model["merges"] and size > smallest:
        raise ValueError("The corpus holds no word of two letters to train on. Expected an iterable of non-empty str.")
    return build_gpt2(model["vocab"], [tuple(parts) for parts in model["merges"]], special_tokens)


def of_bytes(size: int | None, special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Build GPT-2's pipeline without merges: special tokens, then the 256 bytes, by value.

    As in ByT5 (Xue et al., 2022, https://arxiv.org/abs/2105.13626): a text has as many tokens as bytes in UTF-8.

    Raises:
        ValueError: `size` is not the number of these tokens, or None; or special tokens repeat or are byte letters.
    """
    letters = sorted(byte_letters(), key=byte_letters().__getitem__)
    tokens = [*special_tokens, *letters]
    if len(set(tokens)) < len(tokens):
        raise ValueError(
            f"special_tokens={list(special_tokens)} repeat, or are byte letters, such as {letters[0]!r} for byte 0. "
            "Give each special token once, and more than one letter."
        )
    if size not in (None, len(tokens)):
        raise ValueError(
            f'model="bytes" has {len(tokens)} tokens, the {len(special_tokens)} special ones and the 256 bytes: '
            f'received vocabulary_size={size}. Leave it out; for merges of bytes, ask for model="byte_pair".'
        )
    return build_gpt2({token: i for i, token in enumerate(tokens)}, [], special_tokens)


def folder_class(pipeline: dict[str, Any]) -> dict[str, Any] | None:
    """Return the entries of tokenizer_config.json for a pipeline that `transformers` has a class for; else None."""
    model, splitter = pipeline["model"], pipeline["pre_tokenizer"] or {"type": None}
    specials = {token["content"] for token in pipeline["added_tokens"]}
    template = (pipeline["post_processor"] or {"type": None})["type"]
    is_plain = splitter["type"] == "ByteLevel" and splitter["use_regex"] and not pipeline["normalizer"]
    if model["type"] == "BPE" and template == "RobertaProcessing" and is_plain and specials >= set(BART_TOKENS):
        return {"tokenizer_class": BART, "add_prefix_space": splitter["add_prefix_space"]}
    if model["type"] != "BPE" or template:
        return None
    if model["end_of_word_suffix"] == END_OF_WORD and splitter["type"] == "BertPreTokenizer" and UNKNOWN in specials:
        return {"tokenizer_class": GPT1}
    if not is_plain or END not in specials:
        return None
    return {"tokenizer_class": GPT2, "add_prefix_space": splitter["add_prefix_space"]}


def vocabulary_files(pipeline: dict[str, Any]) -> dict[str, str]:
    """Return vocab.json and merges.txt of a BPE model, file name to content."""
    model = pipeline["model"]
    lines = ["#version: 0.2", *(" ".join(parts) for parts in model["merges"])]
    return {"vocab.json": json.dumps(model["vocab"], ensure_ascii=False), "merges.txt": "\n".join(lines) + "\n"}
