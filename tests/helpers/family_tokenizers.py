"""Tokenizers of the kind that each family of encoders has, learned from a few texts, as files of its hub folders."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.byte_pair_vocabulary import BART_TOKENS
from keras_transformers.text.vocabularies.wordpiece_vocabulary import MPNET_TOKENS, SPECIAL_TOKENS

FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
SENTENCEPIECE = {  # the file of a family, and the options of its trainer
    "albert": ("spiece.model", {
        "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]"],
        "user_defined_symbols": [*'()"-.–£€', "[MASK]"], "normalization_rule_name": "nmt_nfkc_cf",
    }),
    "camembert": ("sentencepiece.bpe.model", FAIRSEQ),
    "deberta-v2": ("spm.model", {
        "pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]", "bos_piece": "[CLS]",
        "eos_piece": "[SEP]", "unk_piece": "[UNK]",
    }),
    "xlm-roberta": ("sentencepiece.bpe.model", FAIRSEQ),
}  # fmt: skip
LLAMA_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|pad|>", "<|mask|>")


def write_tokenizer(folder: Path, family: str, texts: list[str], size: int) -> None:
    """Write the files of a family's tokenizer: SentencePiece models, byte pairs, MPNet's words, or else BERT's."""
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    if family in SENTENCEPIECE:
        write_sentencepiece(folder, family, texts, size)
    elif family in BYTE_PAIRS:
        BYTE_PAIRS[family](folder, texts, size)
    elif family == "mpnet":
        write_mpnet(folder, json.loads(Tokenizer.train(texts, size).to_json())["model"]["vocab"])
    else:
        Tokenizer.train(texts, size).save(folder)


def write_sentencepiece(folder: Path, family: str, texts: Iterable[str], size: int) -> None:
    """Train a SentencePiece model with the special tokens of a family, and write it alone."""
    trainer, made = pytest.importorskip("sentencepiece").SentencePieceTrainer, io.BytesIO()
    file, options = SENTENCEPIECE[family]
    lines = (line for line in map(str.strip, texts) if line)
    both = {"vocab_size": size, "num_threads": 1, "minloglevel": 2, **options}
    trainer.train(sentence_iterator=lines, model_writer=made, **both)
    (folder / file).write_bytes(made.getvalue())


def write_mpnet(folder: Path, words: Iterable[str]) -> None:
    """Write MPNet's vocab.txt of some words."""
    tokens = dict.fromkeys([*MPNET_TOKENS[:-1], *words, MPNET_TOKENS[-1]])
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")


def write_roberta(folder: Path, texts: list[str], size: int) -> None:
    """Write vocab.json and merges.txt, from which RoBERTa's class makes the rest."""
    model = json.loads(byte_pairs(texts, size, BART_TOKENS).to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("".join(f"{' '.join(pair)}\n" for pair in model["merges"]), encoding="utf-8")


def write_modernbert(folder: Path, texts: list[str], size: int) -> None:
    """Write ModernBERT's tokenizer.json: byte pairs of composed characters, with BERT's special tokens."""
    library = byte_pairs(texts, size, SPECIAL_TOKENS)
    library.normalizer = normalizers.NFC()
    library.post_processor = around(library, "[CLS]", "[SEP]")
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    write_generic(folder, library, dict(zip(roles, SPECIAL_TOKENS, strict=True)))


def write_eurobert(folder: Path, texts: list[str], size: int) -> None:
    """Write EuroBERT's tokenizer.json: Llama 3's byte pairs."""
    library = byte_pairs(texts, size, LLAMA_TOKENS)
    split = pre_tokenizers.Split(Regex(list(PATTERNS)[1]), "isolated")
    library.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    ends = around(library, *LLAMA_TOKENS[:2])
    library.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), ends])
    roles = ("bos_token", "eos_token", "pad_token", "mask_token")
    write_generic(folder, library, dict(zip(roles, LLAMA_TOKENS, strict=True)))


BYTE_PAIRS = {"roberta": write_roberta, "modernbert": write_modernbert, "eurobert": write_eurobert}


def byte_pairs(texts: list[str], size: int, special_tokens: tuple[str, ...]) -> Library:
    """Return GPT-2's tokenizer with other special tokens."""
    made = Tokenizer.train(texts, size, model="byte_pair", special_tokens=special_tokens)
    return Library.from_str(made.to_json())


def around(library: Library, start: str, end: str) -> processors.TemplateProcessing:
    """Return a post-processor that adds a token before a text, and one behind each."""
    pair = f"{start} $A {end} $B:1 {end}:1"
    ids = [(token, library.token_to_id(token)) for token in (start, end)]
    return processors.TemplateProcessing(f"{start} $A {end}", pair, ids)


def write_generic(folder: Path, library: Library, special_tokens: dict[str, str]) -> None:
    """Write tokenizer.json, and the class that takes it as it is."""
    library.save(str(folder / "tokenizer.json"))
    values = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(values | special_tokens))
