"""Scores of the answers that a model gives in conversations, beside the right ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.tasks.questions.answer_metrics import answer_scores

MOST = 100  # conversations that are answered
SHOWN = 3  # of them in the report


def score_answers(
    task: Any, conversations: Sequence[Sequence[Mapping[str, Any]]], *, most: int = MOST, **options: Any
) -> dict[str, Any]:
    """Answer conversations up to their last answer, and compare the answers with it.

    Args:
        task: `Task` of a language model with a chat template.
        conversations: Conversations whose last message is the assistant's; others are left out.
        most: Maximum number of conversations, from the first.
        **options: As for `Task.generate`; `max_new_tokens` is enough for twice the longest right answer.

    Returns:
        `exact_match` and `f1` of SQuAD in percent, and `answers`, the first of them: dicts with `prompt`, the last
        message before the answer, `right` and `answer`. An empty dict if no conversation ends in an answer.

    Example:

    >>> from keras_transformers import Task, Tokenizer
    >>> from keras_transformers.families import gpt2
    >>> tokenizer = Tokenizer.train([], model="bytes")
    >>> config = gpt2(tokenizer.vocabulary_size, 1, 2, 8, max_length=64, eos_ids=[tokenizer.eos_id])
    >>> task = Task("causal_lm", config, tokenizer, chat_template="plain")
    >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> sorted(score_answers(task, [talk], max_new_tokens=4))
    ['answers', 'exact_match', 'f1']
    """
    asked = [talk for talk in conversations if len(talk) > 1 and _is_answer(talk[-1])][:most]
    if not asked:
        return {}
    right = [talk[-1]["content"] for talk in asked]
    longest = max(len(row.ids) for row in task.tokenizer.encode(right, special_tokens=False))
    options = {"max_new_tokens": min(2 * longest + 2, task.max_length // 2)} | options
    rows = task.predict(messages=[talk[:-1] for talk in asked], **options)
    found = [row["generated_text"] for row in rows]
    if errors := [row["error"] for row in rows if row["error"]]:
        warnings.warn(
            f"{len(errors)} of {len(rows)} conversations were not answered, and count as wrong: {errors[0]}",
            stacklevel=2,
        )
    shown = [
        {"prompt": talk[-2].get("content", ""), "right": expected, "answer": answer}
        for talk, expected, answer in zip(asked, right, found, strict=True)
    ]
    return {**answer_scores(found, [[text] for text in right]), "answers": shown[:SHOWN]}


def _is_answer(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and isinstance(message.get("content"), str)
