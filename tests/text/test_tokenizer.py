"""Tokenizer: reading, training, encoding and its options, decoding, saving, errors."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from keras_transformers.text import bert
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = [
    "The cat danced on the table, and the dog sat under it.",
    "A dancing cat is a happy cat; a sitting dog is not unhappy.",
    "Dogs and cats can't be friends, she said. Can they?",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=90)


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size)]


def test_train_numbers_special_tokens_first(tokenizer):
    assert vocabulary_of(tokenizer)[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.vocabulary_size == 90
    roles = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    assert roles == (0, 1, 2, 3, 4) == tokenizer.special_ids


def test_train_is_the_same_in_every_process(tokenizer):
    program = (
        "import sys, json; from keras_transformers.text.tokenizer import Tokenizer;"
        "print(Tokenizer.train(json.load(sys.stdin), vocabulary_size=90).to_json())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], input=json.dumps(CORPUS), capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(3)
    }
    assert runs == {tokenizer.to_json()}


def test_train_reads_a_generator_once_and_keeps_case():
    cased = Tokenizer.train((line for line in CORPUS), vocabulary_size=90, lowercase=False)
    assert "T" in vocabulary_of(cased)
    assert cased.decode(cased.encode(["The cat"])[0].ids) == "The cat"


def test_train_learns_frequent_words(tokenizer):
    assert "cat" in vocabulary_of(tokenizer)
    assert tokenizer.encode(["cat"], special_tokens=False)[0].ids == [tokenizer.token_to_id("cat")]


def test_encode_wraps_and_points_into_the_text(tokenizer):
    row = tokenizer.encode(["The Cat unhappily"])[0]
    assert row.ids[0] == tokenizer.cls_id and row.ids[-1] == tokenizer.sep_id
    assert row.special_mask == [1] + [0] * (len(row.ids) - 2) + [1]
    assert row.segment_ids == [0] * len(row.ids)
    assert [("The Cat unhappily"[a:b]) for a, b in row.offsets[1:3]] == ["The", "Cat"]
    assert row.word_ids[:3] == [None, 0, 1] and set(row.word_ids[3:-1]) == {2}
    assert not row.truncated and row.row == 0


def test_encode_pairs(tokenizer):
    row = tokenizer.encode(["the cat"], ["the dog sat"])[0]
    separators = [i for i, token in enumerate(row.ids) if token == tokenizer.sep_id]
    assert len(separators) == 2
    assert row.segment_ids == [0] * (separators[0] + 1) + [1] * (separators[1] - separators[0])


@pytest.mark.parametrize(
    ("truncation", "kept"),
    [("longest_first", ("the cat the", "dog dog dog")), ("only_first", ("the", "dog dog dog dog dog"))],
)
def test_truncation_strategies(tokenizer, truncation, kept):
    row = tokenizer.encode(["the cat the cat the"], ["dog dog dog dog dog"], max_length=9, truncation=truncation)[0]
    ids = tokenizer.encode([kept[0]], [kept[1]])[0].ids
    assert row.ids == ids and row.truncated


def test_only_second_cuts_the_second(tokenizer):
    row = tokenizer.encode(["the cat the cat the"], ["dog dog dog"], max_length=9, truncation="only_second")[0]
    assert row.ids == tokenizer.encode(["the cat the cat the"], ["dog"])[0].ids


def test_stride_gives_overlapping_windows(tokenizer):
    windows = tokenizer.encode(["the cat the dog the", "cat"], max_length=5, stride=1)
    assert [window.row for window in windows] == [0, 0, 1]
    assert [tokenizer.decode(window.ids) for window in windows] == ["the cat the", "the dog the", "cat"]


def test_special_tokens_off(tokenizer):
    assert tokenizer.encode(["the"], special_tokens=False)[0].ids == [tokenizer.token_to_id("the")]


def test_encode_leaves_no_state_behind(tokenizer):
    before = tokenizer.to_json()
    tokenizer.encode(["the cat the cat"], max_length=4)
    assert tokenizer.to_json() == before
    assert len(tokenizer.encode(["the cat the cat"])[0].ids) == 6
    assert tokenizer.encode([]) == []


def test_decode_takes_rows_batches_arrays(tokenizer):
    ids = tokenizer.encode(["the cat"])[0].ids
    assert tokenizer.decode(ids) == tokenizer.decode(np.array(ids)) == "the cat"
    assert tokenizer.decode([ids, ids[:2]]) == ["the cat", "the"]
    assert tokenizer.decode(np.array([ids, ids])) == ["the cat", "the cat"]
    assert tokenizer.decode(np.zeros((0, 3), int)) == [] and tokenizer.decode([]) == ""
    assert tokenizer.decode(ids, skip_special_tokens=False) == "[CLS] the cat [SEP]"


def test_is_continuation(tokenizer):
    assert tokenizer.is_continuation.shape == (tokenizer.vocabulary_size,)
    expected = [token.startswith("##") for token in vocabulary_of(tokenizer)]
    assert tokenizer.is_continuation.tolist() == expected and any(expected)


def test_save_and_read_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "all")
    assert Tokenizer.from_folder(tmp_path / "all").to_json() == tokenizer.to_json()
    assert Tokenizer.from_file(tmp_path / "all" / "tokenizer.json").to_json() == tokenizer.to_json()
    assert Tokenizer.from_vocab(tmp_path / "all" / "vocab.txt").to_json() == tokenizer.to_json()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "wolfe"),
        ({"do_lower_case": False}, "Wölfe"),
        ({"do_lower_case": True, "strip_accents": False}, "wölfe"),
    ],
)
def test_folder_with_vocab_txt_obeys_its_config(tmp_path, config, expected):
    tokens = [*bert.SPECIAL_TOKENS, "wolfe", "Wölfe", "wölfe"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    read = Tokenizer.from_folder(tmp_path)
    assert read.id_to_token(read.encode(["Wölfe"])[0].ids[1]) == expected


def test_options_of_another_type(tmp_path):
    """null is what an option is by default."""
    (tmp_path / "vocab.txt").write_text("\n".join(bert.SPECIAL_TOKENS), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": null, "tokenizer_class": null}')
    Tokenizer.from_folder(tmp_path)
    for key, value in (("do_lower_case", "yes"), ("tokenizer_class", 5), ("extra_ids", [1])):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
        with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key} must be a \w+: received"):
            Tokenizer.from_folder(tmp_path)


def test_vocab_lines_may_end_in_crlf_and_hold_odd_spaces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("\r\n".join([*bert.SPECIAL_TOKENS, "\u2028", "a"]).encode("utf-8"))
    assert vocabulary_of(Tokenizer.from_vocab(path)) == [*bert.SPECIAL_TOKENS, "\u2028", "a"]


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
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\n", r"lacks the special tokens \['\[MASK\]'\]"),
    ]:
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            Tokenizer.from_vocab(path)


def test_corpora_that_cannot_be_learned():
    with pytest.raises(ValueError, match="received one str"):
        Tokenizer.train("the cat", vocabulary_size=50)
    with pytest.raises(ValueError, match="received one of int"):
        Tokenizer.train(["the cat", 3], vocabulary_size=50)
    with pytest.raises(ValueError, match="holds no word"):
        Tokenizer.train(["  ", ""], vocabulary_size=50)
    with pytest.raises(ValueError, match="vocabulary_size=10 cannot hold"):
        Tokenizer.train(CORPUS, vocabulary_size=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "the cat"}, "received one str"),
        ({"texts": ["the", None]}, "received NoneType at row 1"),
        ({"texts": ["the"], "pairs": ["a", "b"]}, "1 texts and 2 pairs"),
        ({"texts": ["the"], "pairs": "a"}, "for `pairs`, received one str"),
        ({"texts": ["the"], "max_length": 2}, "leaves no room for text beside 2 special tokens"),
        ({"texts": ["the"], "pairs": ["the"], "max_length": 3}, "beside 3 special tokens"),
        ({"texts": ["the"], "truncation": "left"}, "Unknown truncation 'left'"),
        ({"texts": ["the"], "max_length": 8, "truncation": "only_second"}, "needs `pairs`"),
        ({"texts": ["the"], "max_length": 8, "stride": 6}, "expected 0 <= stride < 6"),
        ({"texts": ["the"], "stride": 2}, "needs a max_length"),
        ({"texts": ["a", "the cat sat"], "max_length": 4, "truncation": "error"}, "Row 1 has 5 tokens"),
        ({"texts": ["a"], "pairs": ["the " * 9], "max_length": 6, "truncation": "only_first"}, "Cannot cut every row"),
    ],
)
def test_encode_refuses(tokenizer, arguments, message):
    if "the cat sat" in arguments["texts"]:
        tokenizer = Tokenizer.train(["a the cat sat"] * 9, vocabulary_size=40)
    with pytest.raises(ValueError, match=message):
        tokenizer.encode(**arguments)


def test_unknown_tokens_and_ids(tokenizer):
    with pytest.raises(ValueError, match="'zebra' is not in the vocabulary"):
        tokenizer.token_to_id("zebra")
    with pytest.raises(ValueError, match="No token has id 90"):
        tokenizer.id_to_token(90)
    with pytest.raises(ValueError, match="No token has id -1"):
        tokenizer.id_to_token(-1)
    with pytest.raises(ValueError, match=r"Ids \[-1, 90\] are not in the vocabulary"):
        tokenizer.decode([5, 90, -1])


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
