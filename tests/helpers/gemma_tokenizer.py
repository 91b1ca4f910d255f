"""Gemma's tokenizer, learned from a few texts: byte pairs of spaces written as marks, and bytes for unknown letters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = ["A cat, a bat: \"at\" 1,100 `` '' tab\tcat.", "  dat  cád\n\nﬁ①. (a-b)", "日本 a\u00a0\u3000b\u200b"]
SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
RUNS = ("\n", "\n\n", "▁▁", "▁▁▁", "<table>", "<start_of_turn>")  # tokens beside the pieces, as the released file has


def gemma(*behind: str, texts: Iterable[str] = CORPUS, size: int = 340, added: Iterable[str] = ()) -> Tokenizer:
    """Gemma's pipeline; with <eos> behind a text EmbeddingGemma's and mmBERT's.

    Its Split finds no space, as none is left.
    """
    library = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[*SPECIAL, *BYTES], show_progress=False)
    library.train_from_iterator(texts, trainer)
    config = json.loads(library.to_str())
    config["added_tokens"] = config["added_tokens"][: len(SPECIAL)]  # bytes are no added tokens
    library = Tokenizer.from_str(json.dumps(config))
    library.add_tokens([AddedToken(token, normalized=False) for token in added])
    library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    single, pair = ["<bos>", "$A", *behind], ["<bos>", "$A", *behind, "<bos>:1", "$B:1", *(f"{t}:1" for t in behind)]
    library.post_processor = processors.TemplateProcessing(single, pair, [("<bos>", 2), ("<eos>", 1)])
    return library


def write_gemma(folder: Path, library: Tokenizer) -> None:
    """Write the files of a tokenizer as Gemma's folders have them."""
    library.save(str(folder / "tokenizer.json"))
    roles = {f"{token[1:-1]}_token": token for token in SPECIAL}
    ends = {"add_bos_token": True, "add_eos_token": False}
    settings = {"tokenizer_class": "GemmaTokenizer", "model_max_length": 10**30, **roles, **ends}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
