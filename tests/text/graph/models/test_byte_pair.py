"""Byte-pair encoding in ops gives the library's ids, whatever its options."""

from __future__ import annotations

import json
import random
from itertools import permutations

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["the cat danced with the cats", "a dancing cat; a dance!", "naïve 日本 cat"]
WORDS = ["the", "cat", "dancing", "cats", "xyz", "é", "日本語", "ï", "catcatcat", "aaaa", "Q", "!", "ſſ"]


def trained(unk_token: str | None = "<unk>", **options) -> Library:
    """A BPE of words at white space, with <unk>, learned from CORPUS."""
    affixes = {name: value for name, value in options.items() if name != "fuse_unk"}
    library = Library(models.BPE(unk_token=unk_token, **options))
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(vocab_size=70, special_tokens=["<unk>"], show_progress=False, **affixes)
    library.train_from_iterator(CORPUS, trainer)
    library.decoder = decoders.Fuse()
    return library


def random_texts(count: int = 500) -> list[str]:
    chance = random.Random(2)
    return ["".join(chance.choices([*WORDS, " ", "<unk>", *"adnct"], k=chance.randrange(1, 10))) for _ in range(count)]


def different(library: Library, texts: list[str]) -> list:
    graph = compile_text(library.to_str(), pad_id=0)
    ours = graph.tokenize(tf.constant(texts)).to_list()
    theirs = [row.ids for row in library.encode_batch(texts, add_special_tokens=False)]
    return [(text, a, b) for text, a, b in zip(texts, ours, theirs, strict=True) if a != b]


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fuse_unk": True},
        {"unk_token": None},
        {"end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "##", "fuse_unk": True},
        {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>", "unk_token": None},
    ],
    ids=str,
)
def test_options(options):
    assert not different(trained(**options), random_texts())


@pytest.mark.parametrize("vocabulary", [{"<unk>": 0, "a": 1, "c": 2}, {"<unk>": 0}], ids=str)
def test_without_merges(vocabulary):
    library = Library(models.BPE(vocabulary, [], unk_token="<unk>"))
    library.pre_tokenizer, library.decoder = pre_tokenizers.BertPreTokenizer(), decoders.Fuse()
    assert not different(library, ["", "a cat", "xyz", "<unk> ca"])


@pytest.mark.integration
def test_ignore_merges():
    config = json.loads(trained().to_str())
    config["model"]["ignore_merges"] = True
    config["model"]["vocab"]["catcatcat"] = len(config["model"]["vocab"])  # no merge makes it
    library = Library.from_str(json.dumps(config))
    assert library.encode("catcatcat").ids == [library.token_to_id("catcatcat")]
    assert not different(library, random_texts())


@pytest.mark.integration
@pytest.mark.parametrize("fuse", [True, False])
def test_byte_fallback(fuse):
    library = Library(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=fuse))
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    library.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=320, special_tokens=names, show_progress=False))
    config = json.loads(library.to_str())
    config["added_tokens"] = config["added_tokens"][:1]  # byte tokens are no added tokens where they come from
    assert not different(Library.from_str(json.dumps(config)), [*random_texts(), "\x00\U0010ffff", "é" * 30])
    del config["model"]["vocab"]["<0x41>"]
    with pytest.raises(ValueError, match=r"'BPE with byte_fallback' .* cannot be compiled"):
        compile_text(json.dumps(config), pad_id=0)
    config["model"]["vocab"] = {t: i for t, i in config["model"]["vocab"].items() if not t.startswith("<0x")}
    assert not different(Library.from_str(json.dumps(config)), random_texts())


@pytest.mark.integration
def test_merges_in_any_order():
    """Also where a product merges at a lower rank than it is made at: then equal pairs may not all merge at once."""
    vocabulary = {token: i for i, token in enumerate(["a", "b", "ab", "aba", "aa", "aab", "ba"])}
    chance = random.Random(0)
    texts = ["".join(chance.choices("ab", k=chance.randrange(12))) for _ in range(200)]
    kinds = set()
    for merges in list(permutations([("ab", "a"), ("a", "b"), ("a", "a"), ("aa", "b"), ("b", "a"), ("a", "ba")]))[::45]:
        library = Library(models.BPE(vocabulary, list(merges)))
        assert not different(library, texts), merges
        kinds.add(compile_text(library.to_str(), pad_id=0).model.merges.may_lead_lower is None)
    assert len(kinds) == 2


@pytest.mark.parametrize("cut_in_training", [True, False])
def test_a_text_that_is_one_word_is_cut_where_no_merge_spans(cut_in_training):
    library = Library(models.BPE())
    library.normalizer = normalizers.Replace(" ", "▁")
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=cut_in_training)
    library.train_from_iterator([" the cat the"] * 3, trainers.BpeTrainer(show_progress=False))
    library.pre_tokenizer = None
    assert compile_text(library.to_str(), pad_id=0).model.cuts_at_spaces == cut_in_training  # else "e▁c" is a token
    assert not different(library, [" the cat", "the  cat the", "▁▁ the", "the▁cat"])


def test_unknown_token_outside_the_vocabulary():
    config = json.loads(trained().to_str())
    config["model"]["unk_token"] = "<missing>"
    with pytest.raises(ValueError, match="unk_token '<missing>' is not in the vocabulary"):
        compile_text(json.dumps(config), pad_id=0)


def test_long_words(mismatches):
    tokenizer = Tokenizer.train(CORPUS, 300, model="byte_pair")
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    texts = ["a" * 10_000, "thecat" * 1_500, "".join(random.Random(0).choices("acdent", k=10_000)), "日本語" * 3_000]
    assert graph.tokenize(tf.constant(texts)).to_list() == [row.ids for row in tokenizer.encode(texts)]


@pytest.mark.integration
def test_no_texts_and_empty_texts(mismatches):
    tokenizer = Tokenizer.train(CORPUS, 300, model="byte_pair")
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    assert graph.tokenize(tf.constant([], tf.string)).nrows() == 0
    assert not mismatches(tokenizer, graph, ["", "", "cat", ""])
    assert not mismatches(tokenizer, graph, [b"\xff cat\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98"])
