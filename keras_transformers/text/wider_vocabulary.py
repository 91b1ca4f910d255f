"""Words that become tokens of an existing vocabulary: what they are checked for, and the tokenizer that has them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import tokenizers

from keras_transformers.text.folder.extra_tokens import ADDED, FLAGS
from keras_transformers.text.pipelines.library import count_ids
from keras_transformers.utils.text_checks import check_texts
from keras_transformers.utils.untrusted import shown

WORD_END = re.compile(r"^\w|\w$")
# Han, Hiragana, Katakana; Thai, Lao, Tibetan, Myanmar, Khmer: scripts that put no spaces between words.
UNSPACED = re.compile("[\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
                      "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")  # fmt: skip
CONFIG, DECODER = "tokenizer_config.json", "added_tokens_decoder"


def check_new_tokens(tokens: Sequence[str]) -> list[str]:
    """Return new tokens as a list.

    Raises:
        ValueError: There are none; or one is no str, is empty, begins or ends with whitespace, or is there twice.

    Example:

    >>> check_new_tokens(("metformin", "New York"))
    ['metformin', 'New York']
    """
    tokens = check_texts("tokens", tokens)
    if not tokens:
        raise ValueError("tokens is empty: expected one new token or more, such as ['metformin'].")
    for row, token in enumerate(tokens):
        if not token or token != token.strip():
            raise ValueError(
                f"the token {token!r} at row {row} is empty, or begins or ends with whitespace, which belongs to the "
                f"text around it: expected a word, such as {token.strip() or 'metformin'!r}."
            )
    if repeated := [token for token, count in Counter(tokens).items() if count > 1]:
        raise ValueError(f"tokens has {shown(repeated)} more than once: give each new token once.")
    return tokens


def widened(library: tokenizers.Tokenizer, tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Return a copy of a tokenizer with new tokens, which get the next ids.

    A new word is found as a whole word: where no letter, digit, combining mark or underscore is beside it, which is
    `AddedToken(single_word=True)` of the library and of `transformers`. Texts without it keep their ids. What has no
    words around it is found anywhere: a mark such as `<b>`, a word with characters of a script that puts no spaces
    between words, and any token of a tokenizer that cuts text into characters. Both are found in the normalised text,
    so where the tokenizer lower-cases, whatever their case.

    Args:
        library: Tokenizer of the `tokenizers` library, which is not changed.
        tokens: As `check_new_tokens` returns them.

    Raises:
        ValueError: A token is one of the vocabulary, or cannot be found in a text, or would be decoded to another one.

    Example:

    >>> from keras_transformers.text.vocabularies.byte_pair_vocabulary import of_bytes
    >>> library = widened(of_bytes(None, []), ["metformin"])
    >>> library.encode("a metformin").ids  # after the 256 bytes
    [97, 32, 256]
    """
    first, wider = count_ids(library), tokenizers.Tokenizer.from_str(library.to_str())
    for token in tokens:
        _check_is_new(library, token)
    cuts_words = not _cuts_characters(library)
    wider.add_tokens(
        [
            tokenizers.AddedToken(
                token, single_word=cuts_words and is_word(token), normalized=_is_normalised_alone(library, token)
            )
            for token in tokens
        ]
    )

    for number, token in enumerate(tokens, first):
        _check_is_found(library, wider, token, number)
    return wider


def is_word(token: str) -> bool:
    """Return whether a token begins or ends as a word, of a script that puts spaces between words.

    Example:

    >>> [is_word(token) for token in ("metformin", "C++", "<b>", "東京", "ไทย", "한국")]
    [True, True, False, False, False, True]
    """
    return bool(WORD_END.search(token)) and not UNSPACED.search(token)


def _cuts_characters(library: tokenizers.Tokenizer) -> bool:
    """Return whether a tokenizer makes each character a separate piece."""
    return library.pre_tokenizer is not None and len(library.pre_tokenizer.pre_tokenize_str("ab")) > 1


def files_with(files: Mapping[str, bytes], library: tokenizers.Tokenizer, tokens: Sequence[str]) -> dict[str, bytes]:
    """Return the original files of a tokenizer, with new tokens named where slow tokenizers of `transformers` look.

    Args:
        files: Name to content.
        library: The tokenizer that has the tokens.
        tokens: The new tokens.

    Example:

    >>> from keras_transformers.text.vocabularies.byte_pair_vocabulary import of_bytes
    >>> files_with({}, widened(of_bytes(None, []), ["metformin"]), ["metformin"])
    {'added_tokens.json': b'{"metformin": 256}'}
    """
    options = json.loads(files[CONFIG]) if CONFIG in files else {}
    new = {number: token for number, token in library.get_added_tokens_decoder().items() if token.content in tokens}
    if options.get(DECODER) is None:
        ids = {token.content: number for number, token in sorted(new.items())}
        return {**files, ADDED: json.dumps(json.loads(files.get(ADDED, b"{}")) | ids).encode()}
    listed = {str(i): {flag: getattr(token, flag) for flag in FLAGS} for i, token in sorted(new.items())}
    return {**files, CONFIG: json.dumps(options | {DECODER: options[DECODER] | listed}).encode()}


def _check_is_new(library: tokenizers.Tokenizer, token: str) -> None:
    number = library.token_to_id(token)
    try:
        ids = library.encode(token, add_special_tokens=False).ids if number is None else [number]
    except Exception:  # of the library: of a vocabulary of characters without an unknown token, that lacks one
        return
    if len(ids) == 1 and (number is not None or ids[0] != _unknown_id(library)):
        raise ValueError(
            f"{token!r} is a token of the vocabulary already: id {ids[0]}, {library.id_to_token(ids[0])!r}. Leave it "
            "out."
        )


def _unknown_id(library: tokenizers.Tokenizer) -> int | None:
    model = library.model
    if isinstance(model, tokenizers.models.Unigram):
        return json.loads(library.to_str())["model"]["unk_id"]
    return None if model.unk_token is None else library.token_to_id(model.unk_token)


def _is_normalised_alone(library: tokenizers.Tokenizer, token: str) -> bool:
    """Return whether the normaliser does the same to a token alone and in a text; Llama's puts a space before texts."""
    if library.normalizer is None:
        return True
    normalise = library.normalizer.normalize_str
    return normalise(f"a{token}") == normalise("a") + normalise(token)


def _check_is_found(library: tokenizers.Tokenizer, wider: tokenizers.Tokenizer, token: str, number: int) -> None:
    """Check that a new token has the next id, is found in a text, and is decoded to itself."""
    ids = wider.encode(token, add_special_tokens=False).ids
    if wider.token_to_id(token) != number or ids != [number]:
        found = [wider.id_to_token(i) for i in ids]
        raise ValueError(
            f"the new token {token!r} is cut into {shown(found)} in texts, as the tokenizer normalises it to nothing "
            "or to another token, new or old. Leave it out."
        )
    normalised = token if library.normalizer is None else library.normalizer.normalize_str(token)
    text = wider.decode([number], skip_special_tokens=False)
    if "".join(text.split()) not in ("".join(token.split()), "".join(normalised.split())):
        raise ValueError(
            f"the new token {token!r} would be decoded to {text!r}: some of its letters have another meaning in this "
            "tokenizer (accented letters encode bytes if it is byte-level). Leave it out, or write it without them."
        )
