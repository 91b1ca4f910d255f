"""Training: which model is made of which arguments, and what is refused."""

from __future__ import annotations

import json

import pytest

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.learn import MODELS, train

CORPUS = ["The cat danced on the table, and the dog sat under it.", "Dogs and cats can't be friends."]
SIZES = {"wordpiece": 80, "byte_pair": 280, "unigram": 60, "character": None, "words": None, "bytes": None}
KINDS = dict(zip(MODELS, ("WordPiece", "BPE", "WordLevel", "Unigram", "WordLevel", "BPE"), strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_each_model(model):
    library = train(iter(CORPUS), SIZES[model], None, model, None)
    assert json.loads(library.to_str())["model"]["type"] == KINDS[model]
    text = library.decode(library.encode(CORPUS[1]).ids)
    assert text.lower().replace(" ", "") == CORPUS[1].lower().replace(" ", "")


@pytest.mark.parametrize(
    ("model", "specials"),
    [
        ("wordpiece", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
        ("byte_pair", ["<|endoftext|>"]),
        ("unigram", ["<pad>", "</s>", "<unk>"]),
        ("character", []),
        ("words", ["<s>", "<pad>", "</s>", "<unk>"]),
        ("bytes", ["<|endoftext|>"]),
    ],
)
def test_special_tokens_have_the_first_ids(model, specials):
    library = train(CORPUS, SIZES[model], None, model, None)
    assert [library.id_to_token(i) for i in range(len(specials))] == specials
    assert {token.content for token in library.get_added_tokens_decoder().values() if token.special} == set(specials)
    if model != "wordpiece":
        chosen = ["</s>", "<unk>", "<mine>"]
        library = train(CORPUS, SIZES[model], None, model, chosen)
        assert [library.id_to_token(i) for i in range(3)] == chosen


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "the cat"}, "an iterable of str to train on, received one str"),
        ({"special_tokens": "<unk>"}, "Expected a list of special tokens, received the str '<unk>'"),
        ({"model": "bpe"}, r"Unknown model 'bpe'\. Expected one of .*'byte_pair'"),
        ({"model": "byte_pair", "size": None}, "model='byte_pair' needs a vocabulary_size"),
        ({"special_tokens": ["<unk>"]}, r'model="wordpiece" has fixed special tokens: received \[\'<unk>\'\]'),
        ({"model": "words", "lowercase": True}, "model='words' keeps every string as it is: received lowercase=True"),
        ({"texts": ["a", None]}, "received one of NoneType"),
    ],
)
def test_what_is_refused(arguments, message):
    arguments = {
        "texts": CORPUS,
        "size": 90,
        "lowercase": None,
        "model": "wordpiece",
        "special_tokens": None,
    } | arguments
    with pytest.raises(ValueError, match=message):
        train(**arguments)


def test_corpora_that_cannot_be_learned():
    with pytest.raises(ValueError, match="received one str"):
        Tokenizer.train("the cat", vocabulary_size=50)
    with pytest.raises(ValueError, match="received one of int"):
        Tokenizer.train(["the cat", 3], vocabulary_size=50)
    with pytest.raises(ValueError, match="holds no word"):
        Tokenizer.train(["  ", ""], vocabulary_size=50)
    with pytest.raises(ValueError, match="vocabulary_size=10 cannot hold"):
        Tokenizer.train(CORPUS, vocabulary_size=10)
