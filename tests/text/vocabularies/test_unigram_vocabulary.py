"""Unigram vocabularies: trained alike in every run, written as .spm and read again."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, normalizers, pre_tokenizers

from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.unigram_vocabulary import model_of

CORPUS = ["The cat danced on the table, and the dog sat under it; nobody was unhappy.", "the cats, the dogs"] * 3
CORPUS += ["Die Katze tanzte über die Brücke.", "Ein Hund saß unter dem Tisch."] * 3
TEXTS = [*CORPUS[:2], *CORPUS[-2:], "", "  a  b ", "ﬁne ²  caf\u0065\u0301", "\x00\x07 zzz 日本", "</s><unk>"]


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return Tokenizer.train(CORPUS, 120, model="unigram")


def test_pieces_and_their_order(trained):
    assert trained.vocabulary_size <= 120
    assert (trained.pad_id, trained.eos_id, trained.unk_id) == (0, 1, 2)
    rows = json.loads(trained.to_json())["model"]["vocab"]
    scores = [score for _, score in rows[3:]]
    assert scores == sorted(scores, reverse=True) and max(scores) < 0
    assert np.allclose(scores, np.float32(scores), rtol=1e-15, atol=0)
    ids = trained.encode(["the cat danced"])[0].ids
    assert ids[-1] == 1 and trained.decode(ids) == "the cat danced"
    assert trained.decode(trained.encode(["the\u00a0 ｃat u\u0308ber "])[0].ids) == "the cat über"


def test_the_same_in_every_run(trained):
    train = f"Tokenizer.train({CORPUS}, 120, model='unigram')"
    code = f"from keras_transformers.text.tokenizer import Tokenizer\nprint({train}.to_json())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.strip() == trained.to_json()


@pytest.mark.integration
def test_written_as_sentencepiece_and_read_again(trained, tmp_path):
    (tmp_path / "x.spm").write_bytes(spm_file.serialize(model_of(json.loads(trained.to_json()))))
    again = Tokenizer.from_sentencepiece(tmp_path / "x.spm")
    expected = [row.ids[:-1] for row in trained.encode(TEXTS)]
    assert [row.ids for row in again.encode(TEXTS)] == expected


@pytest.mark.integration
def test_a_joint_vocabulary_is_saved_as_marians(trained, tmp_path):
    Tokenizer.save_pair(tmp_path, trained, trained)
    assert (tmp_path / "source.spm").read_bytes() == (tmp_path / "target.spm").read_bytes()
    assert json.loads((tmp_path / "vocab.json").read_text())["</s>"] == 1
    source, target = Tokenizer.pair_from_folder(tmp_path)
    assert source is target and source.to_json() == trained.to_json() == Tokenizer.from_folder(tmp_path).to_json()
    (tmp_path / "tokenizer.json").unlink()
    source, target = Tokenizer.pair_from_folder(tmp_path)
    assert [row.ids for row in source.encode(TEXTS)] == [row.ids for row in trained.encode(TEXTS)]


@pytest.mark.integration
def test_two_vocabularies_are_saved_as_marians(trained, tmp_path):
    other = Tokenizer.train(CORPUS[-6:], 60, model="unigram", lowercase=True)
    Tokenizer.save_pair(tmp_path, trained, other)
    pair = Tokenizer.pair_from_folder(tmp_path)
    assert [side.to_json() for side in pair] == [trained.to_json(), other.to_json()]
    for name in ("tokenizer.json", "target_tokenizer.json"):
        (tmp_path / name).unlink()
    for made, side in zip((trained, other), Tokenizer.pair_from_folder(tmp_path), strict=True):
        assert [row.ids for row in side.encode(TEXTS)] == [row.ids for row in made.encode(TEXTS)]


def test_lower_case(tmp_path):
    lower = Tokenizer.train(CORPUS, 100, model="unigram", lowercase=True)
    assert lower.encode(["THE Katze"])[0].ids == lower.encode(["the katze"])[0].ids
    assert lower.decode(lower.encode(["THE"])[0].ids) == "the"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary_size": None}, "needs a vocabulary_size"),
        ({"vocabulary_size": 3}, "vocabulary_size=3"),
        ({"special_tokens": ["<unk>"]}, "has the special tokens </s> and <unk>"),
        ({"texts": []}, "holds no text"),
        ({"texts": ["", "  "]}, "holds no text"),
    ],
)
def test_training_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.train(**{"texts": CORPUS, "vocabulary_size": 50, "model": "unigram", **arguments})


def test_what_sentencepiece_cannot_say(trained):
    config = json.loads(trained.to_json())
    with pytest.raises(ValueError, match="The normaliser Strip cannot be written"):
        model_of(config | {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}})
    other = Tokenizer.train(CORPUS, 300, model="byte_pair")
    with pytest.raises(ValueError, match="Only a Unigram model"):
        model_of(json.loads(other.to_json()))


@pytest.mark.integration
def test_a_prefix_of_the_first_word_only():
    """What SentencePiece calls a dummy prefix."""
    library = Library(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -1.0)], unk_id=0))
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    assert model_of(json.loads(library.to_str())).dummy_prefix
