"""Folders of small decoders as people have them: byte pairs with the components of Llama 3 and Qwen, random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from family_tokenizers import byte_pairs
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS

TEXTS = [
    "yes\nno\nyes\nno\nA: yes\nB: no\n",  # as first words, which have no space before them
    "yes no the query is a cat? What is it. The document 1234 says no, yes yes no no",
    "A wärm day, a brïght day; naïve cafés aren't far: I'll go, they've gone.",
    "日本語の文と中文的句子 and code: for i in range(10):\n\tprint(i)\n\n",
]  # fmt: skip
NASTY = [
    "", " ", "\n\n \n", "It's 3.14159 and 2026-11-29, isn't IT'S?", "  two  spaces\tand\ttabs  ",
    "e\u0301 is e\u0301, \u212b", "a\u200db\ufeffc", "日本語の文 中文的句子",
    "\U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467 flags \U0001f1e9\U0001f1ea", "x" * 70,
    "<|im_start|>user\nhi<|im_end|>\n", "<|begin_of_text|> typed <|eot_id|>", "\ufb01 \u00bd \u2460", "नमस्ते दुनिया",
    "\r\nline\r\n\r\n end ", "1234567 12 \u0663\u0664\u0665", "\x00\x1f null", "yes<|endoftext|>no", "?!...\n\n\tx",
]  # fmt: skip
LLAMA_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
QWEN_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
SIZES = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256,
}  # fmt: skip
LLAMA3_ROPE = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 24, "rope_theta": 500.0,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24, "rope_theta": 500.0}


def llama3_tokenizer() -> Library:
    """Byte pairs, split as cl100k does, whole words first, with a token at the beginning."""
    library = byte_pairs(TEXTS * 4, 400, LLAMA_TOKENS)
    _split(library, 1)
    library.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in LLAMA_TOKENS])
    library.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(
            "<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
            [("<|begin_of_text|>", library.token_to_id("<|begin_of_text|>"))],
        ),
    ])  # fmt: skip
    return _whole_words_first(library)


def qwen_tokenizer(end: bool = False) -> Library:
    """Byte pairs of composed characters, digits one by one; with the token that Qwen3-Embedding has at the end."""
    library = byte_pairs(TEXTS * 4, 400, QWEN_TOKENS)
    library.normalizer = normalizers.NFC()
    _split(library, 2)
    library.post_processor = processors.ByteLevel(trim_offsets=False)
    if end:
        template = (
            "$A <|endoftext|>",
            "$A $B <|endoftext|>",
            [("<|endoftext|>", library.token_to_id("<|endoftext|>"))],
        )
        library.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(*template)
        ])  # fmt: skip
    return library


def _split(library: Library, number: int) -> None:
    split = pre_tokenizers.Split(Regex(list(PATTERNS)[number]), "isolated")
    library.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])


def _whole_words_first(library: Library) -> Library:
    values = json.loads(library.to_str())
    values["model"]["ignore_merges"] = True
    return Library.from_str(json.dumps(values))


def write_folder(
    folder: Path, family: str, *, version: int = 5, tokenizer: Library | None = None, **options: Any
) -> Any:
    """Write a language model of `transformers` with a tokenizer; return the model.

    Args:
        folder: Folder to make.
        family: `"Llama"`, `"Qwen2"`, `"Qwen3"` or `"Mistral"`.
        version: Of `transformers`, whose form config.json has: 4 or 5.
        tokenizer: Tokenizer; that of the family when None.
        **options: Options of the configuration.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    is_qwen = family.startswith("Qwen")
    library = tokenizer or (qwen_tokenizer() if is_qwen else llama3_tokenizer())
    begin, *ends = [None, "<|im_end|>", "<|endoftext|>"] if is_qwen else [
        "<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"
    ]  # fmt: skip
    ids = [library.token_to_id(name) for name in ends]
    kind = getattr(transformers, f"{family}ForCausalLM")
    special = {"bos_token_id": begin and library.token_to_id(begin), "eos_token_id": ids, "pad_token_id": ids[1]}
    sizes = {name: size for name, size in SIZES.items() if name != "head_dim" or family != "Qwen2"}
    torch.manual_seed(0)
    model = kind(kind.config_class(vocab_size=library.get_vocab_size(), **{**sizes, **special, **options})).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.mul_(10) if weight.ndim > 1 else weight.normal_(float("norm" in name), 0.3)
    model.generation_config.update(**special, do_sample=False)
    model.save_pretrained(folder)
    library.save(str(folder / "tokenizer.json"))
    names = {"bos_token": begin, "eos_token": ends[0], "pad_token": ends[1]}
    cls = "Qwen2Tokenizer" if is_qwen else "PreTrainedTokenizerFast"
    values = {"tokenizer_class": cls, "model_max_length": 131_072, "clean_up_tokenization_spaces": False, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(values))
    if version == 4:
        as_version_4(folder)
    return model


def as_version_4(folder: Path) -> None:
    """Write config.json as version 4 of `transformers` did."""
    path = folder / "config.json"
    values = json.loads(path.read_text())
    options = values.pop("rope_parameters")
    values |= {
        "rope_theta": options.pop("rope_theta"),
        "torch_dtype": values.pop("dtype"),
        "transformers_version": "4.51.0",
    }
    values["rope_scaling"] = None if options["rope_type"] == "default" else options
    path.write_text(json.dumps(values))
