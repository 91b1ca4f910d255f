"""Pairs as tokens: those left out, and those that the vocabulary does not know."""

from __future__ import annotations

import pytest
import rule_pairs

from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.new_vocabulary import learn_vocabulary
from zoo.scratch.pairs.encoded_pairs import encode_pairs, ending
from zoo.scratch.pairs.pair_files import Pairs

PAIRS = Pairs(*rule_pairs.sentences(60))


@pytest.mark.parametrize("kind", ["unigram", "byte_pair", "character", "bytes"])
def test_texts_come_back_from_their_tokens_and_end(kind):
    size = 300 if kind in ("unigram", "byte_pair") else None
    tokenizer = ending(learn_vocabulary([*PAIRS.sources, *PAIRS.targets], kind, size, "transformer"))
    encoded = encode_pairs(PAIRS, tokenizer, max_length=128)
    assert (encoded.rows.num_rows, encoded.too_long, encoded.unequal, encoded.unknown) == (60, 0, 0, 0.0)
    for side, texts in zip((encoded.rows.sources, encoded.rows.targets), PAIRS[:2], strict=True):
        ids = side[[7]].tokens().tolist()
        assert ids[-1] == tokenizer.eos_id and tokenizer.decode(ids) == texts[7]


def test_a_tokenizer_that_does_not_end_texts_is_made_to():
    bare = Tokenizer.train(PAIRS.sources, 100, model="unigram")
    assert ending(ending(bare)).encode(["Two cats"])[0].ids[-1] == bare.eos_id


def test_pairs_left_out_and_unknown_text():
    tokenizer = ending(Tokenizer.train([*PAIRS.sources, *PAIRS.targets], 200, model="unigram"))
    pairs = Pairs(["Two cats", "Two", "Two " * 40, "Two Ω"], ["Zwei Katzen", "Zwei " * 10, "Zwei", "Zwei Ω"])
    encoded = encode_pairs(pairs, tokenizer, max_length=64)
    assert encoded.texts.sources == ["Two cats", "Two Ω"]
    assert (encoded.too_long, encoded.unequal) == (1, 1)
    assert encoded.unknown == pytest.approx(2 / sum(encoded.tokens))
    with pytest.raises(ValueError, match=r"none of 1 pairs is left: 1 have more than 8 tokens"):
        encode_pairs(pairs.chosen([2]), tokenizer, max_length=8)
