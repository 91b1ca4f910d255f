"""Conversations to learn from: their tokens, and which of them the assistant writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformers.text.chat.template import ChatTemplate, Message, check_messages
from keras_transformers.text.tokenizer import Tokenizer

Span = tuple[int, int]
Learnt = tuple[list[int], np.ndarray]  # token ids (T,), and whether each is the assistant's, boolean (T,)


def is_conversations(texts: Any) -> bool:
    """Return whether these are conversations, lists of messages, rather than texts.

    Example:

    >>> is_conversations([[{"role": "user", "content": "Hello"}]]), is_conversations(["Hello"])
    (True, False)
    """
    first = texts[0] if isinstance(texts, Sequence) and not isinstance(texts, (str, bytes)) and texts else None
    return isinstance(first, (list, tuple)) and bool(first) and all(isinstance(turn, Mapping) for turn in first)


def learnt_texts(
    template: ChatTemplate, messages: Sequence[Message], variables: Mapping[str, Any]
) -> list[tuple[str, list[Span]]]:
    """Return the texts of a conversation that a model learns from, each with the spans that the assistant writes.

    The template marks them by `{% generation %}`. One without such marks is asked for the text before and behind each
    answer. If it writes old answers in another way than new ones (without their thoughts, say), there is one text for
    each answer, as the model would have written it.

    Args:
        template: The chat template.
        messages: The conversation; a first message of the assistant is not learned.
        variables: Values that the template reads.

    Raises:
        ValueError: There is no answer, or the template writes an answer elsewhere than behind its prompt.
    """
    template.check_variables(variables)
    messages = check_messages(messages, template)
    turns = [index for index, turn in enumerate(messages) if index and turn.get("role") == "assistant"]
    if (marked := template.answer_spans(messages, **variables)) is not None:
        turns, found = [0], [marked]
    else:
        whole = template.render(messages, add_generation_prompt=False, **variables)
        found = [_last_answer(template, messages[: index + 1], variables) for index in turns]
        if all(whole.startswith(text) for text, _ in found):
            found = [(whole, [span for _, spans in found for span in spans])]
    if not turns or not found[0][1]:
        raise ValueError("there is no answer of the assistant, behind a message of somebody else, to learn from.")
    return found


def _last_answer(
    template: ChatTemplate, messages: Sequence[Message], variables: Mapping[str, Any]
) -> tuple[str, list[Span]]:
    prompt = template.render(messages[:-1], **variables)
    text = template.render(messages, add_generation_prompt=False, **variables)
    if not text.startswith(prompt):
        raise ValueError(
            "the chat template writes the answer of the assistant elsewhere than behind the prompt of the messages "
            "before it. Give a template that marks answers by {% generation %} and {% endgeneration %}."
        )
    return text, [(len(prompt), len(text))]


def learnt_tokens(
    tokenizer: Tokenizer, template: ChatTemplate, conversations: Sequence[Any], variables: Mapping[str, Any]
) -> list[Learnt]:
    """Return the token ids of the texts of conversations, and which tokens the assistant writes.

    Args:
        tokenizer: The tokenizer; it adds no special tokens, as the template writes them.
        template: The chat template.
        conversations: Lists of messages.
        variables: Values that the template reads.

    Raises:
        ValueError: As for `learnt_texts`; the error names the conversation.

    Example:

    >>> tokenizer = Tokenizer.train([], model="bytes")
    >>> template = ChatTemplate("{% for turn in messages %}{{ turn.content }}{% endfor %}")
    >>> talk = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "c"}]
    >>> [(ids, answers.tolist()) for ids, answers in learnt_tokens(tokenizer, template, [talk], {})]
    [([98, 99, 100], [False, False, True])]
    """
    found = []
    for number, messages in enumerate(conversations):
        try:
            found += learnt_texts(template, messages, variables)
        except ValueError as error:
            raise ValueError(f"conversation {number}: {error}") from None
    encoded = tokenizer.encode([text for text, _ in found], special_tokens=False)
    return [(row.ids, _is_in(row.offsets, spans)) for row, (_, spans) in zip(encoded, found, strict=True)]


def _is_in(offsets: Sequence[Span], spans: Sequence[Span]) -> np.ndarray:
    """Return which tokens have a character in one of the spans, boolean (T,)."""
    starts, stops = np.array(offsets, np.int64).reshape(-1, 2).T  # (T,)
    first, last = np.array(spans, np.int64).reshape(-1, 2).T  # (spans,)
    index = np.searchsorted(last, starts, side="right")  # the first span that ends behind the token's start
    has_one = index < len(last)
    return has_one & (stops > first[np.minimum(index, len(last) - 1)])
