"""Chat templates among the files of a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from keras_transformers.text.folder.class_options import CLASS, CONFIG
from keras_transformers.text.folder.kept_files import Kept, with_options
from keras_transformers.utils.untrusted import shown

FILE, FOLDER = "chat_template.jinja", "additional_chat_templates/"
KEY = "chat_template"
DEFAULT = "default"
END = "<|endoftext|>"
# Special tokens of classes of `transformers` where the files do not say them, not even by null.
CLASS_TOKENS = {
    "GPT2Tokenizer": {"bos_token": END, "eos_token": END, "unk_token": END},
    "GPTNeoXTokenizer": {"bos_token": END, "eos_token": END, "unk_token": END, "pad_token": "<|padding|>"},
    "GemmaTokenizer": {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"},
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "Qwen2Tokenizer": {"eos_token": END, "unk_token": END, "pad_token": END},
    "Qwen3_5Tokenizer": {"eos_token": END, "unk_token": END, "pad_token": END},
}


def read_chat_templates(files: Kept) -> dict[str, str]:
    """Return the chat templates of a tokenizer by name, such as `"default"` or `"tool_use"`.

    The files chat_template.jinja and additional_chat_templates/*.jinja come before the key `chat_template` of
    tokenizer_config.json, as in `transformers`.

    Args:
        files: Name to content of the files that a tokenizer keeps.

    Raises:
        ValueError: A template is not UTF-8, or the key holds something else than a template or a list of named ones.

    Example:

    >>> read_chat_templates({"chat_template.jinja": b"{{ messages[0].content }}"})
    {'default': '{{ messages[0].content }}'}
    """
    found = {}
    for name, content in files.items():
        if name == FILE or name.startswith(FOLDER):
            found[DEFAULT if name == FILE else PurePosixPath(name).stem] = _decoded(name, content)
    if found or CONFIG not in files:
        return found
    return _of_config(json.loads(files[CONFIG]).get(KEY))


def file_of(files: Kept, template: str) -> str:
    """Return the name of the file that a template of `read_chat_templates` is in.

    >>> file_of({"chat_template.jinja": b"{{ messages }}"}, "default")
    'chat_template.jinja'
    """
    named = [name for name in files if name.startswith(FOLDER) and PurePosixPath(name).stem == template]
    return next(iter([FILE] if template == DEFAULT and FILE in files else named), CONFIG)


def template_tokens(files: Kept, named: Mapping[str, str]) -> dict[str, str]:
    """Return the special tokens by role that a chat template may use: the named ones, and the defaults of the class.

    Args:
        files: Name to content of the files that a tokenizer keeps.
        named: Special tokens by role that the files name.
    """
    options = json.loads(files[CONFIG]) if CONFIG in files else {}
    defaults = CLASS_TOKENS.get((options.get(CLASS) or "").removesuffix("Fast"), {})
    return {role: token for role, token in defaults.items() if role not in options} | dict(named)


def with_chat_template(files: Kept, source: str, named: Mapping[str, str]) -> dict[str, bytes]:
    """Return files of a tokenizer with another chat template, in place of all that they have.

    Where they name no class, they also say which special tokens there are: `save` names a class, whose defaults would
    change what the template writes.

    Args:
        files: Name to content of the files that a tokenizer keeps.
        source: The template.
        named: Special tokens by role that the files name.
    """
    others = {name: content for name, content in files.items() if not name.startswith(FOLDER)}
    options = json.loads(files[CONFIG]) if CONFIG in files else {}
    options.pop(KEY, None)
    if not options.get(CLASS):
        options = {role: named.get(role) for role in CLASS_TOKENS["GPTNeoXTokenizer"]} | options
    return {**with_options(others, options), FILE: source.encode()}


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 ({error}). Fetch it again.") from None


def _of_config(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, str):
        return {DEFAULT: value}
    is_named = isinstance(value, list) and all(
        isinstance(entry, Mapping) and isinstance(entry.get("name"), str) and isinstance(entry.get("template"), str)
        for entry in value
    )
    if not is_named:
        raise ValueError(
            f"{CONFIG}: {KEY} must be a template, or a list of objects with name and template: received {shown(value)}."
        )
    return {entry["name"]: entry["template"] for entry in value}
