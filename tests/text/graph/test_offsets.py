"""Where tokens come from, as in the library: through each normaliser, and where tokens are trimmed or absorb spaces.

`mismatches` compares offsets and word ids in all other tests of this folder, too.
"""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
from tokenizers import AddedToken, Regex, models, processors
from tokenizers import Tokenizer as Library
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p

from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.graph.streams import streams
from keras_transformers.text.sentencepiece.charsmap import compile_rules
from keras_transformers.text.tokenizer import Tokenizer

MARKS = [*"aeoux \n1#", "\u0301", "\u0316", "\u0323", "\u0308", "\u0344", "\u0345", "\u0338", "\u0304"]
COMPOSED = ["é", "ǭ", "ṩ", "\u1e9b", "Å", "각", "\u1100", "\u1161", "\u11a8", "\u0958", "\u0dd9", "\u0dcf", "\u0dca"]
PLAIN = ["ﬁ", "²", "㌀", "ｶ", "ﾞ", "…", "İ", "中", "\ufdfa", "\x07", "\u3000", "\u00ad", "\ufffd", "😀", "<m>", "ab"]
RULES = {"a": "A", "e\u0301": "é", "\n": "", "1": "", "ﬁ": "fi", "\u0301": "´", "o\u0308": "", "²": "xyz"}
EXPANDING = [n.Replace("a", "\u0301\u0316x\u0323"), n.Prepend("\u0301\u0316")]  # values that share a place
NORMALIZERS = {
    "none": n.Sequence([]),
    "NFC": n.NFC(),
    "NFD": n.NFD(),
    "NFKC": n.NFKC(),
    "NFKD": n.NFKD(),
    "bert": n.BertNormalizer(),
    "bert, cased": n.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
    "expanded, NFD": n.Sequence([*EXPANDING, n.NFD()]),
    "expanded, NFC": n.Sequence([n.NFD(), *EXPANDING, n.Lowercase(), n.NFC()]),
    "expanded, bert": n.Sequence([*EXPANDING, n.BertNormalizer()]),
    "rules": n.Precompiled(compile_rules(RULES)),
    "rules between": n.Sequence([n.NFD(), n.Precompiled(compile_rules(RULES)), n.NFC()]),
    "spaces": n.Sequence([n.Nmt(), n.Replace(Regex(" {2,}"), "▁x"), n.Replace(Regex(r"\A +| +\z"), "yz"), n.Strip()]),
}


def characters(normalizer: n.Normalizer) -> Library:
    """Each character is a word and a token."""
    library = Library(models.WordLevel({"?": 0, "a": 1}, unk_token="?"))
    library.normalizer, library.pre_tokenizer = normalizer, p.Split("", "isolated")
    library.add_tokens([AddedToken("<m>", lstrip=True), AddedToken("ab", normalized=False)])
    return library


@pytest.mark.integration
@pytest.mark.parametrize("name", NORMALIZERS)
def test_each_character_through_normalisers(mismatches, name):
    library, chance = characters(NORMALIZERS[name]), random.Random(name)
    alphabets = [MARKS, MARKS, MARKS, COMPOSED, PLAIN]
    texts = ["".join(chance.choice(chance.choice(alphabets)) for _ in range(chance.randrange(9))) for _ in range(1_500)]
    assert not mismatches(Tokenizer(library), compile_text(library.to_str(), pad_id=0), texts, max_length=400)


def spans(library: Library, text: str | bytes) -> list[tuple[int, int]]:
    rows = compile_text(library.to_str(), pad_id=0).encode([text], max_length=99, with_offsets=True)
    return [tuple(span) for span in rows["offsets"].numpy()[0].tolist()]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("none", "aé", [(0, 1), (1, 2)]),
        ("NFD", "aé", [(0, 1), (1, 2), (1, 2)]),
        ("NFD", "e\u0301\u0316", [(0, 1), (1, 2), (2, 3)]),  # the marks change places, their spans do not
        ("NFC", "e\u0301x", [(0, 1), (2, 3)]),  # the accent has no span
        ("bert", "\x07É中", [(1, 2), (2, 3), (2, 3), (2, 3)]),
        ("rules", "a\nﬁ", [(0, 1), (2, 3), (2, 3)]),
        ("rules", "\na", [(0, 1)]),  # the library does not count what rules drop first
        ("spaces", "a   b", [(0, 1), (3, 4), (3, 4), (4, 5)]),
    ],
)
def test_by_hand(name, text, expected):
    library = characters(NORMALIZERS[name])
    assert spans(library, text) == expected == library.encode(text).offsets


def test_bytes_that_are_not_utf8_count_as_one_character_each():
    assert spans(characters(NORMALIZERS["none"]), b"\xff\xe4\xbdz") == [(0, 1), (1, 2), (2, 3)]


TRIMS = [
    processors.ByteLevel(trim_offsets=False),
    processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
    processors.ByteLevel(trim_offsets=True, add_prefix_space=True),
    processors.RobertaProcessing(("b", 1), ("a", 0), trim_offsets=True, add_prefix_space=True),
    processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True, add_prefix_space=True),
            processors.RobertaProcessing(("b", 1), ("a", 0), trim_offsets=True, add_prefix_space=False),
        ]
    ),
]
TYPED = [
    AddedToken("<mask>", lstrip=True, normalized=False),
    AddedToken("[R]", rstrip=True),
    AddedToken("[B] ", lstrip=True, rstrip=True),
    AddedToken("  ", rstrip=True, normalized=False),
]
PARTS = ["<mask>", "[R]", "[B] ", "the", "Ġ", "é", "日", "\u0301", " ", "  ", "\t", "\n", "\u3000", "\u0085", "\x1c"]


@pytest.mark.integration
@pytest.mark.parametrize("number", range(len(TRIMS)))
@pytest.mark.parametrize("normalizer", [None, n.Nmt(), n.NFC()], ids=["typed", "cleaned", "composed"])
def test_spaces_at_the_ends_of_tokens_are_trimmed(mismatches, number, normalizer):
    library = Library.from_str(Tokenizer.train(["the cat, the  dog"], 270, model="byte_pair").to_json())
    library.add_tokens(TYPED)
    library.normalizer, library.post_processor = normalizer, TRIMS[number]
    library.pre_tokenizer = p.ByteLevel(add_prefix_space=number > 1)
    chance = random.Random(number)
    texts, pairs = (["".join(chance.choices(PARTS, k=chance.randrange(12))) for _ in range(150)] for _ in range(2))
    graph = compile_text(library.to_str(), pad_id=0)
    assert not mismatches(Tokenizer(library), graph, texts, pairs, max_length=30)


@pytest.mark.integration
def test_unknown_spaces_of_unigram_are_trimmed(mismatches):
    """The library gives an unknown piece its letters, so it finds spaces in it."""
    library = Library(models.Unigram([("<unk>", -1.0), ("a", -2.0), (" a", -2.0), ("Ġ", -2.0)], 0, False))
    library.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    texts = ["a  b \n", "\u3000", "xĠ Ġ ", " a\t a"]
    assert not mismatches(Tokenizer(library), compile_text(library.to_str(), pad_id=0), texts)


def test_tokens_after_dropped_letters_are_where_they_were_typed():
    """A defect of the library: without an unknown token, it counts only the letters that it keeps."""
    library = Library(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    assert library.encode("xab xb").offsets == [(0, 2), (2, 3)]
    assert spans(library, "xab xb") == [(1, 3), (5, 6)]


def test_several_tokens_share_the_span_of_a_character():
    library = Library(models.BPE({letter: i for i, letter in enumerate(sorted(p.ByteLevel.alphabet()))}, []))
    library.pre_tokenizer = p.ByteLevel(add_prefix_space=False)
    assert spans(library, "a日é") == library.encode("a日é").offsets == [(0, 1), *[(1, 2)] * 3, *[(2, 3)] * 2]


SLOW = [pytest.param(model, marks=pytest.mark.slow) for model in ("byte_pair", "unigram")]


@pytest.fixture(params=["wordpiece", *SLOW])
def trained(request) -> tuple[Tokenizer, TextGraph]:
    tokenizer = Tokenizer.train(["the cat danced, naïve ﬁ 日本", "x  the"], 290, model=request.param)
    return tokenizer, compile_text(tokenizer.to_json(), pad_id=0)


@pytest.mark.integration
def test_nothing_is_tracked_if_nobody_asks(trained, monkeypatch):
    _, graph = trained

    def refuse(*args):
        raise AssertionError("a stream is tracked")

    monkeypatch.setattr(streams.Tracked, "__new__", refuse)
    texts = tf.constant(["the naïve  cat x\u0316\u0301 日 <unk>", ""])
    graph.tokenize(texts)
    tf.function(lambda texts: graph.encode(texts, texts, max_length=9))(texts)
    with pytest.raises(AssertionError, match="tracked"):
        graph.encode(texts, max_length=9, with_offsets=True)


@pytest.mark.integration
def test_saved_model(trained, tmp_path, graph_rows, library_row):
    tokenizer, graph = trained
    module = tf.Module()
    module.graph = graph
    spec = tf.TensorSpec([None], tf.string)

    @tf.function(input_signature=[spec, spec], autograph=False)
    def serve(text, text_pair):
        return graph.encode(text, text_pair, max_length=24, with_offsets=True)

    tf.saved_model.save(module, str(tmp_path), {"serving_default": serve})
    loaded = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    texts, pairs = ["The  naïve cat", "", "x\u0316\u0301 ﬁ日"], ["日本 danced", "the " * 30, ""]
    rows = loaded(text=tf.constant(texts), text_pair=tf.constant(pairs))
    assert graph_rows(rows, 0) == [library_row(row) for row in tokenizer.encode(texts, pairs, max_length=24)]
    empty = loaded(text=tf.constant([], tf.string), text_pair=tf.constant([], tf.string))
    assert empty["offsets"].shape[0] == empty["word_ids"].shape[0] == 0
