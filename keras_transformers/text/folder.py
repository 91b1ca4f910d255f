"""The tokenizer files of a Hugging Face folder: read them, write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.text import bert, byte_pair

# Which of the special tokens that a tokenizer has plays which role: `transformers` wants to be told.
ROLES = {
    "pad_token": (bert.PAD, "<pad>"),
    "unk_token": (bert.UNK, byte_pair.UNKNOWN),
    "cls_token": (bert.CLS,),
    "sep_token": (bert.SEP,),
    "mask_token": (bert.MASK, "<mask>"),
    "bos_token": ("<s>", "<|begin_of_text|>"),
    "eos_token": ("</s>", "<|end_of_text|>", byte_pair.END),
}
BYTE_PAIR_CLASSES = ("GPT2Tokenizer", "OpenAIGPTTokenizer")


def read_json(path: str | Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.json."""
    if not Path(path).is_file():
        raise ValueError(f"No tokenizer file at {path}. Expected a tokenizer.json.")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ValueError(f"{path} is not a tokenizer.json that `tokenizers` can read: {error}") from error


def read(folder: str | Path) -> tokenizers.Tokenizer:
    """Read tokenizer.json; else vocab.txt (BERT), or vocab.json and merges.txt (GPT), as tokenizer_config.json says."""
    folder = Path(folder)
    if (folder / "tokenizer.json").is_file():
        return read_json(folder / "tokenizer.json")
    config = folder / "tokenizer_config.json"
    options = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    if (folder / "vocab.txt").is_file():
        return bert.build(
            bert.read_vocabulary(folder / "vocab.txt"),
            lowercase=options.get("do_lower_case", True),  # `transformers` assumes the same when it is not stated
            strip_accents=options.get("strip_accents"),
            split_chinese=options.get("tokenize_chinese_chars", True),
        )
    if not (folder / "vocab.json").is_file():
        raise ValueError(f"No tokenizer in {folder}: expected tokenizer.json, vocab.txt, or vocab.json and merges.txt.")
    _check_byte_pair(folder, options)
    return byte_pair.build(*byte_pair.read(folder / "vocab.json", folder / "merges.txt"))


def _check_byte_pair(folder: Path, options: dict[str, Any]) -> None:
    """Several pipelines come as vocab.json and merges.txt: refuse those that would silently give other ids."""
    name = options.get("tokenizer_class", BYTE_PAIR_CLASSES[0]).removesuffix("Fast")
    if name not in BYTE_PAIR_CLASSES or options.get("add_prefix_space") or (folder / "added_tokens.json").is_file():
        raise ValueError(
            f"Cannot build a {name} from vocab.json and merges.txt in {folder}: expected one of "
            f"{list(BYTE_PAIR_CLASSES)}, without add_prefix_space and added_tokens.json. Provide its tokenizer.json "
            "(`AutoTokenizer.from_pretrained(...).save_pretrained(...)` of `transformers` writes it)."
        )


def write(folder: str | Path, library: tokenizers.Tokenizer) -> None:
    """Write tokenizer.json, tokenizer_config.json and the vocabulary's own files: what `transformers` reads."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pipeline = json.loads(library.to_str())
    specials = {token["content"] for token in pipeline["added_tokens"] if token["special"]}
    roles = {role: next((token for token in tokens if token in specials), None) for role, tokens in ROLES.items()}
    config = bert.folder_class(pipeline) or byte_pair.folder_class(pipeline)
    config = config or {"tokenizer_class": "PreTrainedTokenizerFast"}
    config |= {role: token for role, token in roles.items() if token}
    files = {"tokenizer.json": library.to_str(pretty=True), "tokenizer_config.json": json.dumps(config, indent=2)}
    kind = pipeline["model"]["type"]
    if kind in ("WordPiece", "BPE"):
        files |= (bert if kind == "WordPiece" else byte_pair).vocabulary_files(pipeline)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode("utf-8"))
