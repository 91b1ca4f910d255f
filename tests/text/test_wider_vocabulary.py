"""New tokens are found as whole words, in Python, in the graph and by transformers; other texts keep their ids."""

import json

import pytest
import tokenizers

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.wider_vocabulary import widened

TEXT = "the nation and the cat and the location of concatenation start party met for min C++ naïve हिन्दी\n" * 60
NEW = ["enat", "arty", "metformin", "हिन्द", "New York", "C#", "<b>", "東京", "ไทย"]
WITHOUT = [
    "concatenation", "party", "premetformins", "metformin_x", "metformin2", "metformin\u0301", "Metformins", "naïfs",
    "हिन्दी", "New Yorker", "aC#", "C#5", "東 京", "the nation", "", " ", "enat\u200d", "enaté", "_enat", "enat東",
]  # fmt: skip
WITH = {
    "metformin": "metformin", "take metformin.": "metformin", "(metformin)": "metformin",
    "metformin-arty": "metformin|arty",
    "the enat": "enat", "x<b>y</b>": "<b>", "我在東京大学": "東京", "เมืองไทยสวย": "ไทย", "New York!": "New York",
    "C# C#7": "C#", "metformin metformins": "metformin",
}  # fmt: skip
KINDS = ["wordpiece", "byte_pair", "unigram", "bytes"]


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    """A tokenizer, and the one that has the new tokens."""
    size = None if request.param == "bytes" else 330
    old = tokenizers.Tokenizer.from_str(Tokenizer.train([TEXT], size, model=request.param).to_json())
    return old, widened(old, NEW)


def ids(library: tokenizers.Tokenizer, text: str) -> list[int]:
    return library.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("text", WITHOUT)
def test_texts_without_the_new_words_keep_their_ids(pair, text):
    """Where the normaliser drops a mark, or puts spaces around a Chinese character, the word stands there alone."""
    old, wider = pair
    normalised = text if old.normalizer is None else old.normalizer.normalize_str(text)
    if not set(normalised.split()) & set(NEW):
        assert ids(wider, text) == ids(old, text)


@pytest.mark.parametrize("text", WITH)
def test_new_words_are_found(pair, text):
    old, wider = pair
    found = [number for number in ids(wider, text) if number >= old.get_vocab_size()]
    assert found == [number for word in WITH[text].split("|") for number in ids(wider, word)]


def test_a_vocabulary_of_characters_finds_them_anywhere():
    old = tokenizers.Tokenizer.from_str(
        Tokenizer.train(["CCONlBr(=)"], model="character", special_tokens=["<unk>"]).to_json()
    )
    assert widened(old, ["Cl", "Br"]).encode("CCl(Br)C").tokens == ["C", "Cl", "(", "Br", ")", "C"]


def test_a_vocabulary_that_lacks_letters_of_a_new_token():
    """Without an unknown token the library cannot read it until it is added."""
    tokenizer = Tokenizer.train(["the cat sat"], model="character", special_tokens=["<e>"])
    wider = tokenizer.with_tokens(["Metformin"])
    assert wider.encode(["a Metformin"])[0].ids[-1] == tokenizer.vocabulary_size


def test_the_file_says_so(pair):
    added = {token["content"]: token["single_word"] for token in json.loads(pair[1].to_str())["added_tokens"]}
    assert {name: added[name] for name in NEW} == {name: name not in ("<b>", "東京", "ไทย") for name in NEW}


@pytest.mark.integration
def test_the_graph_finds_the_same(pair):
    from keras_transformers.text.graph.compile import compile_text

    tokenizer = Tokenizer.from_json(pair[1].to_str())
    texts = [*WITHOUT, *WITH]
    rows = compile_text(tokenizer.to_json(), pad_id=0).tokenize(texts).to_list()
    assert rows == [row.ids for row in tokenizer.encode(texts, special_tokens=False)]


@pytest.mark.parity
@pytest.mark.integration
def test_transformers_finds_the_same(pair, tmp_path):
    transformers = pytest.importorskip("transformers")
    Tokenizer.from_json(pair[1].to_str()).save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in (*WITHOUT, *WITH):
        assert theirs(text, add_special_tokens=False)["input_ids"] == ids(pair[1], text), text
