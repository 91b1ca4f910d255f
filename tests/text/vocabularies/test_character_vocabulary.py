"""Character vocabularies: numbering, round trip, unknown characters."""

from __future__ import annotations

import pytest

from keras_transformers.text.tokenizer import Tokenizer

TEXT = "To be, or\nnot to be:\té😀"


def test_ids_follow_code_points_and_text_comes_back():
    tokenizer = Tokenizer.train([TEXT], model="character")
    characters = sorted(set(TEXT))
    assert [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size)] == characters
    row = tokenizer.encode([TEXT])[0]
    assert row.ids == [characters.index(character) for character in TEXT]
    assert [TEXT[a:b] for a, b in row.offsets] == list(TEXT)
    assert tokenizer.decode(row.ids) == TEXT
    assert tokenizer.special_ids == ()
    assert tokenizer.token_bytes() == [character.encode() for character in characters]


def test_unknown_characters():
    tokenizer = Tokenizer.train(["abc"], model="character")
    with pytest.raises(ValueError, match=r"The characters \['X', 'é'\] are not in the vocabulary of 3, nor is <unk>"):
        tokenizer.encode(["aéb", "X"])
    tokenizer = Tokenizer.train(["abc"], model="character", special_tokens=["<unk>", "</s>"])
    assert tokenizer.encode(["aéc</s>"])[0].ids == [2, 0, 4, 1]
    assert (tokenizer.unk_id, tokenizer.eos_id) == (0, 1)


def test_sizes_and_empty_corpora():
    assert Tokenizer.train(iter(["ab", "b"]), 2, model="character").vocabulary_size == 2
    with pytest.raises(ValueError, match="vocabulary_size=2 cannot hold the 3"):
        Tokenizer.train(["abc"], 2, model="character")
    with pytest.raises(ValueError, match="holds no character"):
        Tokenizer.train([""], model="character")
    with pytest.raises(ValueError, match="received lowercase=True"):
        Tokenizer.train(["abc"], model="character", lowercase=True)


@pytest.mark.parity
def test_transformers_reads_what_save_writes(tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer.train([TEXT], model="character", special_tokens=["<unk>"])
    tokenizer.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).to_json() == tokenizer.to_json()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert theirs("or\tbé!")["input_ids"] == tokenizer.encode(["or\tbé!"])[0].ids
    assert theirs.unk_token_id == 0


@pytest.mark.data
def test_tinyshakespeare_has_65_characters(data_dir):
    text = (data_dir / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    tokenizer = Tokenizer.train([text], model="character")
    assert tokenizer.vocabulary_size == 65
    # nanoGPT numbers the sorted characters: "hii there" there.
    assert tokenizer.encode(["hii there"])[0].ids == [46, 47, 47, 1, 58, 46, 43, 56, 43]
