"""Where tokenizers keep chat templates."""

from __future__ import annotations

import json

import pytest

from keras_transformers.text.chat.template_files import read_chat_templates, with_chat_template


def config(value: object) -> dict[str, bytes]:
    return {"tokenizer_config.json": json.dumps({"chat_template": value, "a": 1}).encode()}


def test_files_come_before_the_configuration():
    files = config("old") | {"chat_template.jinja": b"new", "additional_chat_templates/tool_use.jinja": b"tools"}
    assert read_chat_templates(files) == {"default": "new", "tool_use": "tools"}
    assert read_chat_templates(config("old")) == {"default": "old"}
    named = [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]
    assert read_chat_templates(config(named)) == {"default": "a", "rag": "b"}
    assert read_chat_templates({}) == read_chat_templates(config(None)) == {}


def test_a_new_template_replaces_all():
    files = config("old") | {"additional_chat_templates/tool_use.jinja": b"tools", "merges.txt": b""}
    written = with_chat_template(files, "né", {"eos_token": "</s>"})
    assert read_chat_templates(written) == {"default": "né"}
    assert written.keys() == {"tokenizer_config.json", "chat_template.jinja", "merges.txt"}
    roles = {"bos_token": None, "eos_token": "</s>", "pad_token": None, "unk_token": None}
    assert json.loads(written["tokenizer_config.json"]) == {"a": 1} | roles
    with_class = {"tokenizer_config.json": b'{"tokenizer_class": "GemmaTokenizer", "chat_template": "a"}'}
    assert json.loads(with_chat_template(with_class, "b", {})["tokenizer_config.json"]) == {
        "tokenizer_class": "GemmaTokenizer"
    }


@pytest.mark.parametrize("value", [7, ["a"], [{"name": "default"}], {"default": "a"}])
def test_wrong_values(value):
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: chat_template must be a template"):
        read_chat_templates(config(value))


def test_a_file_that_is_no_text():
    with pytest.raises(ValueError, match=r"chat_template\.jinja is not UTF-8"):
        read_chat_templates({"chat_template.jinja": b"\xff"})
