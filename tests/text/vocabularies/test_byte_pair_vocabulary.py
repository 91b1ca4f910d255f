"""Byte-pair vocabularies: read, train, what their tokens spell, the files of a folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import tokenizers
from tokenizers import normalizers, pre_tokenizers

from keras_transformers.text.folder import tokenizer_folder
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import byte_pair_vocabulary

CORPUS = [
    "The cat danced on the table.",
    "A dancing cat can't be\tunhappy, 12345 dogs said.",
    "Über naïve Katzen 😀 日本語",
]
TEXTS = [
    *CORPUS,
    "",
    " ",
    "  two  spaces \n\n\t",
    "\x00\ufffd\U0010ffff",
    "cat<|endoftext|>dog",
    "don'T 'LL we'Ve",
    "a\u00a0 b",
]
GPT1 = {"<unk>": 0, "a": 1, "b": 2, "a</w>": 3, "b</w>": 4, "ab</w>": 5}


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return Tokenizer.train(CORPUS, 300, model="byte_pair")


def write(folder, vocabulary: object, merges: str):
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    return folder / "vocab.json", folder / "merges.txt"


def test_letters_are_those_of_the_library():
    letters = byte_pair_vocabulary.byte_letters()
    assert letters.keys() == set(pre_tokenizers.ByteLevel.alphabet()) and set(letters.values()) == set(range(256))
    spell = {byte: letter for letter, byte in letters.items()}
    text = "a é\n😀"
    (piece, _), *_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert piece == "".join(spell[byte] for byte in text.encode())


def test_every_text_comes_back(trained):
    assert trained.decode([row.ids for row in trained.encode(TEXTS)], skip_special_tokens=False) == TEXTS


def test_training_numbers_the_end_token_first_and_needs_no_padding(trained):
    assert (trained.eos_id, trained.special_ids, trained.vocabulary_size) == (0, (0,), 300)
    with pytest.raises(ValueError, match=r"'\[PAD\]' is not in the vocabulary"):
        trained.pad_id  # noqa: B018
    two = Tokenizer.train(CORPUS, 300, model="byte_pair", special_tokens=["<pad>", "</s>"])
    assert (two.token_to_id("<pad>"), two.eos_id, two.special_ids) == (0, 1, (0, 1))


@pytest.mark.integration
def test_training_is_the_same_in_every_process(trained):
    program = (
        "import sys, json; from keras_transformers.text.tokenizer import Tokenizer;"
        "print(Tokenizer.train(json.load(sys.stdin), 300, model='byte_pair').to_json())"
    )
    command = [sys.executable, "-c", program]
    runs = {
        subprocess.run(command, input=json.dumps(CORPUS), capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    }
    assert runs == {trained.to_json()}


def test_bytes_of_tokens_join_to_the_text(trained):
    pieces = trained.token_bytes()
    assert len(pieces) == trained.vocabulary_size and pieces[trained.eos_id] == b""
    for text in TEXTS:
        assert b"".join(pieces[i] for i in trained.encode([text])[0].ids) == text.replace("<|endoftext|>", "").encode()


def test_files_and_back(trained, tmp_path):
    trained.save(tmp_path)
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    assert Tokenizer.from_merges(*files).to_json() == trained.to_json()
    assert Tokenizer.from_folder(tmp_path).to_json() == trained.to_json()
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.from_folder(tmp_path).to_json() == trained.to_json()


@pytest.mark.parametrize("cut", [1, 3, 15])
def test_merges_that_are_cut_at_the_end_of_a_line_are_told(trained, tmp_path, cut):
    trained.save(tmp_path)
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    lines = files[1].read_text(encoding="utf-8").splitlines()
    files[1].write_text("\n".join(lines[:-cut]) + "\n", encoding="utf-8")
    last = re.escape(lines[-cut - 1].replace(" ", " and "))
    with pytest.warns(
        UserWarning, match=rf"merges\.txt ends with the merge of '{last}', and makes none of {cut} tokens"
    ):
        Tokenizer.from_merges(*files)


def test_gpt1_marks_the_ends_of_words(tmp_path):
    tokenizer = Tokenizer.from_merges(*write(tmp_path, GPT1, "#version: 0.2\na b</w>\n\n"))
    assert tokenizer.encode(["Ab b aa é"])[0].ids == [5, 4, 1, 3, 0]
    assert tokenizer.decode([5, 4, 1, 3, 0]) == "ab b aa"
    assert tokenizer.token_bytes() == [b"", b"a", b"b", b"a ", b"b ", b"ab "]
    assert tokenizer.unk_id == 0


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        ([1, 2], "", "does not give each token a separate id"),
        ({"a": 0, "b": 0}, "", "does not give each token a separate id"),
        ({"a": 0, "b": "1"}, "", "does not give each token a separate id"),
        ({}, "", "does not give each token a separate id"),
        (GPT1, "#version: 0.2\na b</w> a\n", "line 2: expected two parts"),
        (GPT1, "a b", "merges 'a' and 'b', but 'ab' is not in"),
        (GPT1, "a c</w>", "but 'c</w>' is not in"),
        (
            {**GPT1, **{f"word{i}": 6 + i for i in range(17)}},
            "a b</w>",
            "18 tokens .*, such as '<unk>', are made by none",
        ),
        ({"a": 0, "b": 1}, "", "lacks 254 of the 256 byte letters"),
        ({"a</w>": 0}, "", "as GPT-1's, but no <unk>"),
    ],
)
def test_files_that_do_not_fit(tmp_path, vocabulary, merges, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_merges(*write(tmp_path, vocabulary, merges))


def test_files_that_are_not_there_or_not_json(tmp_path):
    vocabulary, merges = write(tmp_path, GPT1, "a b</w>")
    merges.unlink()
    with pytest.raises(ValueError, match=r"No file at .*merges\.txt.*needs both"):
        Tokenizer.from_folder(tmp_path)
    merges.write_text("a b</w>")
    for broken in ("{", "[" * 100_000):
        vocabulary.write_text(broken)
        with pytest.raises(ValueError, match="is no JSON"):
            Tokenizer.from_folder(tmp_path)


def test_folders_of_another_pipeline_are_refused(tmp_path):
    write(tmp_path, GPT1, "a b</w>")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CLIPTokenizerFast"}))
    with pytest.raises(ValueError, match=r"Cannot build a .* Provide its tokenizer\.json"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary_size": 256}, "vocabulary_size=256 cannot hold 256 bytes and 1 special tokens. Ask for 257"),
        ({}, "needs a vocabulary_size"),
        ({"vocabulary_size": 300, "lowercase": True}, "received lowercase=True"),
        ({"vocabulary_size": 300, "texts": [""]}, "holds no word"),
        ({"vocabulary_size": 300, "texts": ["a", 3]}, "received one of int"),
        ({"vocabulary_size": 300, "model": "bigram"}, "Unknown model 'bigram'"),
        ({"vocabulary_size": 300, "model": "wordpiece", "special_tokens": ["x"]}, "has fixed special tokens"),
    ],
)
def test_training_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.train(**{"texts": CORPUS, "model": "byte_pair", **arguments})


@pytest.mark.parity
@pytest.mark.parametrize("kind", ["gpt2", "gpt1", "prefixed", "pad", "other"])
def test_transformers_reads_what_save_writes(trained, tmp_path, kind):
    transformers = pytest.importorskip("transformers")
    library = tokenizers.Tokenizer.from_str(trained.to_json())
    if kind == "prefixed":
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    if kind == "other":
        library.normalizer = normalizers.Lowercase()
    tokenizer = {
        "gpt1": lambda: Tokenizer(byte_pair_vocabulary.build(GPT1, [("a", "b</w>")])),
        "pad": lambda: Tokenizer.train(CORPUS, 300, model="byte_pair", special_tokens=["<|endoftext|>", "<pad>"]),
    }.get(kind, lambda: Tokenizer(library))()
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    classes = {"gpt1": "OpenAIGPTTokenizer", "other": "TokenizersBackend"}
    assert type(theirs).__name__ == classes.get(kind, "GPT2Tokenizer")
    assert len(theirs) == tokenizer.vocabulary_size
    for text in [*TEXTS, "Ab b aa"]:
        assert theirs(text)["input_ids"] == tokenizer.encode([text])[0].ids
    if kind == "pad":
        assert theirs.pad_token_id == tokenizer.token_to_id("<pad>")
    if kind != "gpt1":
        assert theirs.eos_token_id == tokenizer.eos_id


@pytest.mark.data
def test_real_vocabulary(data_dir):
    folder = data_dir / "gpt2_vocab"
    tokenizer = Tokenizer.from_merges(folder / "vocab.json", folder / "merges.txt")
    assert (tokenizer.vocabulary_size, tokenizer.eos_id) == (50257, 50256)
    # The ids of this sentence are those that the documentation of `transformers` prints for GPT-2.
    assert tokenizer.encode(["Hello world", " Hello world"])[0].ids == [15496, 995]
    assert tokenizer.encode([" Hello world"])[0].ids == [18435, 995]
    assert tokenizer.token_bytes()[995] == b" world"
    assert Tokenizer.from_folder(folder).to_json() == tokenizer.to_json()


@pytest.mark.parametrize("options", [
    {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(False)])},
    {"pre_tokenizer": pre_tokenizers.ByteLevel(False, use_regex=False)},
    {"normalizer": normalizers.Lowercase()},
], ids=["RobBERT", "without a pattern", "lower case"])  # fmt: skip
def test_the_class_of_bart_is_for_its_own_splitting_alone(tmp_path, options):
    tokens = [*byte_pair_vocabulary.BART_TOKENS, *sorted(byte_pair_vocabulary.byte_letters())]
    library = byte_pair_vocabulary.build_bart({token: i for i, token in enumerate(tokens)}, [])
    assert byte_pair_vocabulary.folder_class(json.loads(library.to_str()))["tokenizer_class"] == "BartTokenizer"
    for name, component in options.items():
        setattr(library, name, component)
    assert byte_pair_vocabulary.folder_class(json.loads(library.to_str())) is None
    tokenizer_folder.write(tmp_path, library, {})
    assert Tokenizer.from_folder(tmp_path).encode(TEXTS)[0].ids == library.encode(TEXTS[0]).ids
