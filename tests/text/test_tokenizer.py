"""Tokenizer: training, decoding, copies, saving and reading what was saved."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from cats import CORPUS

from keras_transformers.text.tokenizer import Tokenizer


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size)]


def test_train_numbers_special_tokens_first(tokenizer):
    assert vocabulary_of(tokenizer)[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.vocabulary_size == 90
    roles = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    assert roles == (0, 1, 2, 3, 4) == tokenizer.special_ids


@pytest.mark.integration
def test_train_is_the_same_in_every_process(tokenizer):
    program = (
        "import sys, json; from keras_transformers.text.tokenizer import Tokenizer;"
        "print(Tokenizer.train(json.load(sys.stdin), vocabulary_size=90).to_json())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], input=json.dumps(CORPUS), capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert runs == {tokenizer.to_json()}


def test_train_reads_a_generator_once_and_keeps_case():
    cased = Tokenizer.train((line for line in CORPUS), vocabulary_size=90, lowercase=False)
    assert "T" in vocabulary_of(cased)
    assert cased.decode(cased.encode(["The cat"])[0].ids) == "The cat"


def test_train_learns_frequent_words(tokenizer):
    assert "cat" in vocabulary_of(tokenizer)
    assert tokenizer.encode(["cat"], special_tokens=False)[0].ids == [tokenizer.token_to_id("cat")]


def test_decode_takes_rows_batches_arrays(tokenizer):
    ids = tokenizer.encode(["the cat"])[0].ids
    assert tokenizer.decode(ids) == tokenizer.decode(np.array(ids)) == "the cat"
    assert tokenizer.decode([ids, ids[:2]]) == ["the cat", "the"]
    assert tokenizer.decode(np.array([ids, ids])) == ["the cat", "the cat"]
    assert tokenizer.decode(np.zeros((0, 3), int)) == [] and tokenizer.decode([]) == ""
    assert tokenizer.decode(ids, skip_special_tokens=False) == "[CLS] the cat [SEP]"


def test_decode_refuses_ids_outside_the_vocabulary(tokenizer):
    with pytest.raises(ValueError, match=r"Ids \[-1, 90\] are not in the vocabulary"):
        tokenizer.decode([5, 90, -1])


def test_is_continuation(tokenizer):
    assert tokenizer.is_continuation.shape == (tokenizer.vocabulary_size,)
    expected = [token.startswith("##") for token in vocabulary_of(tokenizer)]
    assert tokenizer.is_continuation.tolist() == expected and any(expected)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_encode_alike(tokenizer, copied):
    other = copied(tokenizer)
    assert other.to_json() == tokenizer.to_json()
    assert other.encode(CORPUS, max_length=7)[0].ids == tokenizer.encode(CORPUS, max_length=7)[0].ids


def test_save_and_read_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "all")
    assert Tokenizer.from_folder(tmp_path / "all").to_json() == tokenizer.to_json()
    assert Tokenizer.from_file(tmp_path / "all" / "tokenizer.json").to_json() == tokenizer.to_json()
    assert Tokenizer.from_vocab(tmp_path / "all" / "vocab.txt").to_json() == tokenizer.to_json()


@pytest.mark.parity
@pytest.mark.parametrize("lowercase", [True, False])
def test_transformers_reads_what_save_writes(tmp_path, lowercase):
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer.train(CORPUS, vocabulary_size=90, lowercase=lowercase)
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = tokenizer.encode(["The cat [MASK] dänced"], ["On it?"])[0]
    inputs = theirs("The cat [MASK] dänced", "On it?")
    assert inputs["input_ids"] == ours.ids and inputs["token_type_ids"] == ours.segment_ids
    assert theirs.mask_token_id == tokenizer.mask_id and theirs.pad_token_id == tokenizer.pad_id


@pytest.mark.data
def test_real_vocabulary(data_dir):
    tokenizer = Tokenizer.from_vocab(data_dir / "bert_vocab" / "vocab.txt")
    assert tokenizer.vocabulary_size == 30522
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id) == (0, 100, 101)
    # The ids of this sentence are those of the BERT release (Devlin et al., 2019).
    assert tokenizer.encode(["Hello, my dog is cute"])[0].ids == [101, 7592, 1010, 2026, 3899, 2003, 10140, 102]


def test_an_id_far_above_the_others_is_refused_at_once(tmp_path, tokenizer):
    """The library's to_str goes through all ids up to the largest: for 2^31 that took 18 s."""
    pipeline = json.loads(tokenizer.to_json())
    pipeline["model"]["vocab"]["t"] = 2**30
    (tmp_path / "tokenizer.json").write_text(json.dumps(pipeline))
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"90 tokens with ids up to 1073741824: expected .* ids without large gaps"):
        Tokenizer.from_folder(tmp_path)
    assert time.process_time() - begin < 2


def test_json_both_ways(tokenizer):
    for text in (tokenizer.to_json(), tokenizer.to_json(pretty=False)):
        assert Tokenizer.from_json(text).to_json() == tokenizer.to_json()
    assert "\n" not in tokenizer.to_json(pretty=False)
