"""BERT's pipeline: the library's own, vocabularies that are read and learned."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tokenizers import BertWordPieceTokenizer

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import wordpiece_vocabulary

CORPUS = ["Die Wölfe und der Hund.", "Wölfe sind keine Hunde! 中文 café"] * 3


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [None, True, False])
@pytest.mark.parametrize("split_chinese", [True, False])
def test_the_pipeline_is_that_of_the_library(lowercase, strip_accents, split_chinese):
    words = ["wolfe", "Wolfe", "wölfe", "Wölfe", "中", "文", "中文", "!", "caf", "##e", "##é"]
    vocabulary = {token: i for i, token in enumerate([*wordpiece_vocabulary.SPECIAL_TOKENS, *words])}
    library = wordpiece_vocabulary.build(vocabulary, lowercase, strip_accents, split_chinese)
    theirs = BertWordPieceTokenizer(
        vocabulary, lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=split_chinese
    )
    for text, pair in (("Wölfe 中文!", None), ("café[MASK] wolfe", "Café x"), ("", "")):
        ours, expected = library.encode(text, pair), theirs.encode(text, pair)
        assert (ours.ids, ours.type_ids) == (expected.ids, expected.type_ids)
        assert library.decode(ours.ids) == theirs.decode(expected.ids)


def test_training_keeps_the_most_frequent_characters(monkeypatch):
    monkeypatch.setattr(wordpiece_vocabulary, "ALPHABET_LIMIT", 3)
    vocabulary = wordpiece_vocabulary.train_vocabulary(["aab aab ab ac", "abd"], 20, lowercase=True)
    assert set("".join(vocabulary).replace("#", "")) - set("".join(wordpiece_vocabulary.SPECIAL_TOKENS)) == set("abc")
    with pytest.raises(ValueError, match="holds no word"):
        wordpiece_vocabulary.train_vocabulary([" \t", ""], 20, lowercase=True)


def test_training_covers_the_corpus():
    vocabulary = wordpiece_vocabulary.train_vocabulary(CORPUS, 90, lowercase=True)
    assert sorted(vocabulary.values()) == list(range(len(vocabulary))) and len(vocabulary) <= 90
    library = wordpiece_vocabulary.build(vocabulary, lowercase=True)
    encoded = [token for text in CORPUS for token in library.encode(text).tokens]
    assert Counter(encoded)[wordpiece_vocabulary.UNK] == 0 and Counter(encoded)["wolfe"] == 6


def test_what_a_folder_says_of_the_pipeline():
    vocabulary = {token: i for i, token in enumerate([*wordpiece_vocabulary.SPECIAL_TOKENS, "b", "a"])}
    pipeline = json.loads(wordpiece_vocabulary.build(vocabulary, lowercase=False, strip_accents=True).to_str())
    assert wordpiece_vocabulary.folder_class(pipeline) == {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": False,
        "strip_accents": True,
        "tokenize_chinese_chars": True,
    }
    assert wordpiece_vocabulary.folder_class(pipeline | {"normalizer": None}) is None
    assert wordpiece_vocabulary.vocabulary_files(pipeline) == {
        "vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\na\n"
    }


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size)]


def test_vocab_lines_may_end_in_crlf_and_hold_odd_spaces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("\r\n".join([*wordpiece_vocabulary.SPECIAL_TOKENS, "\u2028", "a"]).encode("utf-8"))
    assert vocabulary_of(Tokenizer.from_vocab(path)) == [*wordpiece_vocabulary.SPECIAL_TOKENS, "\u2028", "a"]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "vocab.txt"
    with pytest.raises(ValueError, match="No vocabulary file at"):
        Tokenizer.from_vocab(path)
    with pytest.raises(ValueError, match="No tokenizer file at"):
        Tokenizer.from_file(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"expected tokenizer\.json, vocab\.txt, vocab\.json"):
        Tokenizer.from_folder(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ValueError, match="that `tokenizers` can read"):
        Tokenizer.from_file(tmp_path / "broken.json")
    for content, message in [
        ("", "is empty"),
        ("a\nb\na\n", "more than once, such as 'a'"),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\n", r"vocab\.txt lacks the special tokens \['\[MASK\]'\]"),
        ("\ufeff[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", r"vocab\.txt begins with a byte order mark.*save it so"),
    ]:
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            Tokenizer.from_vocab(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\t\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_ends_of_lines(tmp_path, end, last):
    """As `transformers` reads them: a blank last line is a token, which no text has."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film"]
    (tmp_path / "vocab.txt").write_bytes(("".join(token + end for token in tokens) + last).encode())
    tokenizer = Tokenizer.from_vocab(tmp_path / "vocab.txt")
    assert tokenizer.encode(["film"])[0].ids == [2, 5, 3] and tokenizer.vocabulary_size == 6 + len(last)


@pytest.mark.parametrize(
    "text", ["हिन्दी में", "ภาษาไทย ที่", "ёлка и йод", "がぎぐ カガ", "한국어", "مَرْحَبًا بِك", "שָׁלוֹם", "বাংলা", "café हिन्दी"]
)
def test_lower_casing_keeps_marks_that_words_need(text):
    tokenizer = wordpiece_vocabulary.train([text] * 9, 200, lowercase=True)
    assert "".join(tokenizer.decode(tokenizer.encode(text).ids).split()) == "".join(text.split())


def test_lower_casing_strips_accents_of_latin_letters():
    tokenizer = wordpiece_vocabulary.train(["Über den Café-Dächern, Ἀθῆναι"] * 9, 90, lowercase=True)
    assert tokenizer.decode(tokenizer.encode("Dächern Über café").ids) == "dachern uber cafe"
