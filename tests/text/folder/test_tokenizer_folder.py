"""Folders of tokenizer files: what is read of the configuration, and what is written there."""

from __future__ import annotations

import json
import pickle

import pytest
import tokenizers
from tokenizers import models

from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.folder import tokenizer_folder
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import wordpiece_vocabulary


def config_of(path) -> dict:
    return json.loads((path / tokenizer_folder.CONFIG).read_text(encoding="utf-8"))


def test_special_tokens_are_written_by_their_roles(tmp_path):
    library = tokenizers.Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "<unk>": 2, "a": 3}, unk_token="<unk>"))
    library.add_special_tokens(["<pad>", "</s>"])
    library.add_tokens(["<unk>"])
    tokenizer_folder.write(tmp_path, library, {}, max_length=7)
    assert config_of(tmp_path) == {  # <unk> is no special token here
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "model_max_length": 7,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert tokenizer_folder.read(tmp_path)[0].to_str() == library.to_str()


@pytest.mark.parametrize("length", [None, 1, 512, 1e30])
def test_the_greatest_length_comes_back(tmp_path, length):
    Tokenizer.train(["a cat"], 30).save(tmp_path, max_length=length)
    assert tokenizer_folder.read_max_length(tmp_path) == length
    assert tokenizer_folder.read_max_length(tmp_path / "nowhere") is None


@pytest.mark.parametrize("length", [0, -3, "512", True, [8]])
def test_a_length_that_is_none(tmp_path, length):
    (tmp_path / tokenizer_folder.CONFIG).write_text(json.dumps({"model_max_length": length}))
    with pytest.raises(ValueError, match=r"tokenizer_config\.json says model_max_length=.*or give max_length"):
        tokenizer_folder.read_max_length(tmp_path)


def test_one_tokenizer_for_both_sides(tmp_path):
    tokenizer = Tokenizer.train(["a cat"], 30)
    tokenizer.save(tmp_path)
    source, target = tokenizer_folder.read_pair(tmp_path)
    assert source is target and source[0].to_str() == tokenizers.Tokenizer.from_str(tokenizer.to_json()).to_str()


def test_two_tokenizers_that_are_no_marians(tmp_path):
    sides = Tokenizer.train(["a cat"], 30), Tokenizer.train(["ein Hund"], 40)
    Tokenizer.save_pair(tmp_path, *sides)
    assert (tmp_path / tokenizer_folder.TARGET).is_file() and not (tmp_path / "source.spm").exists()
    assert [side.to_json() for side in Tokenizer.pair_from_folder(tmp_path)] == [side.to_json() for side in sides]
    with pytest.raises(ValueError, match=r"two tokenizers, for source and target.*pair_from_folder"):
        tokenizer_folder.read(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_broken_configuration(tmp_path, content):
    (tmp_path / "vocab.txt").write_text("\n".join(wordpiece_vocabulary.SPECIAL_TOKENS), encoding="utf-8")
    (tmp_path / tokenizer_folder.CONFIG).write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json.* JSON"):
        tokenizer_folder.read(tmp_path)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "wolfe"),
        ({"do_lower_case": False}, "Wölfe"),
        ({"do_lower_case": True, "strip_accents": False}, "wölfe"),
    ],
)
def test_folder_with_vocab_txt_obeys_its_config(tmp_path, config, expected):
    tokens = [*wordpiece_vocabulary.SPECIAL_TOKENS, "wolfe", "Wölfe", "wölfe"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    read = Tokenizer.from_folder(tmp_path)
    assert read.id_to_token(read.encode(["Wölfe"])[0].ids[1]) == expected


def test_options_of_another_type(tmp_path):
    """null is what an option is by default."""
    (tmp_path / "vocab.txt").write_text("\n".join(wordpiece_vocabulary.SPECIAL_TOKENS), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": null, "tokenizer_class": null}')
    Tokenizer.from_folder(tmp_path)
    for key, value in (("do_lower_case", "yes"), ("tokenizer_class", 5), ("extra_ids", [1])):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
        with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key} must be a \w+: received"):
            Tokenizer.from_folder(tmp_path)


SAID = {
    "tokenizer_class": "GPT2TokenizerFast",
    "eos_token": {"__type": "AddedToken", "content": "<|im_end|>", "lstrip": False, "special": True},
    "pad_token": "<|pad|>",
    "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
    "padding_side": "left",
    "model_max_length": 77,
    "src_lang": "en",
    "tgt_lang": "de",
    "chat_template": "{{ messages }}",
    "something_new": {"ä": [1]},
}


def chat_folder(path) -> Tokenizer:
    """A folder that says more of its tokenizer than is used here."""
    trained = Tokenizer.train(["the cat sat"], 270, model="byte_pair")
    trained.save(path)
    (path / tokenizer_folder.CONFIG).write_text(json.dumps(SAID), encoding="utf-8")
    (path / "chat_template.jinja").write_text("{% for message in messages %}ä{% endfor %}", encoding="utf-8")
    (path / "additional_chat_templates").mkdir()
    (path / "additional_chat_templates" / "tool.jinja").write_text("{{ tools }}")
    (path / "special_tokens_map.json").write_text(json.dumps({"pad_token": "<|pad|>"}))
    return Tokenizer.from_folder(path)


def files_of(path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_what_a_folder_says_is_written_back(tmp_path):
    """Roles, templates, languages and keys that nothing here uses."""
    (tmp_path / "old").mkdir()
    tokenizer = chat_folder(tmp_path / "old")
    tokenizer.save(tmp_path / "new")
    old, new = files_of(tmp_path / "old"), files_of(tmp_path / "new")
    assert config_of(tmp_path / "new") == SAID | {"add_prefix_space": False}
    assert {*new} == {*old}
    for name in ("chat_template.jinja", "additional_chat_templates/tool.jinja", "special_tokens_map.json"):
        assert new[name] == old[name]
    Tokenizer.from_folder(tmp_path / "new").save(tmp_path / "again")
    assert files_of(tmp_path / "again") == new


def test_the_roles_are_those_that_a_folder_names(tmp_path):
    tokenizer = chat_folder(tmp_path)
    assert tokenizer.eos_id == tokenizer.token_to_id("<|im_end|>") != tokenizer.token_to_id("<|endoftext|>")
    assert pickle.loads(pickle.dumps(tokenizer)).pad_id == tokenizer.token_to_id("<|pad|>")


def test_a_changed_pipeline_keeps_all_but_its_class(tmp_path):
    (tmp_path / "old").mkdir()
    tokenizer = with_end_token(chat_folder(tmp_path / "old"), 256)
    tokenizer.save(tmp_path / "new")
    said = {key: value for key, value in SAID.items() if key != "tokenizer_class"}
    assert config_of(tmp_path / "new") == said | {"tokenizer_class": "PreTrainedTokenizerFast"}


def test_a_length_of_the_model_replaces_the_one_that_was_said(tmp_path):
    (tmp_path / "old").mkdir()
    chat_folder(tmp_path / "old").save(tmp_path / "new", max_length=9)
    assert config_of(tmp_path / "new")["model_max_length"] == 9


def test_the_class_of_config_json_is_kept(tmp_path):
    Tokenizer.train(["a cat"], 40).save(tmp_path / "old")
    (tmp_path / "old" / tokenizer_folder.CONFIG).unlink()
    (tmp_path / "old" / "config.json").write_text(
        '{"tokenizer_class": "DistilBertTokenizer", "model_type": "distilbert"}'
    )
    Tokenizer.from_folder(tmp_path / "old").save(tmp_path / "new")
    assert config_of(tmp_path / "new")["tokenizer_class"] == "DistilBertTokenizer"


def test_a_class_whose_code_is_not_kept(tmp_path):
    """`auto_map` names a Python file beside the weights."""
    (tmp_path / "old").mkdir()
    chat_folder(tmp_path / "old")
    said = SAID | {"tokenizer_class": "MyTokenizer", "auto_map": {"AutoTokenizer": ["mine.MyTokenizer", None]}}
    (tmp_path / "old" / tokenizer_folder.CONFIG).write_text(json.dumps(said), encoding="utf-8")
    Tokenizer.from_folder(tmp_path / "old").save(tmp_path / "new")
    assert config_of(tmp_path / "new") == SAID | {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False}


@pytest.mark.integration
def test_a_pair_keeps_what_its_folder_says(tmp_path):
    """Marian's languages; and a Unigram tokenizer of another class is not written as Marian's."""
    tokenizer = Tokenizer.train(["a cat sat on a mat"], 60, model="unigram")
    Tokenizer.save_pair(tmp_path / "old", tokenizer, tokenizer)
    said = config_of(tmp_path / "old") | {
        "source_lang": "en",
        "target_lang": "de",
        "tokenizer_class": "MarianTokenizer",
    }
    (tmp_path / "old" / tokenizer_folder.CONFIG).write_text(json.dumps(said))
    Tokenizer.save_pair(tmp_path / "new", *Tokenizer.pair_from_folder(tmp_path / "old"))
    assert config_of(tmp_path / "new") == said

    tokenizer.save(tmp_path / "other")
    (tmp_path / "other" / tokenizer_folder.CONFIG).write_text(
        '{"tokenizer_class": "MBartTokenizer", "eos_token": "</s>"}'
    )
    with pytest.raises(ValueError, match=r"no 'en_XX'"):
        Tokenizer.pair_from_folder(tmp_path / "other")
    (tmp_path / "other" / tokenizer_folder.CONFIG).write_text(
        '{"tokenizer_class": "XGLMTokenizer", "eos_token": "</s>"}'
    )
    Tokenizer.save_pair(tmp_path / "last", *Tokenizer.pair_from_folder(tmp_path / "other"))
    assert config_of(tmp_path / "last") == {"tokenizer_class": "XGLMTokenizer", "eos_token": "</s>"}
    assert not (tmp_path / "last" / "source.spm").exists()


def test_files_of_another_tokenizer_do_not_stay(tmp_path):
    """They would count as the new one's."""
    chat_folder(tmp_path)
    (tmp_path / "README.md").write_text("mine")
    tokenizer = Tokenizer.train(["a cat"], 40)
    tokenizer.save(tmp_path)
    assert {*files_of(tmp_path)} == {"README.md", "vocab.txt", "tokenizer.json", "tokenizer_config.json"}
    assert Tokenizer.from_folder(tmp_path).to_json() == tokenizer.to_json()


@pytest.mark.parity
@pytest.mark.parametrize("has_json", [True, False])
def test_transformers_reads_back_what_the_folder_said(tmp_path, has_json):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "old").mkdir()
    chat_folder(tmp_path / "old")
    if not has_json:
        (tmp_path / "old" / "tokenizer.json").unlink()
    (tmp_path / "old" / "config.json").write_text('{"model_type": "gpt2"}')
    Tokenizer.from_folder(tmp_path / "old").save(tmp_path / "new")
    before, after = (transformers.AutoTokenizer.from_pretrained(tmp_path / name) for name in ("old", "new"))
    for name in (
        "eos_token",
        "bos_token",
        "pad_token",
        "unk_token",
        "padding_side",
        "model_max_length",
        "chat_template",
    ):
        assert getattr(after, name) == getattr(before, name), name
    assert type(after) is type(before) and after.init_kwargs["tgt_lang"] == "de"
    assert sorted(map(str, after.all_special_tokens)) == sorted(map(str, before.all_special_tokens))
    text = "the cat<|im_end|> <|im_start|>sat"
    assert after(text)["input_ids"] == before(text)["input_ids"]
