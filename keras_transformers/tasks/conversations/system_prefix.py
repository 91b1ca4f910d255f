"""System prompts of conversations as prefixes, which are read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.generation.prefix import check_prefix
from keras_transformers.text.chat.template import ChatTemplate, Message

REMEDY = "Put it into the messages, without prefix."


def system_message(prompt: str) -> Message:
    """Return the message of a system prompt."""
    return {"role": "system", "content": prompt}


def system_text(template: ChatTemplate, prompt: str, variables: Mapping[str, Any]) -> str:
    """Return how a template writes a system prompt, up to the first message of the user.

    Args:
        template: The chat template.
        prompt: The system prompt.
        variables: Values that the template reads.

    Raises:
        ValueError: The prompt is no str, or the template does not write it before the other messages.

    Example:

    >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    >>> system_text(template, "Be brief.", {})
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
    return text


def without_beginning(texts: Sequence[str], beginning: str) -> list[str]:
    """Return texts without their common beginning.

    Raises:
        ValueError: A text does not have it.
    """
    for index, text in enumerate(texts):
        if not text.startswith(beginning):
            raise ValueError(f"conversation {index}: the chat template writes its system prompt otherwise. {REMEDY}")
    return [text[len(beginning) :] for text in texts]
