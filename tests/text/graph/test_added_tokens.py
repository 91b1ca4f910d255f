"""Added tokens typed in the text: leftmost, longest, their flags, before and after normalising."""

from __future__ import annotations

import random
import resource

import pytest
from tokenizers import AddedToken, pre_tokenizers
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

ADDED = [
    AddedToken("Foo", single_word=True),
    AddedToken("fo"),
    AddedToken("foo bar", lstrip=True),
    AddedToken("oob", rstrip=True),
    AddedToken("中"),
    AddedToken("Ä["),
    AddedToken("abc", normalized=False, single_word=True),
    AddedToken("abcabc", normalized=False),
    AddedToken("cab", normalized=False),
    AddedToken("é", normalized=False, single_word=True),
    AddedToken("<mask>", lstrip=True, rstrip=True, single_word=True, special=True, normalized=True),
]
PARTS = ["Foo", "foo", "fo", "oob", "foobar", "FOO", "中", "Ä[", "ä[", "a\u0308[", "abc", "abcabc", "ab", "cab", "é"]
PARTS += [
    "e\u0301",
    "<mask>",
    "<MASK>",
    "[MASK]",
    "[SEP]",
    "_",
    "1",
    "-",
    " ",
    "foo bar",
    "foo  bar",
    "\u0301",
    "\u3000",
    "\n",
    "b",
]


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def extended(request) -> Tokenizer:
    base = Tokenizer.train(["the foo bar sat on a cab, abc; 中 é _ 1"] * 2, 80, lowercase=request.param)
    library = Library.from_str(base.to_json())
    library.add_tokens(ADDED)
    return Tokenizer(library)


@pytest.mark.integration
def test_random_text_of_tokens_and_near_misses(extended, mismatches):
    chance = random.Random(7)
    graph = compile_text(extended.to_json())
    texts = ["".join(chance.choices(PARTS, k=chance.randrange(12))) for _ in range(1_000)]
    assert not mismatches(extended, graph, texts)
    found = {i for row in extended.encode(texts) for i in row.ids}
    assert found >= {extended.token_to_id(token.content) for token in ADDED} - {extended.token_to_id("oob")}


@pytest.mark.integration
def test_special_tokens_are_cut_out_before_normalising(tokenizer, graph):
    ids = graph.tokenize(["a[MASK]b [mask]"]).to_list()[0]
    assert ids == tokenizer.encode(["a[MASK]b [mask]"], special_tokens=False)[0].ids
    assert ids.count(tokenizer.mask_id) == 1


BESIDE = [
    AddedToken("<|endoftext|>", special=True),
    AddedToken("[L]", lstrip=True),
    AddedToken("[R]", rstrip=True, normalized=False),
    AddedToken("[B]", lstrip=True, rstrip=True),
    AddedToken("[W]", single_word=True, lstrip=True),
    AddedToken("  ", rstrip=True, normalized=False),
    AddedToken("the", single_word=True),
]
BESIDE_PARTS = [
    *(token.content for token in BESIDE),
    " ",
    "\t",
    "\n",
    "\u00a0",
    "\u3000",
    "\u0085",
    "\u200b",
    "the",
    "_",
]


@pytest.mark.integration
@pytest.mark.parametrize("prefixed", [False, True])
def test_white_space_beside_tokens_is_swallowed_where_it_matters(mismatches, prefixed):
    library = Library.from_str(Tokenizer.train(["the cat, the  dog"], 270, model="byte_pair").to_json())
    library.add_tokens(BESIDE)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefixed)
    tokenizer, chance = Tokenizer(library), random.Random(11)
    texts = ["".join(chance.choices(BESIDE_PARTS, k=chance.randrange(12))) for _ in range(1_000)]
    assert not mismatches(tokenizer, compile_text(tokenizer.to_json(), pad_id=0), texts)
    assert {i for row in tokenizer.encode(texts) for i in row.ids} >= {library.token_to_id(t.content) for t in BESIDE}


@pytest.mark.integration
@pytest.mark.parametrize("flag", ["lstrip", "rstrip"])
def test_white_space_on_one_side_is_swallowed_though_no_token_swallows_it_on_the_other(mismatches, flag):
    library = Library.from_str(Tokenizer.train(["the cat, the  dog"], 270, model="byte_pair").to_json())
    library.add_tokens([AddedToken("<mask>", **{flag: True})])
    tokenizer, texts = Tokenizer(library), ["the <mask> cat", " <mask>  <mask>\t", "the<mask>cat"]
    assert not mismatches(tokenizer, compile_text(tokenizer.to_json(), pad_id=0), texts)
    assert len(tokenizer.encode(texts[:1])[0].ids) < len(tokenizer.encode(["the <mas_> cat"])[0].ids)


@pytest.mark.integration
def test_memory_does_not_grow_with_texts_times_flagged_tokens():
    """Each match was compared with all of them: 3.6 GB for a megabyte and 5,000 tokens."""
    library = Library.from_str(Tokenizer.train(["the cat"], 270, model="byte_pair").to_json())
    names = [f"[{i:04}]" for i in range(3_000)]
    library.add_tokens([AddedToken(name, single_word=True, lstrip=True, rstrip=True) for name in names])
    graph = compile_text(library.to_str(), pad_id=0)
    texts = [" ".join([*names[:9], "the", *names[9:]])] * 20
    expected = [library.encode(texts[0], add_special_tokens=False).ids]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert graph.tokenize(texts).to_list() == expected * 20
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 200e6
