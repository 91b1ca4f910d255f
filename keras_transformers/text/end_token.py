"""Special tokens after a text: a classifier on a language model needs one, a prompt must have none."""

from __future__ import annotations

import json

import tokenizers
from tokenizers import processors

from keras_transformers.text.pipelines import components
from keras_transformers.text.tokenizer import Tokenizer

TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


def with_end_token(tokenizer: Tokenizer, end_id: int) -> Tokenizer:
    """Append a token to each text, and to both texts of a pair; truncation keeps it.

    For a classifier that starts from a language model, as GPT-1's "extract" token. The tokenizer's special tokens stay.

    Args:
        tokenizer: A tokenizer, which is not changed.
        end_id: Id of the token, such as the end-of-text token.

    Returns:
        A new `Tokenizer`; an equal one, if its template ends with a special token already (mBART: the language).

    Raises:
        ValueError: No token has this id, or special tokens are not added by a template.

    Example:

    >>> tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    >>> ending = with_end_token(tokenizer, tokenizer.eos_id)
    >>> [ending.id_to_token(number) for number in ending.encode(["film"])[0].ids][-1]
    '<|endoftext|>'
    """
    token = tokenizer.id_to_token(end_id)
    config = json.loads(tokenizer.to_json())
    processors = {part["type"]: part for part in components.parts(config["post_processor"])}
    template = processors.pop("TemplateProcessing", TEMPLATE)
    if unknown := processors.keys() - {"ByteLevel"}:
        raise ValueError(
            f"The post-processors {sorted(unknown)} add special tokens without a template. Expected a "
            f"TemplateProcessing: write one with {token!r} after the texts into tokenizer.json."
        )

    if "Sequence" in template["single"][-1]:
        known = template["special_tokens"] | {token: {"id": token, "ids": [end_id], "tokens": [token]}}
        pieces = {name: _append_token(template[name], token) for name in ("single", "pair")}
        template = {**template, **pieces, "special_tokens": known}

    if processors:
        template = {"type": "Sequence", "processors": [*processors.values(), template]}
    config["post_processor"] = template
    return tokenizer.with_library(tokenizers.Tokenizer.from_str(json.dumps(config)))


def is_bare(tokenizer: Tokenizer) -> bool:
    """Return whether the tokenizer has a template without special tokens; False if it has no template.

    Example:

    >>> is_bare(Tokenizer.train(["a fine film"], 280, model="byte_pair"))
    False
    """
    return len((tokenizer.post_processor() or {}).get("single", [])) == 1


def tokens_around(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens that a tokenizer puts before and after a text.

    Example:

    >>> tokens_around(Tokenizer.train(["a fine film"], 60))  # [CLS] and [SEP]
    ([2], [3])
    """
    return components.tokens_around(tokenizer.post_processor())


def without_end_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Leave out the special tokens after a text, so that a language model continues it.

    Args:
        tokenizer: A tokenizer, which is not changed.

    Returns:
        A new `Tokenizer` for single texts; the given one, if it puts nothing after them.

    Example:

    >>> tokenizer = Tokenizer.train(["a fine film"], 60)
    >>> [tokenizer.id_to_token(i) for i in without_end_tokens(tokenizer).encode(["film"])[0].ids]
    ['[CLS]', 'film']
    """
    before, behind = tokens_around(tokenizer)
    if not behind:
        return tokenizer
    tokens = [(tokenizer.id_to_token(i), i) for i in before]
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    pieces = [*(token for token, _ in tokens), "$A"]
    library.post_processor = processors.TemplateProcessing(
        single=pieces, pair=[*pieces, "$B"], special_tokens=list(dict.fromkeys(tokens))
    )
    return tokenizer.with_library(library)


def _append_token(pieces: list[dict], token: str) -> list[dict]:
    """Return the pieces of a template, with the token after each text."""
    extended = []
    for piece in pieces:
        extended.append(piece)
        if text := piece.get("Sequence"):
            extended.append({"SpecialToken": {"id": token, "type_id": text["type_id"]}})
    return extended
