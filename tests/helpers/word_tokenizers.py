"""Small tokenizers of each kind that has no words of its own, or other words than a text."""

from __future__ import annotations

from functools import cache

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Library

from keras_transformers.text.tokenizer import Tokenizer

CORPUS = [
    "Ann left Oslo for Berlin. Bob lives in New York, U.S., since 2019!", "Bob and Ann flew from Oslo to Paris",
    "我在北京学习自然语言处理。他去东京工作", "新しい本を読みました。東京タワーは高いです。ラーメン", 
    "ภาษาไทยไม่มีช่องว่าง กรุงเทพ",
    "हिन्दी में नमस्ते दिल्ली", "emoji 😀 👩‍👩‍👧 🇳🇴 café naïve über",
] * 3  # fmt: skip
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SPACES = Regex(" {2,}")
N, P = normalizers, pre_tokenizers


def _made(model: str, normalizer=None, splitter=None, post=None, size: int = 420) -> Library:
    library = Library(
        models.Unigram() if model == "unigram" else models.BPE(unk_token=None if model == "bytes" else "<unk>")
    )
    if normalizer:
        library.normalizer = normalizer
    if splitter:
        library.pre_tokenizer = splitter
    if model == "unigram":
        options = {"unk_token": "<unk>"}
    else:
        options = {"initial_alphabet": P.ByteLevel.alphabet()} if model == "bytes" else {}
    kind = trainers.UnigramTrainer if model == "unigram" else trainers.BpeTrainer
    library.train_from_iterator(CORPUS, kind(vocab_size=size, special_tokens=SPECIAL, show_progress=False, **options))
    library.decoder = decoders.ByteLevel() if model == "bytes" else decoders.Metaspace()
    library.post_processor = post or processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return library


def _roberta(trim: bool) -> Library:
    post = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=trim, add_prefix_space=False)
    return _made("bytes", None, P.ByteLevel(add_prefix_space=False), post, 600)


LLAMA_3 = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KINDS = {
    "xlmr": lambda: _made("unigram", N.Sequence([N.NFKC(), N.Replace(SPACES, " ")]), P.Metaspace()),
    "t5": lambda: _made("unigram", N.NFKC(), P.Sequence([P.WhitespaceSplit(), P.Metaspace()])),
    "deberta_v3": lambda: _made("unigram", N.Sequence([N.NFKC(), N.Strip()]), P.Metaspace()),
    "gemma": lambda: _made("bpe", N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous")),
    "mmbert": lambda: _made("bpe", N.Replace(" ", "▁")),
    "metaspace_whole": lambda: _made("bpe", None, P.Metaspace(prepend_scheme="first", split=False)),
    "llama": lambda: _made("bpe", N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])),
    "plain": lambda: _made("bpe"),
    "roberta": lambda: _roberta(True),
    "roberta_untrimmed": lambda: _roberta(False),
    "llama_3": lambda: _made(
        "bytes", None, P.Sequence([P.Split(LLAMA_3, "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]),
        size=600,
    ),
    "bert": lambda: Library.from_str(Tokenizer.train(CORPUS, vocabulary_size=300, lowercase=False).to_json()),
}  # fmt: skip


@cache
def word_tokenizer(kind: str) -> Tokenizer:
    """Return a tokenizer of one of `KINDS`."""
    return Tokenizer(KINDS[kind]())
