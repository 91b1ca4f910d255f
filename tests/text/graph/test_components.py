"""The components that tokenizers of the Llama kind use, each pipeline beside the library's: ids and text."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.pre_tokenizers.cased_patterns import CASED_PATTERNS
from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["The cat danced on the table, and the dogs can't sit.", "Über 1234 naïve Katzen\n\n  tanzten; 日本語 😀."] * 2
PARTS = [
    "the",
    "The",
    "cat",
    "dogs",
    "can't",
    "naïve",
    "ü",
    "日本",
    "語",
    "12345",
    "²",
    "😀",
    "\x00",
    ",",
    " ",
    "  ",
    "\n",
]
PARTS += ["\t", "\u00a0", "\u3000", "▁", "<s>", "[L]", "[R]", "<0x0A>", "\ufffd", "\u0301", "e\u0323"]
ADDED = [
    AddedToken("<s>", special=True),
    AddedToken("[L]", lstrip=True),
    AddedToken("[R]", rstrip=True, normalized=False),
]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NEWER, CASED = list(PATTERNS)[1:], list(CASED_PATTERNS)


def bytes_pipeline(*splitters) -> Library:
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence(list(splitters))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator(CORPUS, trainer)
    library.decoder = decoders.ByteLevel()
    return library


def pieces_pipeline(normalizer=None, splitter=None, decoder=None, **options) -> Library:
    """BPE of characters with "▁" for spaces and byte tokens, as converted from SentencePiece."""
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    names = ["<unk>", *BYTES]
    library.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=340, special_tokens=names, show_progress=False))
    config = json.loads(library.to_str())
    config["added_tokens"] = config["added_tokens"][:1]
    config["model"] |= {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, **options}
    library = Library.from_str(json.dumps(config))
    library.normalizer, library.pre_tokenizer, library.decoder = normalizer, splitter, decoder
    return library


def split_then_bytes(pattern: str) -> Library:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return bytes_pipeline(split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))


def normalized(library: Library) -> Library:
    library.normalizer = normalizers.NFC()
    return library


def digits_then_bytes(individual: bool, prefixed: bool = False) -> Library:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=prefixed, use_regex=True)
    return bytes_pipeline(pre_tokenizers.Digits(individual_digits=individual), byte_level)


def llama2(**options) -> Library:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return pieces_pipeline(normalizer, None, decoders.Sequence(steps), **options)


def metaspace(scheme: str, split: bool) -> Library:
    both = {"prepend_scheme": scheme, "split": split}
    return pieces_pipeline(None, pre_tokenizers.Metaspace(**both), decoders.Metaspace(**both))


def rewritten() -> Library:
    steps = [normalizers.Strip(), normalizers.Lowercase(), normalizers.Replace("c", "ch"), normalizers.Replace("d", "")]
    decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    return pieces_pipeline(normalizers.Sequence(steps), pre_tokenizers.Metaspace(), decoder)


def stripped(left: bool) -> Library:
    per_token = decoders.Strip("e", 1, 0)  # the library panics at a token that is shorter than what it strips
    return pieces_pipeline(normalizers.Strip(left=left, right=not left), None, per_token)


def gpt1() -> Library:
    library = Library(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    library.normalizer, library.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    options = {"end_of_word_suffix": "</w>", "special_tokens": ["<unk>"], "show_progress": False}
    library.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=90, **options))
    library.decoder = decoders.BPEDecoder(suffix="</w>")
    return library


def characters(unknown: list[str]) -> Library:
    tokens = [*unknown, *sorted(set("".join([*CORPUS, *PARTS])) - set("aü" if unknown else ""))]
    library = Library(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token="<unk>"))
    library.pre_tokenizer, library.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    return library


def unigram(byte_fallback: bool = False, tied: bool = False) -> Library:
    """Pieces of the corpus, with many ways to cut a word; `tied` ones score alike."""
    words = {f"▁{word}" for text in CORPUS for word in text.split()}
    pieces = sorted({word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, i + 5)} - {"x", "😀"})
    chance = random.Random(5)
    rows = [("<unk>", 0.0), *((byte, 0.0) for byte in BYTES if byte_fallback)]
    rows += [(piece, -4.0 if tied else -chance.uniform(1, 9) * len(piece) ** 0.5) for piece in pieces]
    library = Library(models.Unigram(rows, 0, byte_fallback))
    both = {"prepend_scheme": "always", "split": True}
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**both)]
    )
    library.decoder = decoders.Metaspace(**both)
    return library


def unsplit_unigram() -> Library:
    library = unigram(byte_fallback=True)
    spaces = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex(r"\A +| +\z"), "")]
    steps = [normalizers.Nmt(), normalizers.NFKC(), *spaces, normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    library.normalizer, library.pre_tokenizer = normalizers.Sequence(steps), None
    joined = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    library.decoder = decoders.Sequence(joined)
    return library


def words() -> Library:
    lines = ["the cat@@ s dan@@ ce , the dog@@ s sit", "Ü@@ ber 1234 naïve Katz@@ en"]
    return Library.from_str(Tokenizer.train(lines, model="words").to_json())


def quick_tour() -> Library:
    """The tokenizer of the library's quick tour."""
    library = Library(models.BPE(unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    names = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    library.train_from_iterator(CORPUS, trainers.BpeTrainer(special_tokens=names, vocab_size=90, show_progress=False))
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    library.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, [("[CLS]", 1), ("[SEP]", 2)])
    return library


def letters_then_marks() -> Library:
    """The pre-tokenizers of RobBERT: the marks are cut out of byte letters, within characters too."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return bytes_pipeline(pre_tokenizers.Whitespace(), byte_level, pre_tokenizers.Punctuation())


PIPELINES = {
    "quick_tour": quick_tour,
    "letters_then_marks": letters_then_marks,
    "unigram": unigram,
    "unigram_of_equal_scores": lambda: unigram(tied=True),
    "unigram_with_bytes": lambda: unigram(byte_fallback=True),
    "unsplit_unigram": unsplit_unigram,
    "words": words,
    "llama3": lambda: split_then_bytes(NEWER[0]),
    "qwen2": lambda: normalized(split_then_bytes(NEWER[1])),
    "qwen3_5": lambda: normalized(split_then_bytes(NEWER[2])),
    "phi4_mini": lambda: split_then_bytes(CASED[0]),
    "tekken": lambda: split_then_bytes(CASED[2]),
    "smollm2": lambda: digits_then_bytes(individual=True),
    "digits": lambda: digits_then_bytes(individual=False, prefixed=True),
    "unsplit_bytes": lambda: bytes_pipeline(pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)),
    "llama2": llama2,
    "llama2_without_bytes": lambda: llama2(byte_fallback=False),
    "llama2_unknown_apart": lambda: llama2(byte_fallback=False, fuse_unk=False),
    "metaspace_always": lambda: metaspace("always", True),
    "metaspace_first": lambda: metaspace("first", False),
    "metaspace_never": lambda: metaspace("never", True),
    "rewritten": rewritten,
    "stripped_left": lambda: stripped(True),
    "stripped_right": lambda: stripped(False),
    "gpt1": gpt1,
    "characters": lambda: characters(["<unk>"]),
    "all_characters": lambda: characters([]),
}


@pytest.fixture(scope="module", params=PIPELINES, ids=str)
def pipeline(request):
    library = PIPELINES[request.param]()
    library.add_tokens(ADDED)
    return library, compile_text(library.to_str(), pad_id=0)


@pytest.mark.integration
def test_ids_and_places(pipeline, mismatches):
    library, graph = pipeline
    chance = random.Random(3)
    texts = [*CORPUS, *("".join(chance.choices(PARTS, k=chance.randrange(12))) for _ in range(1_000))]
    assert not mismatches(Tokenizer(library), graph, texts, max_length=500)


def test_text(pipeline):
    library, graph = pipeline
    size = max(library.get_vocab().values()) + 1
    ids = np.random.default_rng(1).integers(0, size, (600, 8)).astype("int32")
    ids[:200] %= 270  # rows in which bytes stand side by side
    ids[-50:, 2:] = library.token_to_id("<s>")
    ours = [text.decode() for text in graph.decode(ids).numpy()]
    theirs = library.decode_batch(ids.tolist(), skip_special_tokens=True)
    assert not [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]


def test_runs_of_bytes_are_utf8_as_a_whole_or_not_at_all():
    library = llama2()
    graph = compile_text(library.to_str(), pad_id=0)
    runs = [b"\xe2\x82\xac", b"\xe2\x82\xe2", b"A\xffA", b" A ", "\ufffd".encode()]
    rows = [[library.token_to_id(f"<0x{byte:02X}>") for byte in run] for run in runs]
    rows += [[rows[0][0], 0, rows[0][1]]]  # <unk>, which is special, is left out before
    ours = [text.decode() for text in graph.decode(np.array(rows, "int32")).numpy()]
    assert ours == library.decode_batch(rows, skip_special_tokens=True)
    assert ours[0] == "€" and ours[1].count("\ufffd") == 3


def test_characters_that_are_not_known_are_left_out_where_the_library_refuses():
    library = characters([])
    with pytest.raises(Exception, match="Missing"):
        library.encode("aЖb")
    row = compile_text(library.to_str(), pad_id=0).tokenize(["aЖb"]).to_list()[0]
    assert row == library.encode("ab").ids


@pytest.mark.integration
@pytest.mark.parametrize(
    "post_processor",
    [
        processors.ByteLevel(trim_offsets=False),
        processors.RobertaProcessing(("<s>", 320), ("<s>", 320)),
        processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 320)]),
            ]
        ),
    ],
    ids=["bytes", "roberta", "sequence"],
)
def test_post_processors_in_sequence(mismatches, post_processor):
    library = split_then_bytes(NEWER[0])
    library.add_special_tokens(["<s>"])
    assert library.token_to_id("<s>") == 320
    library.post_processor = post_processor
    graph = compile_text(library.to_str(), pad_id=0)
    assert not mismatches(Tokenizer(library), graph, CORPUS, CORPUS[::-1], max_length=20)
    assert not mismatches(Tokenizer(library), graph, CORPUS, max_length=20)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["GPT2", "OpenAIGPT", "Qwen2", "GPTNeoX", "Llama"])
def test_pipelines_as_transformers_builds_them(name):
    transformers = pytest.importorskip("transformers")
    kind = {"OpenAIGPT": gpt1, "Llama": pieces_pipeline}.get(name, lambda: split_then_bytes(NEWER[0]))
    model = json.loads(kind().to_str())["model"]
    merges = [tuple(parts) for parts in model["merges"]]
    tokenizer = getattr(transformers, f"{name}Tokenizer")(vocab=model["vocab"], merges=merges)
    graph = compile_text(tokenizer.backend_tokenizer.to_str(), pad_id=0)
    chance = random.Random(8)
    texts = [*CORPUS, *("".join(chance.choices(PARTS, k=chance.randrange(12))) for _ in range(300))]
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert graph.tokenize(tf.constant(texts)).to_list() == rows
    theirs = tokenizer.backend_tokenizer.decode_batch(rows)
    assert [text.decode() for text in graph.decode(graph.tokenize(texts).to_tensor(-1)).numpy()] == theirs
