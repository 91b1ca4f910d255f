"""Folders with tokenizers of three kinds, for tests of cutting and of token types."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

LINE = "the match ended in a draw and ann left oslo for berlin it rained all day in paris we stayed in"
WORDS = LINE.split()
TEXTS = [
    " ".join(WORDS),
    "Zürich, naïve café! we stayed in",
    "rained",
    "",
    "ann left oslo " * 4,
    "  in  a draw \n",
]
PAIRS = ["it rained all day", " ".join(reversed(WORDS)), "", "oslo", "berlin, paris?", "in a draw " * 3]


def wordpiece() -> tokenizers.Tokenizer:
    """Return BERT's kind of tokenizer."""
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer, library.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library.train_from_iterator(TEXTS + PAIRS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=specials))
    pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    library.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    return library


def byte_pairs() -> tokenizers.Tokenizer:
    """Return RoBERTa's kind of tokenizer."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    specials, alphabet = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=alphabet)
    library.train_from_iterator(TEXTS + PAIRS, trainer)
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return library


def unigram() -> tokenizers.Tokenizer:
    """Return XLM-R's kind of tokenizer."""
    library = tokenizers.Tokenizer(models.Unigram())
    library.normalizer, library.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=specials, unk_token="<unk>", show_progress=False)
    library.train_from_iterator(TEXTS + PAIRS, trainer)
    pair, ends = "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    library.post_processor = processors.TemplateProcessing("<s> $A </s>", pair, ends)
    return library


KINDS = {"wordpiece": wordpiece, "byte_pairs": byte_pairs, "unigram": unigram}


@cache
def trained(kind: str) -> str:
    """Return the tokenizer.json of a kind: trained once, as the library's trainers differ from run to run."""
    return KINDS[kind]().to_str()


def write(folder: Path, kind: str, direction: str | None = None, **options) -> Path:
    """Write a tokenizer's folder as transformers does; `direction` is of the truncation in tokenizer.json."""
    library = tokenizers.Tokenizer.from_str(trained(kind))
    if direction:
        library.enable_truncation(9, direction=direction)
    library.save(str(folder / "tokenizer.json"))
    first, second = ("[CLS]", "[SEP]") if kind == "wordpiece" else ("<s>", "</s>")
    pad, unknown, mask = ("[PAD]", "[UNK]", "[MASK]") if kind == "wordpiece" else ("<pad>", "<unk>", "<mask>")
    roles = {"cls_token": first, "sep_token": second, "pad_token": pad, "unk_token": unknown, "mask_token": mask}
    options = roles | {"tokenizer_class": "TokenizersBackend", "backend": "tokenizers"} | options
    given = {key: value for key, value in options.items() if value is not ...}
    (folder / "tokenizer_config.json").write_text(json.dumps(given))
    return folder
