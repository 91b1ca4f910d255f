"""What tokens add to a text: joined, the bytes of tokens are the text that the library decodes."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import Regex, decoders, models

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.pieces import LAST_SPACE, around_fuse, strip_limits, text_tokens, token_bytes

TEXTS = ["the cat danced", "a", "Brücke 日本, the cats."]


@pytest.fixture(scope="module", params=["wordpiece", "byte_pair", "unigram", "words", "character"])
def library(request) -> tokenizers.Tokenizer:
    size = None if request.param in ("words", "character") else 300
    return tokenizers.Tokenizer.from_str(Tokenizer.train(TEXTS, size, model=request.param).to_json())


def test_the_bytes_of_tokens_are_the_decoded_text(library):
    for text in TEXTS:
        ids = [i for i in library.encode(text).ids if i in text_tokens(library)]
        places = [(place == 0, place == len(ids) - 1) for place in range(len(ids))]
        joined = b"".join(token_bytes(library, *place)[i] for i, place in zip(ids, places, strict=True))
        assert joined.decode() == library.decode(ids)


def test_special_tokens_and_gaps_add_nothing():
    library = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 3}))
    library.add_special_tokens(["<s>"])
    library.decoder = decoders.Fuse()
    assert library.token_to_id("<s>") == 2
    assert token_bytes(library) == [b"a", b"", b"", b"b"]
    assert text_tokens(library) == {0: "a", 3: "b"}


def test_the_steps_around_fuse():
    steps = [{"type": "Replace"}, {"type": "Fuse"}, {"type": "Strip"}]
    assert around_fuse({"type": "Sequence", "decoders": steps}) == (
        {"type": "Sequence", "decoders": steps[:1]},
        steps[2:],
    )
    assert around_fuse(None) == (None, [])


def test_what_decoders_drop_at_the_ends():
    assert strip_limits({"type": "Strip", "content": "x", "start": 2, "stop": 1}) == ("x", 2, 1)
    assert strip_limits({"type": "Replace", "pattern": {"Regex": LAST_SPACE}, "content": ""}) == (" ", 0, 1)
    assert strip_limits({"type": "Replace", "pattern": {"String": " "}, "content": ""}) is None


@pytest.mark.parametrize(
    "behind", [decoders.Strip(" ", 2, 0), decoders.Replace(Regex(" +"), " ")], ids=["two spaces", "anywhere"]
)
def test_an_end_that_depends_on_several_tokens(behind):
    library = tokenizers.Tokenizer(models.WordLevel({" a": 0}))
    library.decoder = decoders.Sequence([decoders.Fuse(), behind])
    assert token_bytes(library) == [b" a"]
    with pytest.raises(ValueError, match="after Fuse needs a whole text"):
        token_bytes(library, first=True)


def test_bytes_of_other_kinds_of_tokens():
    word_piece = Tokenizer.train(["the cat danced. the cats!"] * 3, 60)
    spelled = dict(
        zip(map(word_piece.id_to_token, range(word_piece.vocabulary_size)), word_piece.token_bytes(), strict=True)
    )
    assert (spelled["cat"], spelled["##s"], spelled["."], spelled["[SEP]"]) == (b" cat", b"s", b".", b"")
    library = tokenizers.Tokenizer(models.BPE({"▁the": 0, "x": 1, "<0x0A>": 2, "<0xE2>": 3, "▁": 4}, []))
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    assert Tokenizer(library).token_bytes() == [b" the", b"x", b"\n", b"\xe2", b" "]
    library.decoder = decoders.Metaspace()
    assert Tokenizer(library).token_bytes()[:2] == [b" the", b"x"]
    library.decoder = None
    assert Tokenizer(library).token_bytes()[1] == b" x"
