"""Vocabularies of new models: special tokens, exact round trips, sizes."""

from __future__ import annotations

import pytest

from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.new_vocabulary import (
    check_sentinels,
    check_tokenizer,
    is_folder,
    learn_vocabulary,
    sample,
    vocabulary_size,
)

TEXTS = {
    "german": "Über den Wölken muß die Freiheit wohl grenzenlos sein.\nÄpfel,  Öl — und süße Grüße!\n",
    "japanese": "吾輩は猫である。名前はまだ無い。\n今日はいい天気ですね。\n",
    "code": "def f(x):\n\treturn {k: v**2 for k, v in x.items()}  # ok\n",
    "chess": "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O!? Nxe4\n",
    "emoji": "naïve café 👩‍👩‍👧 ﬁn\u0301\r\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("kind", ["byte_pair", "character", "bytes"])
@pytest.mark.parametrize("model", ["gpt2", "t5", "bert"])
def test_texts_come_back_as_they_were(kind, text, model):
    size = 500 if kind == "byte_pair" else None
    tokenizer = learn_vocabulary([text] * 3, kind, size, model)
    assert tokenizer.decode(tokenizer.encode([text])[0].ids) == text


def test_tokens_around_texts():
    def around(model, kind):
        tokenizer = learn_vocabulary(["abc abd"] * 9, kind, None if kind == "character" else 420, model)
        tokens = [tokenizer.id_to_token(number) for number in tokenizer.encode(["abc"])[0].ids]
        return tokens[0], tokens[-1]

    assert around("bert", "character") == around("bert", "unigram") == ("[CLS]", "[SEP]")
    assert around("t5", "character") == ("a", "</s>")
    assert around("t5", "unigram")[1] == "</s>"
    assert around("gpt2", "character") == ("a", "c")


def test_t5_has_its_sentinels_in_order():
    tokenizer = learn_vocabulary(["abc abd"] * 9, "unigram", 420, "t5")
    first, last = (tokenizer.token_to_id(f"<extra_id_{number}>") for number in (0, 99))
    assert last - first == 99 and first == 3


@pytest.mark.parametrize(("count", "length", "spans"), [(0, 8, 1), (27, 512, 28), (99, 2048, 114)])
def test_fewer_sentinels_than_spans(count, length, spans):
    """A row of 512 tokens is 568 of text, whose 15 % are in 28 spans of three (Raffel et al. 2020)."""
    special = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{number}>" for number in range(count))]
    tokenizer = Tokenizer.train([], model="bytes", special_tokens=special)
    with pytest.raises(ValueError, match=rf"mine has {count} of T5's sentinels .*: expected {spans}, for rows of"):
        check_sentinels(tokenizer, length, "mine")
    more = tokenizer.with_tokens([f"<extra_id_{number}>" for number in range(count, spans)])
    check_sentinels(more, length, "mine")


def test_a_character_that_was_not_seen_is_the_unknown_token():
    tokenizer = learn_vocabulary(["abc"], "character", None, "gpt2")
    assert [tokenizer.id_to_token(number) for number in tokenizer.encode(["aß"])[0].ids] == ["a", "<unk>"]


def test_cases_are_kept_unless_asked():
    kept, lost = (learn_vocabulary(["The Cat"] * 9, "wordpiece", 60, "bert", lowercase) for lowercase in (False, True))
    assert kept.decode(kept.encode(["The Cat"])[0].ids) == "The Cat"
    assert lost.decode(lost.encode(["The Cat"])[0].ids) == "the cat"


@pytest.mark.parametrize(
    ("kind", "model", "lowercase", "message"),
    [
        ("wordpiece", "gpt2", False, "wordpiece is BERT's, and gpt2 needs"),
        ("byte_pair", "gpt2", True, "--lowercase is for wordpiece and unigram"),
    ],
)
def test_kinds_that_do_not_suit(kind, model, lowercase, message):
    with pytest.raises(ValueError, match=message):
        learn_vocabulary(["abc"], kind, 300, model, lowercase)


def test_a_tokenizer_is_a_kind_or_a_folder(tmp_path):
    check_tokenizer("bytes")
    check_tokenizer(str(tmp_path))
    with pytest.raises(ValueError, match=r"--tokenizer must be one of byte_pair, .*, or a folder: received 'bpe'"):
        check_tokenizer("bpe")


def test_small_corpora_get_small_vocabularies():
    assert vocabulary_size(8_192, 400, "wordpiece") == 300
    assert vocabulary_size(8_192, 10**9, "wordpiece") == 8_192
    assert vocabulary_size(8_192, 10**9, "bytes") is None


def test_a_sample_comes_from_every_place():
    pieces = [f"{number:04}" for number in range(1000)]
    taken = list(sample(pieces, 4_000, most=400))
    assert 95 <= len(taken) <= 105 and int(taken[-1]) > 980 and taken[0] == "0000"
    assert list(sample(pieces, 4_000)) == pieces


def test_a_folder_with_the_name_of_a_kind(tmp_path, monkeypatch):
    """The kind is meant; the folder can be given by another path."""
    (tmp_path / "bytes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not is_folder("bytes") and is_folder("./bytes") and not is_folder("none")
