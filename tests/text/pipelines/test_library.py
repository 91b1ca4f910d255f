"""The library's object: shared by threads, interrupted, and met with patterns that it gives up on."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from keras_transformers.text.pipelines.library import Guard, panics_as_errors, uncached
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["The cat danced on the table, and the dog sat under it.", "Dogs and cats can't be friends."]
CATASTROPHE = r"(a+)+b"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=80)


@pytest.mark.integration
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


def test_a_guard_truncates_within_and_not_behind(tokenizer):
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    library.enable_truncation(3)
    library.enable_padding()
    guard = Guard(library)
    assert library.truncation is None and library.padding is None
    with guard({"max_length": 5, "stride": 0, "strategy": "longest_first"}):
        assert len(library.encode(CORPUS[0]).ids) == 5
    assert len(library.encode(CORPUS[0]).ids) > 5
    with pytest.raises(KeyError), guard({"max_length": 5}):
        raise KeyError
    assert library.truncation is None


def test_only_panics_become_value_errors():
    class PanicException(BaseException):
        pass

    with pytest.raises(ValueError, match="gave up: endless time"), panics_as_errors():
        raise PanicException("endless time")
    with pytest.raises(SystemExit), panics_as_errors():
        raise SystemExit


@pytest.mark.parametrize(
    "make",
    [
        lambda: models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]),
        lambda: models.Unigram([("a", -1.0), ("b", -2.0), ("ab", -2.5)], unk_id=0),
    ],
)
def test_models_cut_words_without_their_cache_as_with_it(make):
    """The library never frees that cache: 1.3 MB for each text graph of 4,096 tokens that is made and dropped."""
    assert hasattr(make(), "_resize_cache")  # else look for the new name
    words = ["aab", "ba", "abab", "aab"]
    ids = [[[token.id for token in model.tokenize(word)] for word in words] for model in (uncached(make()), make())]
    assert ids[0] == ids[1]
