"""Components drawn at random, in any order, beside the library: the ids of hostile texts and of pairs of them."""

from __future__ import annotations

import random

import pytest
from tokenizers import AddedToken, Regex, decoders, models, processors
from tokenizers import Tokenizer as Library
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.normalizers import replace
from keras_transformers.text.graph.pre_tokenizers.cased_patterns import CASED_PATTERNS
from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS
from keras_transformers.text.tokenizer import Tokenizer

LETTERS = "abcAB 1²,'▁#<é\u0301\u0316\u00ad\x07\u00a0\ufeff\x85\x00İſß中Åﬁ한ᄒ😀\ufe0f\n\tЖ"
TYPED = ["<m>", "<n>", "<unk>", "A 1", "##a", "'s", "  ", "<0x41>", "''", "ab", "aa", "\u00a0 "]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = [("<unk>", 0), ("<pad>", 1)]
STRINGS = ["``", "''", "ab", "aa", " a", "é1", "aba"]
NORMALIZERS = [
    lambda c: n.BertNormalizer(c.random() < 0.5, c.random() < 0.5, c.choice([None, True, False]), c.random() < 0.5),
    lambda c: c.choice([n.Lowercase, n.NFC, n.NFD, n.NFKC, n.NFKD, n.Nmt, n.StripAccents])(),
    lambda c: n.Prepend(c.choice(["▁", " x", "é"])),
    lambda c: n.Replace(c.choice("a1 é▁\u0301"), c.choice(["", "b", "▁", " ", "ch e", "\u0301"])),
    lambda c: n.Replace(Regex(c.choice(replace.PATTERNS)), c.choice(["", " ", "▁", "  x"])),
    lambda c: n.Replace(c.choice(STRINGS), c.choice(["", '"', "▁", " ", "ch e"])),
    lambda c: n.Strip(c.random() < 0.6, c.random() < 0.6),
]
SPELLED = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
SPLITTERS = [
    lambda c: c.choice([p.BertPreTokenizer, p.UnicodeScripts, p.Whitespace, p.WhitespaceSplit])(),
    lambda c: p.ByteLevel(c.random() < 0.5, use_regex=c.random() < 0.5),
    lambda c: p.FixedLength(c.randrange(1, 5)),
    lambda c: p.Split(Regex(c.choice([r"\s+", r"\w+|[^\w\s]+", r"\d{1,2}"])), c.choice(SPELLED), c.random() < 0.5),
    lambda c: p.Digits(c.random() < 0.5),
    lambda c: p.Metaspace("▁", c.choice(["always", "first", "never"]), c.random() < 0.6),
    lambda c: p.Split(Regex(c.choice([*PATTERNS, *CASED_PATTERNS])), "isolated"),
    lambda c: p.Split("", "isolated"),
    lambda c: p.Punctuation(c.choice(SPELLED)),
    lambda c: p.Split(c.choice([" ", "a", ",", *STRINGS]), c.choice(SPELLED), c.random() < 0.5),
    lambda c: p.CharDelimiterSplit(c.choice(" a,▁")),
]
POST_PROCESSORS = [
    processors.BertProcessing(*SPECIAL),
    processors.RobertaProcessing(*SPECIAL),
    processors.TemplateProcessing("<unk> $A:1 <pad>:1", "<unk> $A <pad> $B:1 <pad>:1", SPECIAL),
    processors.TemplateProcessing("$A", "$B $A:1", SPECIAL),
]


def drawn(chance: random.Random, kind: str) -> Library:
    """A tokenizer whose components go together in no sensible way."""
    library = Library(MODELS[kind](chance, [*dict.fromkeys(["<unk>", "<pad>", *LETTERS[:-4], *pieces(chance)])]))
    library.normalizer = n.Sequence([chance.choice(NORMALIZERS)(chance) for _ in range(chance.randrange(4))])
    splitters = [chance.choice(SPLITTERS)(chance) for _ in range(chance.randrange(3))]
    if kind == "bytes":
        splitters += [p.ByteLevel(chance.random() < 0.5, use_regex=chance.random() < 0.5)]
    library.pre_tokenizer, library.decoder = p.Sequence(splitters), decoders.Fuse()
    library.post_processor = chance.choice(POST_PROCESSORS)
    for token in TYPED[:4]:
        flags = {flag: chance.random() < 0.4 for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        library.add_tokens([AddedToken(token, **flags)] * (chance.random() < 0.7))
    return library


def pieces(chance: random.Random) -> list[str]:
    return sorted({"".join(chance.choices("abcAB1e▁ ,'#é", k=chance.randrange(2, 5))) for _ in range(60)})


def word_piece(chance: random.Random, tokens: list[str]) -> models.WordPiece:
    tokens = [*tokens, *(f"##{token}" for token in tokens)]
    limit = chance.choice([3, 5, 100])
    return models.WordPiece(ids(tokens), unk_token="<unk>", max_input_chars_per_word=limit)


def byte_pair(chance: random.Random, tokens: list[str], of_bytes: bool = False) -> models.BPE:
    letters = p.ByteLevel.alphabet() if of_bytes else LETTERS[:-4]
    tokens, parts, merges = [*tokens[:2], *sorted(letters), *BYTES], list("abc1Ġe" if of_bytes else "abcAB1▁ ,é"), {}
    for _ in range(chance.randrange(50)):
        left, right = chance.choices([part for part in parts if len(part) < 9], k=2)
        if left in tokens and right in tokens:
            merges[left, right] = None
            parts, tokens = [*parts, left + right], [*tokens, left + right]
    spelled = not of_bytes and chance.random() < 0.5
    options = {"fuse_unk": chance.random() < 0.5, "byte_fallback": spelled, "ignore_merges": chance.random() < 0.2}
    return models.BPE(ids(tokens), list(merges), unk_token="<unk>", **options)


def unigram(chance: random.Random, tokens: list[str]) -> models.Unigram:
    spelled = chance.random() < 0.5
    scores = [(token, -chance.uniform(0.1, 9) * len(token) ** 0.5) for token in [*tokens, *BYTES * spelled]]
    return models.Unigram(scores, 0, spelled)


def ids(tokens: list[str]) -> dict[str, int]:
    return {token: i for i, token in enumerate(dict.fromkeys(tokens))}


MODELS = {
    "wordpiece": word_piece,
    "byte_pair": byte_pair,
    "bytes": lambda chance, tokens: byte_pair(chance, tokens, of_bytes=True),
    "unigram": unigram,
    "words": lambda chance, tokens: models.WordLevel(ids(tokens), unk_token="<unk>"),
}


@pytest.mark.integration
@pytest.mark.parametrize("seed", [0, 1, pytest.param(range(2, 12), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("kind", MODELS)
def test_combinations(kind, seed, mismatches):
    for number in seed if isinstance(seed, range) else [seed]:
        chance = random.Random(f"{kind} {number}")
        library = drawn(chance, kind)
        texts = ["".join(chance.choices([*LETTERS, *TYPED], k=chance.randrange(10))) for _ in range(200)]
        tokenizer, graph = Tokenizer(library), compile_text(library.to_str(), pad_id=1)
        assert mismatches(tokenizer, graph, texts, texts[::-1], max_length=chance.randrange(6, 30)) == [], number
        assert mismatches(tokenizer, graph, texts) == [], number


ORDERS = {
    "robbert": [p.Whitespace(), p.ByteLevel(add_prefix_space=True), p.Punctuation()],
    "bytes first": [p.ByteLevel(add_prefix_space=False), p.Whitespace()],
    "bytes last": [p.Whitespace(), p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=True)],
    "bytes twice": [p.ByteLevel(), p.Digits(), p.ByteLevel(use_regex=False)],
}


@pytest.mark.integration
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", MODELS)
def test_bytes_anywhere(kind, order, mismatches):
    """Pre-tokenizers after ByteLevel split its letters, within a character too; other models than BPE read them."""
    chance = random.Random(7)
    library = drawn(chance, kind)
    library.normalizer, library.pre_tokenizer = n.Sequence([]), p.Sequence(ORDERS[order])
    texts = ["Hé ¡the can't 日本…«», 12", *("".join(chance.choices(LETTERS, k=8)) for _ in range(200))]
    assert mismatches(Tokenizer(library), compile_text(library.to_str(), pad_id=1), texts, texts[::-1]) == []


def test_a_wordpiece_with_its_prefix_may_be_longer_than_words_are():
    library = Library(models.WordPiece(ids(["<unk>", "a", "##bcde"]), unk_token="<unk>", max_input_chars_per_word=5))
    library.decoder = decoders.Fuse()
    graph = compile_text(library.to_str(), pad_id=0)
    assert graph.tokenize(["abcde"]).to_list() == [library.encode("abcde").ids] == [[1, 2]]
