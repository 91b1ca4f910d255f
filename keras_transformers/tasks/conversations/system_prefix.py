"""System prompts of conversations as prefixes, which are read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.generation.prefix import check_prefix
from keras_transformers.text.chat.template import ChatTemplate, Message
from keras_transformers.text.tokenizer import Tokenizer

REMEDY = "Put it into the messages, without prefix."


def system_message(prompt: str) -> Message:
    """Return the message of a system prompt."""
    return {"role": "system", "content": prompt}


def system_text(template: ChatTemplate, prompt: str, variables: Mapping[str, Any], tokenizer: Tokenizer) -> str:
    """Return how a template writes a system prompt, up to the first message of the user.

    Args:
        template: The chat template.
        prompt: The system prompt.
        variables: Values that the template reads.
        tokenizer: Tokenizer of the texts.

    Raises:
        ValueError: The prompt is no str, the template does not write it before the other messages, or a token joins it
            and the next message.

    Example:

    >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    >>> tokenizer = Tokenizer.train(["the cat"], 270, model="byte_pair")
    >>> system_text(template, "Be brief.", {}, tokenizer)
    '<system>Be brief.'
    """
    check_prefix(prompt)
    talk = [system_message(prompt), {"role": "user", "content": "a"}]
    try:
        texts = [template.render(talk[:size], add_generation_prompt=False, **variables) for size in (1, 2)]
    except ValueError as error:
        raise ValueError(f"the chat template takes no system prompt as a prefix: {error} {REMEDY}") from None
    pairs = enumerate(zip(*texts, strict=False))
    text = texts[0][: next((place for place, (one, other) in pairs if one != other), None)]
    if prompt.strip() not in text:
        raise ValueError(f"the chat template writes a system prompt into the first message of the user. {REMEDY}")
    without_beginning(texts[1:], text, tokenizer)
    return text


def without_beginning(texts: Sequence[str], beginning: str, tokenizer: Tokenizer) -> list[str]:
    """Return texts without their common beginning.

    Raises:
        ValueError: A text does not have it, or not with the same tokens.
    """
    for index, text in enumerate(texts):
        if not text.startswith(beginning):
            raise ValueError(f"conversation {index}: the chat template writes its system prompt otherwise. {REMEDY}")
    rests = [text[len(beginning) :] for text in texts]
    before, *encoded = (row.ids for row in tokenizer.encode([beginning, *texts, *rests], special_tokens=False))
    for index, (ids, behind) in enumerate(zip(encoded[: len(texts)], encoded[len(texts) :], strict=True)):
        if ids != before + behind:
            raise ValueError(
                f"conversation {index}: read apart from the system prompt, the text has other tokens, as the "
                f"tokenizer joins the two or adds a space to each. {REMEDY}"
            )
    return rests
