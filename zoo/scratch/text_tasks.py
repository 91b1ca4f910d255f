"""The tasks that are learned from plain text, and how they differ in a run: tokens, words and next commands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextTask:
    """A task that is learned from plain text.

    Args:
        name: Name of the task.
        model: Kind of the models that it trains, as `TransformerConfig.kind` has it.
        result: The trained model in words.
        like: A name of `new_models.MODELS`: the further training of any model of this task takes its settings.
        roles: Special tokens that a tokenizer needs, as attributes of `Tokenizer`.
        end_role: The special token behind each document.
        next_command: Command to try the model, after `python -m zoo`, with `{out}` for its folder; empty for none.
        writes: Whether the model continues a prompt, so that a run shows samples and figures per character.
        hides_tokens: Whether the tokenizer needs a mask, and a checkpoint may lack the output layers.
        hides_spans: Whether the tokenizer needs T5's sentinels.
        parts_of: Other tasks whose models have the output layers of this one.
    """

    name: str
    model: str
    result: str
    like: str
    roles: tuple[str, ...]
    end_role: str = "eos_id"
    next_command: str = ""
    writes: bool = False
    hides_tokens: bool = False
    hides_spans: bool = False
    parts_of: tuple[str, ...] = ()


NEXT_TOKEN = TextTask(
    "causal_lm",
    "decoder",
    "language model of the next token",
    like="gpt2",
    roles=("eos_id",),
    next_command='generate {out} "..." --max-new-tokens 100',
    writes=True,
)
MASKED_TOKENS = TextTask(
    "masked_lm",
    "encoder",
    "masked language model",
    like="bert",
    roles=("sep_id", "mask_id", "pad_id"),
    end_role="sep_id",
    next_command='predict {out} "... [MASK] ..."',
    hides_tokens=True,
    parts_of=("pretraining",),
)
HIDDEN_SPANS = TextTask(
    "seq2seq_lm",
    "encoder_decoder",
    "model of hidden spans (span corruption)",
    like="t5",
    roles=("eos_id", "pad_id"),
    hides_spans=True,
)
OF_MODELS = {task.model: task for task in (NEXT_TOKEN, MASKED_TOKENS, HIDDEN_SPANS)}
