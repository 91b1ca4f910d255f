"""The chat template of models that were not trained on conversations."""

from __future__ import annotations

from collections.abc import Sequence

from keras_transformers.text.tokenizer import Tokenizer

# Turns end in the end token, roles are plain text.
PLAIN, PLAIN_SOURCE = (
    "plain",
    (
        "{% for turn in messages %}{% if turn.role == 'assistant' %}{{ '<|assistant|>\n' }}{% generation %}"
        "{{ turn.content + eos_token }}{% endgeneration %}{{ '\n' }}{% else %}"
        "{{ '<|' + turn.role + '|>\n' + turn.content + eos_token + '\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
    ),
)


def check_end(source: str, tokenizer: Tokenizer, end_ids: Sequence[int]) -> None:
    """Raise a `ValueError` if turns of the plain template end in a token that does not end generation.

    Args:
        source: Chat template; others than the plain one pass.
        tokenizer: Tokenizer that has it.
        end_ids: Ids at which the model stops.

    Example:

    >>> check_end(PLAIN_SOURCE, Tokenizer.train([], model="bytes"), end_ids=[0])
    """
    if source == PLAIN_SOURCE and tokenizer.eos_id not in end_ids:
        raise ValueError(
            f"the plain chat template ends turns in {tokenizer.id_to_token(tokenizer.eos_id)!r}, at which the model "
            f"does not stop: its end tokens are {list(end_ids)}. Give the configuration eos_ids that have it."
        )
