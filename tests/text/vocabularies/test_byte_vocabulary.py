"""A vocabulary of the 256 bytes: every text comes back, in Python, in the graph, and from `transformers`."""

from __future__ import annotations

import random

import pytest

from keras_transformers.text.tokenizer import Tokenizer

EXAMPLES = [
    "",
    " ",
    "The cat danced.",
    "  two  spaces \r\n\n\t",
    "e\u0301 a\u0308\u0323 \u0915\u094d\u0937\u093f",  # combining marks
    "👩‍👩‍👧‍👦 🇩🇪 ☺\ufe0f 日本語",
    "\x00\x7f\x80\ufffd\ufeff\ud7ff\U0010ffff",
    "cat<|endoftext|>dog",
    "Ġ Ċ Ā",  # byte letters, typed
    "don'T 'LL we'Ve",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([], model="bytes")


def texts_at_random(count: int) -> list[str]:
    draw = random.Random(0)
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    return ["".join(map(chr, draw.choices(points, k=draw.randrange(40)))) for _ in range(count)]


def test_ids_are_bytes_behind_the_special_tokens(tokenizer):
    assert (tokenizer.vocabulary_size, tokenizer.eos_id, tokenizer.special_ids) == (257, 0, (0,))
    assert tokenizer.token_bytes() == [b"", *(bytes([byte]) for byte in range(256))]
    for text in texts_at_random(50):
        assert tokenizer.encode([text])[0].ids == [1 + byte for byte in text.encode()]
    assert tokenizer.encode(["<|endoftext|>é"])[0].ids == [0, 196, 170]


def test_every_text_comes_back(tokenizer):
    texts = EXAMPLES + texts_at_random(200)
    assert tokenizer.decode([row.ids for row in tokenizer.encode(texts)], skip_special_tokens=False) == texts


@pytest.mark.integration
def test_the_graph_has_the_same_ids(tokenizer):
    tf = pytest.importorskip("tensorflow")
    from keras_transformers.text.graph.compile import compile_text

    texts = EXAMPLES + texts_at_random(100)
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    ids = graph.tokenize(tf.constant([text.encode() for text in texts]))
    assert ids.to_list() == [row.ids for row in tokenizer.encode(texts)]
    without = [text.replace("<|endoftext|>", "") for text in texts]  # a special token is no text
    decoded = graph.decode(ids.to_tensor()).numpy()
    assert [text.decode() for text in decoded] == without


def test_sizes_and_special_tokens():
    assert Tokenizer.train([], 257, model="bytes").vocabulary_size == 257
    assert Tokenizer.train([], 256, model="bytes", special_tokens=[]).encode(["\x00a"])[0].ids == [0, 97]
    own = Tokenizer.train([], model="bytes", special_tokens=["<pad>", "</s>", "<unk>"])
    assert (own.pad_id, own.eos_id, own.encode(["\x00</s>"])[0].ids) == (0, 1, [3, 1])
    for size in (0, 256, 258):
        with pytest.raises(ValueError, match=rf"has 257 tokens.*received vocabulary_size={size}\. Leave it out"):
            Tokenizer.train([], size, model="bytes")
    for tokens in (["<s>", "<s>"], ["a"], ["Ġ"]):
        with pytest.raises(ValueError, match="repeat, or are byte letters"):
            Tokenizer.train([], model="bytes", special_tokens=tokens)
    with pytest.raises(ValueError, match="received lowercase=True"):
        Tokenizer.train([], model="bytes", lowercase=True)
    with pytest.raises(ValueError, match="received one str"):
        Tokenizer.train("the cat", model="bytes")


def test_files_and_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).to_json() == tokenizer.to_json()
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.from_folder(tmp_path).to_json() == tokenizer.to_json()


@pytest.mark.parity
@pytest.mark.parametrize("special_tokens", [None, ["<pad>", "</s>"]])
def test_transformers_reads_what_save_writes(tmp_path, special_tokens):
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer.train([], model="bytes", special_tokens=special_tokens)
    tokenizer.save(tmp_path)
    texts = EXAMPLES + texts_at_random(20)
    for kind in (transformers.AutoTokenizer, transformers.PreTrainedTokenizerFast):
        theirs = kind.from_pretrained(tmp_path)
        for text, row in zip(texts, tokenizer.encode(texts), strict=True):
            assert theirs(text)["input_ids"] == row.ids
            assert theirs.decode(row.ids, clean_up_tokenization_spaces=False) == text
        assert theirs.eos_token_id == tokenizer.eos_id
