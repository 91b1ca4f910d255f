"""Tokens beside a vocabulary: of whichever file of a folder, with the ids that `transformers` gives them."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest

from keras_transformers.text.folder.extra_tokens import ADDED, SPECIAL_MAP
from keras_transformers.text.folder.tokenizer_folder import CONFIG
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.vocabulary import ROLES

TEXTS = [
    "hello [E1] world",
    "a <pad> b <x> c",
    "[E2]hello[E1]",
    "x <|end|> y",
    "Hello [MASK] [e1] World!",
    "<img> <s> b",
]
CORPUS = ["hello world", "a b c x y foo bar end img pad mask", "Hello again"]
TOKENS = ["[E1]", "[E2]", "<x>", "<|end|>", "<pad>", "hello", "[MASK]"]
KINDS = {"bert": ("wordpiece", "BertTokenizer"), "gpt2": ("byte_pair", "GPT2Tokenizer")}


def make_folder(path, kind: str, has_json: bool = False, **files: Any) -> int:
    """Write the files of a tokenizer, and others; return the size of the vocabulary."""
    tokenizer = Tokenizer.train(CORPUS, 300, model=KINDS[kind][0])
    tokenizer.save(path)
    (path / CONFIG).unlink()
    if not has_json:
        (path / "tokenizer.json").unlink()
    (path / "config.json").write_text(json.dumps({"model_type": kind}))
    for name, content in files.items():
        (path / {"config": CONFIG, "special": SPECIAL_MAP, "added": ADDED}[name]).write_text(json.dumps(content))
    return tokenizer.vocabulary_size


def flags(content: str, **others: bool) -> dict[str, Any]:
    return {"content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False} | others


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_json", [False, True], ids=["vocabulary", "tokenizer.json"])
@pytest.mark.parametrize("file", ["added", "decoder", "additional", "extra", "special", "role"])
def test_a_token_of_any_file(tmp_path, kind, has_json, file):
    size = make_folder(tmp_path / "0", kind, has_json)
    files = {
        "added": {"added": {"[E1]": size}},
        "decoder": {"config": {"added_tokens_decoder": {str(size): flags("[E1]", special=True)}}},
        "additional": {"config": {"additional_special_tokens": ["[E1]"]}},
        "extra": {"config": {"extra_special_tokens": [{"__type": "AddedToken", **flags("[E1]", special=True)}]}},
        "special": {"special": {"additional_special_tokens": ["[E1]"]}},
        "role": {"special": {"eos_token": flags("[E1]")}},
    }[file]
    make_folder(tmp_path / "1", kind, has_json, **files)
    tokenizer = Tokenizer.from_folder(tmp_path / "1")
    assert tokenizer.vocabulary_size == size + 1
    assert size in tokenizer.encode(["hello [E1] world"], special_tokens=False)[0].ids
    assert (size in tokenizer.special_ids) == (file != "added")


def test_a_token_of_the_vocabulary_keeps_its_id(tmp_path):
    size = make_folder(tmp_path, "bert", config={"additional_special_tokens": ["hello", "[MASK]"]})
    tokenizer, plain = Tokenizer.from_folder(tmp_path), Tokenizer.train(CORPUS, 300)
    assert tokenizer.vocabulary_size == size
    assert tokenizer.token_to_id("hello") == plain.token_to_id("hello") in tokenizer.special_ids


def test_an_id_that_does_not_follow_is_told(tmp_path):
    size = make_folder(tmp_path, "gpt2", added={"<x>": 5000})
    with pytest.warns(
        UserWarning, match=rf"added_tokens.json gives 1 tokens ids .*such as 5000 to '<x>': it has {size}"
    ):
        assert Tokenizer.from_folder(tmp_path).token_to_id("<x>") == size


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"added": {"<x>": "1"}}, r"added_tokens\.json: <x> must be a int: received '1'"),
        ({"config": {"added_tokens_decoder": ["<x>"]}}, "added_tokens_decoder must be a dict"),
        ({"config": {"added_tokens_decoder": {"x": flags("<x>")}}}, "added_tokens_decoder has no token ids, but 'x'"),
        (
            {"config": {"added_tokens_decoder": {"7": {"lstrip": True}}}},
            "expected a token, a str or an object with its",
        ),
        ({"config": {"added_tokens_decoder": {"7": flags("<x>", lstrip=1)}}}, "lstrip must be a bool: received 1"),
        ({"special": {"additional_special_tokens": [5]}}, r"special_tokens_map\.json: expected a token.*: 5"),
    ],
)
def test_files_that_hold_something_else(tmp_path, files, message):
    make_folder(tmp_path, "bert", **files)
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_folder(tmp_path)


def some_files(draw: random.Random, kind: str, size: int) -> dict[str, Any]:
    """Return some combination of files, with any of their keys."""

    def some(most: int) -> list[str]:
        return draw.sample(TOKENS, draw.randint(1, most))

    def token(text: str) -> Any:
        bits = {name: draw.random() < 0.3 for name in ("lstrip", "rstrip", "normalized", "single_word")}
        return draw.choice([text, {"content": text, **bits}])

    pad = "<pad>" if kind == "gpt2" else "[PAD]"
    config = {
        "tokenizer_class": KINDS[kind][1],
        "additional_special_tokens": some(3),
        "extra_special_tokens": some(2),
        "pad_token": pad,
        "eos_token": "<|end|>",
        "image_token": "<img>",
        "do_lower_case": draw.random() < 0.5,
        "strip_accents": draw.choice([True, False, None]),
        "cls_token": "[CLS]" if kind == "bert" else "<s>",
        "add_prefix_space": draw.random() < 0.5,
        "add_bos_token": draw.random() < 0.5,
        "add_eos_token": draw.random() < 0.5,
        "added_tokens_decoder": {
            str(size + i): flags(text, normalized=draw.random() < 0.5, rstrip=draw.random() < 0.5, special=i % 2 == 0)
            for i, text in enumerate(some(3))
        },
    }
    special = {"pad_token": token(pad), "eos_token": token("<|end|>"), "additional_special_tokens": some(3)}
    added = {text: size + i for i, text in enumerate(draw.sample(TOKENS[:5], 3))}
    files = {"config": config, "special": special, "added": added}
    files = {name: {key: values[key] for key in values if draw.random() < 0.35} for name, values in files.items()}
    if files["added"]:
        files["added"] = {text: size + i for i, text in enumerate(files["added"])}
    return {name: values for name, values in files.items() if draw.random() < 0.6}


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(6))
def test_combinations_of_files(tmp_path, seed):
    """Ids and special tokens are those of AutoTokenizer, of what `save` writes too; or a contradiction is told."""
    transformers = pytest.importorskip("transformers")
    draw = random.Random(seed)
    for number in range(20):
        kind, has_json = draw.choice([*KINDS]), draw.random() < 0.4
        size = Tokenizer.train(CORPUS, 300, model=KINDS[kind][0]).vocabulary_size
        files, path = some_files(draw, kind, size), tmp_path / str(number)
        make_folder(path, kind, has_json, **files)
        theirs = transformers.AutoTokenizer.from_pretrained(path)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ours = Tokenizer.from_folder(path)
        ids = [row.ids for row in ours.encode(TEXTS)]
        if not any("tokenizer.json is used here" in str(warning.message) for warning in told):
            assert ids == [theirs(text)["input_ids"] for text in TEXTS], files
        special = [i for i, token in theirs.added_tokens_decoder.items() if token.special]
        assert [*ours.special_ids] == sorted(special), files

        (path / "config.json").rename(tmp_path / "config.json")
        ours.save(path)
        (tmp_path / "config.json").rename(path / "config.json")
        again = transformers.AutoTokenizer.from_pretrained(path)
        assert ids == [again(text)["input_ids"] for text in TEXTS], files
        for role in ROLES:
            assert getattr(again, role) == getattr(theirs, role), files
