"""Tokens that a Hugging Face folder adds to its vocabulary, with the order and ids of `transformers`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tokenizers

from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.text_checks import SURROGATE
from keras_transformers.utils.untrusted import shown

ADDED, SPECIAL_MAP = "added_tokens.json", "special_tokens_map.json"
NO_ROLES: Mapping[str, Any] = MappingProxyType({})
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
FLAGS = {"content": str, "lstrip": bool, "rstrip": bool, "single_word": bool, "normalized": bool, "special": bool}


def add_tokens_of(
    folder: Path,
    library: tokenizers.Tokenizer,
    config: Mapping[str, Any],
    config_name: str,
    roles: Mapping[str, Any] = NO_ROLES,
) -> tuple[dict[str, Any], set[str]]:
    """Add the tokens that the files beside a vocabulary define.

    First come the tokens with an id, `added_tokens_decoder` of the configuration or else added_tokens.json; then the
    special tokens by role, such as `pad_token`, and those without a role. A token of the vocabulary keeps its id; any
    other gets the next one.

    Args:
        folder: Folder of the files.
        library: The tokenizer of the vocabulary, to which the tokens are added.
        config: The values of tokenizer_config.json.
        config_name: Name of that file, for error messages.
        roles: The special tokens by role of a class whose special tokens cannot be others.

    Returns:
        The values of tokenizer_config.json, with the special tokens by role from other files; and all tokens that the
        files name.

    Raises:
        ValueError: A file holds something else than tokens, or gives a role of `roles` to another token.
    """
    files = _Files(folder, config, config_name, roles)
    numbered = files.numbered(library)
    present = library.get_added_tokens_decoder().values()
    known = {repr(token) for token in present}
    tokens = [token for _, token in sorted(numbered.items()) if repr(token) not in known]
    names = {token.content for token in [*present, *tokens]}
    named, others = [*files.named()], [*files.without_role()]
    tokens += [token for token in [*named, *others] if token.content not in names]

    special = {token.content for token in named} | {t.content for t in present if t.special}
    for token in tokens:
        token.special = token.special or token.content in special
    library.add_tokens(tokens)
    files.check_ids(library, numbered)
    return files.values, {*files.ids, *(token.content for token in (*named, *others, *files.decoded().values()))}


class _Files:
    """The tokens that a folder defines beside its vocabulary.

    `transformers` reads special_tokens_map.json and added_tokens.json only if the configuration has no
    `added_tokens_decoder`; the former then takes precedence over the configuration.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], config_name: str, roles: Mapping[str, Any]):
        self.source, values = folder / config_name, dict(config)
        if values.get("additional_special_tokens") is not None and not values.get("extra_special_tokens"):
            values["extra_special_tokens"] = values.pop("additional_special_tokens")
        self.decoder = values.get("added_tokens_decoder")
        self.ids: dict[str, int] = {}
        if self.decoder is None:
            if (path := folder / SPECIAL_MAP).is_file():
                values |= self._of_the_map(path, values)
            if (path := folder / ADDED).is_file():
                self.ids, self.source = read_object(path), path
                check_types(self.ids, dict.fromkeys(self.ids, int), path)
        self.values = values | {role: self._fixed(role, values.get(role), token) for role, token in roles.items()}

    def _fixed(self, role: str, given: Any, token: Any) -> Any:
        """Return the special token of a role: as given, if its flags are, else the class's."""
        if given is not None and _content(given) != _content(token):
            raise ValueError(
                f"{self.source}: {role} is {shown(_content(given))}. Expected {_content(token)}, which the class puts "
                "into the vocabulary that it makes of its files; for other tokens, provide tokenizer.json."
            )
        return given if isinstance(given, dict) else token

    def _of_the_map(self, path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
        found = read_object(path)
        self.source = path
        extra = found.pop("extra_special_tokens", None)
        if isinstance(extra, list):
            known = [*_listed(values.get("extra_special_tokens"))]
            extra = known + [token for token in extra if _content(token) not in {*map(_content, known)}]
        if extra is not None:
            found["extra_special_tokens"] = extra
        return found

    def decoded(self) -> dict[int, tokenizers.AddedToken]:
        """Return the tokens of `added_tokens_decoder`."""
        check_types({"added_tokens_decoder": self.decoder}, {"added_tokens_decoder": dict}, self.source)
        return {self._id(i): self._token(token) for i, token in (self.decoder or {}).items()}

    def numbered(self, library: tokenizers.Tokenizer) -> dict[int, tokenizers.AddedToken]:
        """Return the tokens with a given id, by id."""
        if self.decoder is not None:
            return self.decoded()
        extra = map(self._token, _listed(self.values.get("extra_special_tokens")))  # not `additional_special_tokens`
        special = {token.content for token in (*self.named(False), *extra)}
        tokens = {
            i: tokenizers.AddedToken(text, normalized=text not in special, special=text in special)
            for text, i in self.ids.items()
        }
        return tokens | library.get_added_tokens_decoder()

    def named(self, others: bool = True) -> Iterator[tokenizers.AddedToken]:
        """Yield the special tokens that have a role; with `others`, also tokens of this model's other roles."""
        more = [key for key in self.values if key.endswith("_token") and key not in NAMED] if others else []
        for key in (*NAMED, *more):
            value = self.values.get(key)
            if isinstance(value, (str, dict)):
                yield self._token(value)
        extra = self.values.get("extra_special_tokens")
        if others and isinstance(extra, dict):
            yield from map(self._token, extra.values())

    def without_role(self) -> Iterator[tokenizers.AddedToken]:
        """Yield the special tokens that have no role."""
        extra = self.values.get("extra_special_tokens")
        extra = self.values.get("additional_special_tokens") if extra is None else extra
        yield from map(self._token, _listed(extra))

    def check_ids(self, library: tokenizers.Tokenizer, numbered: Mapping[int, tokenizers.AddedToken]) -> None:
        """Warn of tokens whose id differs from the file's: like `transformers`, they got the next id."""
        found = {token.content: library.token_to_id(token.content) for token in numbered.values()}
        wrong = [(token.content, i) for i, token in numbered.items() if found[token.content] != i]
        if wrong:
            text, i = wrong[0]
            warnings.warn(
                f"{self.source} gives {len(wrong)} tokens ids that do not follow the vocabulary, such as {i} to "
                f"{shown(text)}: it has {found[text]} here, as in `transformers`.",
                stacklevel=2,
            )

    def _id(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) >= 2**31:
            raise ValueError(f"{self.source}: added_tokens_decoder has no token ids, but {shown(text)}.")
        return int(text)

    def _token(self, value: Any) -> tokenizers.AddedToken:
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and SURROGATE.search(text):
            raise ValueError(f"{self.source}: the token {shown(text)} is not valid text: it has a lone surrogate.")
        if isinstance(value, str):
            return tokenizers.AddedToken(value, special=True)
        if not isinstance(value, dict) or not isinstance(value.get("content"), str):
            raise ValueError(f"{self.source}: expected a token, a str or an object with its content: {shown(value)}.")
        check_types(value, FLAGS, self.source)
        return tokenizers.AddedToken(**{flag: value[flag] for flag in FLAGS if value.get(flag) is not None})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token
