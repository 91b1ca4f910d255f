"""Tokenizers shared by threads, copied, and met with texts and patterns that the library cannot take."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["The cat danced on the table, and the dog sat under it.", "Dogs and cats can't be friends."]
CATASTROPHE = r"(a+)+b"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=80)


def test_threads_do_not_share_their_truncation(tokenizer):
    """Truncation is state of the library's object: rows of one call were cut by the length of another."""
    texts = [" ".join(CORPUS)] * 8
    whole = tokenizer.encode(texts[:1])[0].ids

    def one(i: int) -> bool:
        length = [None, 5, 9, 14, 40][i % 5]
        rows = [row.ids for row in tokenizer.encode(texts, max_length=length)]
        back = tokenizer.decode([whole])
        plain = json.loads(tokenizer.to_json())["truncation"] is None
        wanted = whole if length is None or length >= len(whole) else [*whole[: length - 1], whole[-1]]
        return plain and back == [tokenizer.decode(whole)] and all(row == wanted for row in rows)

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(one, range(1200)))
    assert results.count(False) == 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_encode_alike(tokenizer, copied):
    other = copied(tokenizer)
    assert other.to_json() == tokenizer.to_json()
    assert other.encode(CORPUS, max_length=7)[0].ids == tokenizer.encode(CORPUS, max_length=7)[0].ids


def with_pattern(part: str) -> Tokenizer:
    library = tokenizers.Tokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))
    if part == "normalizer":
        library.normalizer = normalizers.Replace(Regex(CATASTROPHE), "c")
    else:
        library.pre_tokenizer = pre_tokenizers.Split(Regex(CATASTROPHE), "isolated")
    return Tokenizer(library)


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer"])
def test_a_pattern_that_gives_up_is_an_error(part):
    tokenizer = with_pattern(part)
    with pytest.raises(ValueError, match=r"retry-limit.*pattern .* of this tokenizer.json.*Mend"):
        tokenizer.encode(["a", "a" * 40])
    with pytest.raises(ValueError, match="retry-limit"):
        tokenizer.encode(["a"], ["a" * 40], max_length=8)
    assert tokenizer.encode(["a"])[0].ids == [0]  # and goes on


def test_a_pattern_that_gives_up_while_loading_is_an_error(tmp_path):
    config = json.loads(with_pattern("normalizer").to_json())
    token = {"id": 2, "content": "a" * 40, "normalized": True, "special": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    (tmp_path / "tokenizer.json").write_text(json.dumps(config | {"added_tokens": [token | flags]}))
    with pytest.raises(ValueError, match="retry-limit"):
        Tokenizer.from_file(tmp_path / "tokenizer.json")


def test_interrupts_pass(tokenizer, monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            def interrupt(*_, **__):
                raise KeyboardInterrupt

            return interrupt

    other = copy.copy(tokenizer)
    monkeypatch.setattr(other, "_library", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        other.encode(["a"])


def test_a_lone_surrogate_names_its_row(tokenizer):
    remedy = r"row 1 .*lone surrogate '\\ud83d' at character 5.*errors=.replace"
    with pytest.raises(ValueError, match=r"`texts`.*" + remedy):
        tokenizer.encode(["fine \U0001f600", "half \ud83d", "\ud800"])
    with pytest.raises(ValueError, match=r"`pairs`.*" + remedy):
        tokenizer.encode(["a", "b"], ["fine", "half \ud83d"])
    with pytest.raises(ValueError, match=remedy):
        Tokenizer.train(["fine", "half \ud83d"], vocabulary_size=40)
