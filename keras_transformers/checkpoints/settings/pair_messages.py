"""Pairs in the chat template of a tokenizer: messages of the roles "query" and "document", as version 6 writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from keras_transformers.text.chat.sandbox import compiled
from keras_transformers.text.chat.template_files import DEFAULT, FILE, read_chat_templates, template_tokens
from keras_transformers.text.folder.class_options import CONFIG
from keras_transformers.text.folder.kept_files import Kept, roles_in
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import shown

ROLES = {"system": "{prompt}", "query": "{query}", "document": "{document}"}  # and our fields for their contents
FORMATS = ("flat", "structured")


def read_pair_template(folder: str | Path, form: str, variables: Mapping[str, Any]) -> dict[str, str]:
    """Read the text that a chat template makes of a query and a document.

    The template is run with markers in place of contents: the text around them is the same for all pairs.

    Args:
        folder: Folder of a tokenizer.
        form: `"flat"` for contents that are texts, `"structured"` for lists of parts.
        variables: Further variables of the template.

    Returns:
        `prefix`, `text`, `suffix` and `instruction`, as `tasks.ranking` has them in `pair_template`.

    Raises:
        ValueError: There is no template, it fails, or it does more with contents than to put them between fixed texts.
    """
    files = _files(Path(folder))
    path, source = _source(Path(folder), files)
    variables = {**template_tokens(files, roles_in(files)), **variables}
    plain, prompted = (_marked(path, source, roles, form, variables) for roles in (("query", "document"), (*ROLES,)))
    text, instruction = plain, ""
    if ROLES["system"] in prompted:
        text, (head, tail) = prompted, prompted.split(ROLES["system"])
        instruction = plain[len(head) : len(plain) - len(tail)]
        if plain != head + instruction + tail:
            raise _unfit(path, "it writes more than an instruction where there is no system message")
    elif prompted != plain:
        raise _unfit(path, "it does not write what a system message says")
    return _parted(path, text, _special_tokens(Path(folder))) | {"instruction": instruction}


def _source(folder: Path, files: Kept) -> tuple[Path, str]:
    """Return the text of a folder's template, and the file that holds it."""
    path, templates = folder / (FILE if FILE in files else CONFIG), read_chat_templates(files)
    if DEFAULT not in templates:
        raise _unfit(path, "there is no chat_template")
    return path, templates[DEFAULT]


def _files(folder: Path) -> dict[str, bytes]:
    if (folder / CONFIG).is_file():
        read_object(folder / CONFIG)  # which names a file that is no JSON object
    return {name: (folder / name).read_bytes() for name in (FILE, CONFIG) if (folder / name).is_file()}


def _unfit(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"{path}: pairs are put in the chat template (message in modality_config), and {reason}. Remove "
        '"message" from modality_config, and give pair_template= of task="ranking" if the model needs one.'
    )


def _marked(path: Path, source: str, roles: tuple[str, ...], form: str, variables: Mapping[str, Any]) -> str:
    """Return the text of a template for contents of some roles, with our fields in place of the contents."""
    found = {_rendered(path, source, roles, form, variables, filler) for filler in ("a", "Two words.\nAnd a line")}
    if len(found) > 1:
        raise _unfit(path, "what it writes around contents depends on them")
    return found.pop()


def _rendered(
    path: Path, source: str, roles: tuple[str, ...], form: str, variables: Mapping[str, Any], filler: str
) -> str:
    marks = {role: f" \n <<{role}&{filler}>> \n " for role in roles}
    as_parts = form == "structured"
    given = {role: [{"type": "text", "text": mark}] if as_parts else mark for role, mark in marks.items()}
    messages = [{"role": role, "content": content} for role, content in given.items()]
    usual = {"add_generation_prompt": False, "strftime_now": _no_date}
    text = _render(path, source, {"messages": messages, **usual, **variables})
    if any(field in text for field in ROLES.values()):
        raise _unfit(path, f"it writes one of {[*ROLES.values()]} itself")
    for role, mark in marks.items():
        if text.count(mark) != 1 and (text.count(mark) or role != "system"):
            raise _unfit(path, f"it does not write the content of the role {role!r} once and as it is")
        text = text.replace(mark, ROLES[role])
    return text


def _render(path: Path, source: str, variables: Mapping[str, Any]) -> str:
    try:
        return compiled(source).render(**variables)
    except Exception as error:  # whatever a template does, also without memory or recursion
        raise _unfit(path, f"it fails: {shown(str(error))}") from error


def _no_date(form: str) -> str:
    raise TemplateError("it writes the date, and would be run once, when the model is loaded")


def _special_tokens(folder: Path) -> list[str]:
    added = read_object(folder / "tokenizer.json").get("added_tokens") or []
    whole = [token for token in added if token.get("special") and not (token.get("lstrip") or token.get("rstrip"))]
    return [token["content"] for token in whole]


def _parted(path: Path, text: str, tokens: list[str]) -> dict[str, str]:
    """Divide a text where special tokens are: what is tokenised by itself there is the same."""
    places = [text.find(field) for field in ROLES.values() if field in text]
    last = ROLES["document"] if text.find(ROLES["document"]) == max(places) else ROLES["query"]
    first, end = min(places), max(places) + len(last)
    begin = max((text.rfind(token, 0, first) + len(token) for token in tokens if token in text[:first]), default=0)
    stop = min((text.find(token, end) for token in tokens if token in text[end:]), default=len(text))
    if text[end:] and stop != end:
        raise _unfit(path, "what follows the texts begins with no special token, and may be cut off or joined to them")
    return {"prefix": text[:begin], "text": text[begin:stop], "suffix": text[stop:]}


def written_pair_template(template: Mapping[str, str]) -> str:
    """Return a chat template that writes pairs: the inverse of `read_pair_template`.

    Args:
        template: `pair_template` of `tasks.ranking`.

    Example:

    >>> written_pair_template({"text": "{query} or {document}"}).splitlines()[-1]
    '{{- "" + query + " or " + document + "" -}}'
    """
    values = {"prompt": _quoted(template.get("instruction", "")), "query": '""', "document": '""'}
    start = [f"{{%- set parts = namespace({', '.join(f'{name}={value}' for name, value in values.items())}) -%}}"]
    start += ["{%- for message in messages -%}"]
    for role, field in ROLES.items():
        word = "if" if role == "system" else "elif"
        start.append(f'{{%- {word} message.role == "{role}" -%}}{{%- set parts.{field[1:-1]} = message.content -%}}')
    start += ["{%- endif -%}{%- endfor -%}"]
    start += [f"{{%- set {name} = parts.{name} -%}}" for name in values]
    body = template["text"] + template.get("pair", "")
    pieces = [body]
    for field in ROLES.values():
        pieces = [part for piece in pieces for part in _divided(piece, field)]
    named = [piece[1:-1] if piece in ROLES.values() else _quoted(piece) for piece in pieces]
    whole = [_quoted(template.get("prefix", "")), *named, _quoted(template.get("suffix", ""))]
    return "\n".join([*start, f"{{{{- {' + '.join(whole)} -}}}}"])


def _divided(piece: str, field: str) -> list[str]:
    if piece in ROLES.values() or field not in piece:
        return [piece]
    before, after = piece.split(field)
    return [part for part in (before, field, after) if part]


def _quoted(text: str) -> str:
    """Return a string of Jinja's language."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'
