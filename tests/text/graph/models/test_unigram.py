"""The unigram model in ops: cuts by hand, long words, and what cannot be compiled."""

from __future__ import annotations

import json
import random
import resource
import string
import time

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models

from keras_transformers.text.graph.compile import compile_text


def pair(rows: list[tuple[str, float]], unk_id: int | None = 0, byte_fallback: bool = False) -> tuple:
    library = Library(models.Unigram([("<unk>", 0.0), *rows], unk_id, byte_fallback))
    graph = compile_text(library.to_str(), pad_id=0)
    return library, tf.function(graph.tokenize, [tf.TensorSpec([None], tf.string)], autograph=False)


@pytest.fixture(scope="module")
def letters() -> tuple:
    return pair([("a", -2.0), ("b", -2.0), ("c", -2.0), ("ab", -1.0), ("bc", -2.0), ("d", -1.0), ("dd", -2.0)])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("abc", ["ab", "c"]),  # -3 against a, bc: -4 and a, b, c: -6
        ("aab", ["a", "ab"]),
        ("bcbc", ["bc", "bc"]),
        ("dd", ["dd"]),  # of equal sums that with the longest last piece
        ("ddd", ["d", "dd"]),
        ("axxb", ["a", "<unk>", "b"]),  # a run of unknown letters is one token
        ("xab", ["<unk>", "ab"]),
        ("", []),
    ],
)
def test_cuts_by_hand(letters, text, pieces):
    library, tokenize = letters
    ids = [library.token_to_id(piece) for piece in pieces]
    assert tokenize([text]).to_list() == [ids] == [library.encode(text).ids]


@pytest.mark.integration
def test_long_words_among_short_ones_cost_little():
    chance = random.Random(0)
    rows = [(letter, -5.0) for letter in string.ascii_lowercase]
    rows += [("".join(chance.choices(string.ascii_lowercase, k=n)), -6.0 - chance.random()) for n in (2, 3) * 2_000]
    library, tokenize = pair(rows)
    texts = ["".join(chance.choices(string.ascii_lowercase, k=10_000)), *["short words here"] * 200]
    tokenize(["trace"])
    begin = time.process_time()
    found = tokenize(texts).to_list()
    assert time.process_time() - begin < 10  # a second or less where the machine is quiet
    assert found == [row.ids for row in library.encode_batch(texts)]


@pytest.mark.integration
def test_pieces_inside_pieces_of_any_length():
    """Many ways to cut, of equal sums too; words that end beside others that go on."""
    chance = random.Random(5)
    for letters in ("a", "ab", "abc"):
        pieces = {"".join(chance.choices(letters, k=chance.randrange(1, 2 + chance.randrange(60)))) for _ in range(60)}
        library, tokenize = pair([(piece, -float(chance.randrange(1, 9))) for piece in sorted(pieces)])
        texts = ["".join(chance.choices(letters + "x", [9] * len(letters) + [1], k=n)) for n in range(120)]
        assert tokenize(texts).to_list() == [row.ids for row in library.encode_batch(texts)]


@pytest.mark.integration
def test_scores_whose_sums_are_infinite():
    library, tokenize = pair([("a", 1e308), ("aa", 1.7e308), ("b", -1e308), ("bb", -1.7e308), ("c", -1.0)])
    texts = ["aaaaaaa", "bbbbbbb", "abab", "aaabbbccc", "bbbbcaaaa", "bxbxxb"]
    assert tokenize(texts).to_list() == [row.ids for row in library.encode_batch(texts)]


@pytest.mark.integration
def test_memory_does_not_grow_with_the_longest_piece():
    """Scores of all places and lengths took 3.4 GB for a megabyte and a piece of 100 letters."""
    library, tokenize = pair([("a", -3.0), ("b", -3.0), ("a" * 100, -2.0)])
    text = ("a" * 130 + "b") * 1_500
    assert tokenize([text[:1_310]]).to_list() == [library.encode(text[:1_310]).ids]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tokenize([text])
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 200e6


@pytest.mark.integration
def test_eager_calls_take_long_words_in_a_moment():
    """Each letter took 4 ms: a word of 5,000 letters more than 20 s."""
    graph = compile_text(Library(models.Unigram([("<unk>", 0.0), ("ab", -1.0)], 0, False)).to_str(), pad_id=0)
    begin = time.process_time()
    assert graph.tokenize(["ab" * 3_000 + "c"]).to_list() == [[1] * 3_000 + [0]]
    assert time.process_time() - begin < 5  # 0.3 s where the machine is quiet


@pytest.mark.integration
def test_long_tokens_are_compiled_without_asking_the_library_for_each():
    """It looks at all pieces inside of them: for these tokens 31,000 each."""
    rows = [("a" * n, -1.0 * n) for n in range(1, 251)]
    rows += [("a" * 250 + chr(0x4E00 + i), -9.0) for i in range(4_000)]
    library = Library(models.Unigram([("<unk>", 0.0), *rows], 0, False))
    begin = time.process_time()
    graph = compile_text(library.to_str(), pad_id=0)
    assert time.process_time() - begin < 3
    assert graph.tokenize([rows[250][0], "aaa"]).to_list() == [
        library.encode(text).ids for text in (rows[250][0], "aaa")
    ]


def test_a_token_that_is_too_long_is_refused():
    library = Library(models.Unigram([("<unk>", 0.0), ("a" * 513, -1.0)], 0, False))
    with pytest.raises(
        ValueError, match=r"with a token of 513 characters' .* Expected one of \['up to 512 characters'\]"
    ):
        compile_text(library.to_str(), pad_id=0)


@pytest.mark.integration
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_typed_unknown_token_beside_unknown_letters(byte_fallback):
    """It is one token with them; or letters as they are, if those are spelled in bytes."""
    spelled = [(f"<0x{byte:02X}>", -9.0) for byte in range(256)] * byte_fallback
    library, tokenize = pair([("a", -1.0), ("ab", -1.5), ("k", -3.0), *spelled], byte_fallback=byte_fallback)
    chance = random.Random(0)
    parts = ["<unk>", "a", "ab", "x", "é", "<", "k", "u", " "]
    texts = [
        "<unk>",
        "x<unk>",
        "<unk><unk>a",
        *("".join(chance.choices(parts, k=chance.randrange(7))) for _ in range(500)),
    ]
    assert tokenize(texts).to_list() == [row.ids for row in library.encode_batch(texts)]


@pytest.mark.integration
def test_of_a_token_that_is_listed_twice_the_last_counts():
    library, tokenize = pair([("a", -9.0), ("b", -1.0), ("ab", -8.0), ("a", -1.0)])
    assert tokenize(["ab"]).to_list() == [library.encode("ab").ids] == [[4, 2]]


@pytest.mark.parametrize("broken", ["no unknown", "some bytes"])
def test_what_cannot_be_compiled(broken):
    config = json.loads(Library(models.Unigram([("<unk>", 0.0), ("<0x41>", -1.0)], 0, True)).to_str())
    if broken == "no unknown":
        config["model"] |= {"unk_id": None, "byte_fallback": False}
    with pytest.raises(ValueError, match=r"The model 'Unigram' .* cannot be compiled"):
        compile_text(json.dumps(config), pad_id=0)
