"""Long text without spaces: linear in its length for every bundled model, and the library's ids."""

from __future__ import annotations

import json
import random
import string
import time
from pathlib import Path

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models

import zoo
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.models import unigram
from keras_transformers.text.tokenizer import Tokenizer

BUNDLED = Path(zoo.__file__).parent / "bundled"
CHANCE = random.Random(0)
LETTERS = "".join(CHANCE.choices(string.ascii_lowercase, k=400_000)).encode()
TEXTS = [b"a" * 400_000, LETTERS, b"\xff" * 400_000, "😀".encode() * 100_000]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["mini_bert_en", "gpt_mini_en", "transformer_mini_en_de"])
def test_bundled_models_read_long_text_in_a_moment(name):
    """A text that is one word took 1.7 s (byte pairs) to 2.5 s (unigram) for 100,000 letters, squared or not; these
    have more. A CPU with AVX2 alone takes up to 1.9 s."""
    graph = compile_text(Tokenizer.from_folder(BUNDLED / name).to_json(), pad_id=0)
    spec = [tf.TensorSpec([None], tf.string)]
    encode = tf.function(lambda text: graph.encode(text, max_length=128), input_signature=spec, autograph=False)
    encode(tf.constant(["warm up"]))
    for text in TEXTS:
        begin = time.process_time()  # not wall time: other processes do not count
        rows = encode(tf.constant([text]))
        seconds = time.process_time() - begin
        assert seconds < 3, f"{text[:4]}: {seconds:.1f} s"
        assert rows["token_ids"].shape[1] <= 128


def merges_of(chance: random.Random, letters: str) -> Library:
    """Byte-pair merges of random parts, most of which make longer tokens of earlier ones."""
    tokens, merges = list(letters), {}
    for _ in range(chance.randrange(5, 40)):
        left, right = chance.choices(tokens, k=2)
        if len(left + right) <= 12:
            merges[left, right] = None
            tokens += [left + right]
    if chance.random() < 0.2:
        merges = dict.fromkeys(chance.sample(list(merges), len(merges)))
    return Library(models.BPE({token: i for i, token in enumerate(dict.fromkeys(tokens))}, list(merges)))


def text_of(chance: random.Random, letters: str) -> str:
    """Words in which runs and repeated patterns are frequent: there many merges overlap."""
    kind = chance.randrange(3)
    if kind == 0:
        return chance.choice(letters) * chance.randrange(1, 60)
    if kind == 1:
        return "".join(chance.choices(letters, k=chance.randrange(1, 4))) * chance.randrange(1, 30)
    weights = [chance.random() ** 2 + 0.01 for _ in letters]
    return "".join(chance.choices(letters, weights, k=chance.randrange(1, 200)))


@pytest.mark.integration
def test_many_merges_at_once_give_the_librarys_ids():
    for seed in range(12):
        chance = random.Random(seed)
        letters = "abcdefg"[: chance.randrange(1, 7)]
        library = merges_of(chance, letters)
        texts = [text_of(chance, letters) + text_of(chance, letters) for _ in range(100)]
        ids = compile_text(library.to_str(), pad_id=0).tokenize(tf.constant(texts)).to_list()
        expected = [row.ids for row in library.encode_batch(texts)]
        assert [text for text, a, b in zip(texts, ids, expected, strict=True) if a != b] == [], (seed, library.to_str())


@pytest.mark.integration
def test_digits_take_few_rounds():
    """Any two digits stand side by side in some token. A long number was one part, and took a round for each rank."""
    chance = random.Random(3)
    digits = ["".join(chance.choices(string.digits, k=n)) for n in [500] * 40 + [200_000]]
    tokenizer = Tokenizer.train(digits[:-1], 1_500, model="byte_pair")
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    graph.tokenize(["warm up 1"])
    begin = time.process_time()
    row = graph.tokenize(digits[-1:]).to_list()
    assert time.process_time() - begin < 1.5
    assert row == [tokenizer.encode(digits[-1:])[0].ids]


@pytest.mark.integration
@pytest.mark.parametrize("length", [63, 64, 200, 1_000])
def test_long_words_are_cut_where_no_piece_spans(length, monkeypatch):
    """The library's ids, for unsplit text, too: there a word is as long as the text."""
    monkeypatch.setattr(unigram, "LONGEST", 64)
    config = json.loads(Tokenizer.from_folder(BUNDLED / "transformer_mini_en_de").to_json())
    config["pre_tokenizer"] = None
    library, chance = Library.from_str(json.dumps(config)), random.Random(length)
    graph = compile_text(library.to_str(), pad_id=0)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randrange(1, 9))) for _ in range(length)]
    texts = [LETTERS[:length].decode(), " ".join(words)[:length], "é" * length, "中" * length, "12" * (length // 2)]
    expected = [row.ids for row in library.encode_batch(texts, add_special_tokens=False)]
    assert graph.tokenize(texts).to_list() == expected


@pytest.mark.integration
def test_a_word_that_pieces_span_everywhere_is_cut_in_blocks(monkeypatch):
    """Only there ids differ from the library's: one remainder for each block, not one for all."""
    monkeypatch.setattr(unigram, "LONGEST", 64)
    library = Library(models.Unigram([("<unk>", 0.0), ("a", -2.0), ("aaa", -2.0)], 0, False))
    ids = compile_text(library.to_str(), pad_id=0).tokenize(["a" * n for n in (64, 128)]).to_list()
    block = library.encode("a" * 64).ids
    assert ids == [block, block * 2]
    assert library.encode("a" * 128).ids != block * 2
