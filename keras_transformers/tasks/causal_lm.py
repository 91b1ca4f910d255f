"""Causal language modelling: train on texts, or on prompts and targets, and generate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from keras_transformers.checkpoints.settings.generation_config import check_settings
from keras_transformers.data.batches.protocols import Source
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.sources.packing import next_token_source
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.data.sources.token_stream import TokenStream
from keras_transformers.generation.request import SAMPLING_PARAMETERS
from keras_transformers.models import decoder
from keras_transformers.tasks.answers.written_model import language_model, language_model_metrics
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.conversations.chat_answers import ChatWriting
from keras_transformers.tasks.conversations.conversation_rows import conversation_rows
from keras_transformers.tasks.inputs.sources import is_stream
from keras_transformers.text.chat.learnt_answers import is_conversations
from keras_transformers.text.chat.plain_template import check_end
from keras_transformers.text.chat.template import NO_VARIABLES, check_template, need_template, with_template
from keras_transformers.text.end_token import tokens_around, without_end_tokens
from keras_transformers.training.losses import target_losses


def causal_lm(setup: Setup, *, generation: Mapping[str, Any] | None = None, chat_template: str | None = None) -> Parts:
    """Build a causal language model: it learns to predict the next token, continues prompts and answers conversations.

    It learns from texts, prompts with the texts to write, or conversations: `texts` are then lists of messages, dicts
    with `role` and `content`, of which the assistant's tokens alone are labels.
    Papers: GPT, Radford et al. 2018; GPT-2, Radford et al. 2019.

    Args:
        setup: Settings common to all tasks.
        generation: As for `Writing`.
        chat_template: Jinja template of conversations, in place of the checkpoint's; `"plain"` where there is none, for
            one whose turns end in the end token and which needs no new tokens. `save` writes it.

    Predicts:
        One dict a text, the prompt:

        - `generated_text` (str): the continuation, without the prompt.
        - `score` (float): the sum of the log-probabilities of its tokens; with beams, after the penalties and divided
          by length ** `length_penalty`.
        - `num_tokens` (int): its new tokens.
        - `truncated` (bool): whether the prompt was too long and lost its beginning, on whichever side the
          tokenizer cuts texts.
        - `error` (str): why the text was not answered; empty if it was.

        With `num_sequences` > 1 the first three are lists.

    Exports:
        `serving_default` takes `text`, (B,) strings. `generate` also takes each sampling parameter, such as
        `temperature`, (B,), and `stop`, (B, n) strings, padded with empty ones. Both return:

        - `generated_text` (string), `score` (float32), `num_tokens` (int32): (B,); (B, N) if N = `num_sequences` > 1.
        - `truncated` (bool), `error` (string): (B,).

        With a chat template, `chat` takes `role` and `content`, (B, M) strings for M messages, padded with empty roles,
        and `generate_chat` also the sampling parameters and `stop`. They return the same.

        `choose` takes `text` and `choices`, (B, n) strings, padded with empty ones, and returns the same: each text is
        one of its row's choices. Models without an end token have no such signature.
        `score` takes `text`, prompts, and `continuation`, (B,) strings; a text with an empty
        continuation is scored alone. It returns what the method `score` does:

        - `log_probability`, `perplexity`, `end_log_probability`, `perplexity_with_end` (float32), NaN where there is
          none, `num_tokens` (int32), `truncated` (bool), `error` (string): (B,).
        - `token_ids` (int32), `token_log_probabilities` (float32): (B, T), the T scored tokens, padded with -1 and 0.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], 280, model="byte_pair")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> config = gpt2(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id])
    >>> task = Task("causal_lm", config, tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> len(task.generate(["a fine", "a"], max_new_tokens=5, temperature=0.7, num_sequences=2)[0])
    2
    """
    config, tokenizer = setup.config, setup.tokenizer
    end_id = next(iter([*config.eos_ids, *tokens_around(tokenizer)[1][-1:]]), None)
    if chat_template is not None:
        tokenizer = with_template(tokenizer, chat_template)
        check_end(need_template(tokenizer).source, tokenizer, config.eos_ids)
    setup = setup.with_tokenizer(without_end_tokens(tokenizer))  # prompts are continued; rows get the model's end token
    model = language_model(setup, decoder(config, outputs=setup.outputs, dtype=setup.dtype))
    new_tokens = min(int(SAMPLING_PARAMETERS["max_new_tokens"].neutral), setup.max_length // 2)
    writing = ChatWriting(setup, model, setup.tokenizer, new_tokens, generation)
    return Parts(
        model,
        tokenizer,
        source=_source(setup, end_id),
        objective=lambda: NextToken(config.vocabulary_size, config.fill_id),
        losses=lambda: {"logits": target_losses.CrossEntropy()},
        metrics=language_model_metrics,
        judged_by="perplexity",
        answers=writing,
        saved=writing.saved,
        token_source=partial(
            TokenBlocks, max_length=setup.max_length, begin_ids=tokens_around(setup.tokenizer)[0], next_tokens=True
        ),
    )


KIND = Kind(
    "causal_lm",
    causal_lm,
    models=("decoder",),
    bare_models=("decoder",),
    checks={"generation": check_settings, "chat_template": check_template},
    takes_messages=True,
    writes_text=True,
)


def _source(setup: Setup, end_id: int | None) -> Callable[..., Source]:
    def source(
        texts: Any,
        labels: Sequence[str] | None,
        pairs: Any,
        *,
        packing: str | None = "documents",
        buffer_size: int = 1024,
        template_variables: Mapping[str, Any] = NO_VARIABLES,
    ) -> Source:
        """Return rows of tokens; `Task.dataset` explains the options."""
        if is_conversations(texts):
            if labels is not None or pairs is not None:
                raise ValueError("conversations hold their answers: received labels or pairs, too. Leave them out.")
            return conversation_rows(setup, texts, packing, template_variables)
        if is_stream(texts, labels, pairs):
            return TokenStream(
                texts,
                setup.text_graph.tokenize,
                setup.max_length,
                packing=packing,
                end_id=end_id,
                begin_ids=tokens_around(setup.tokenizer)[0],
                buffer_size=buffer_size,
            )
        targets = None if labels is None else token_ids(labels, special_tokens=False)
        return next_token_source(token_ids(texts), setup.max_length, packing=packing, end_id=end_id, targets=targets)

    def token_ids(texts: Sequence[str], special_tokens: bool = True) -> Ragged:
        return Ragged.of([row.ids for row in setup.tokenizer.encode(texts, special_tokens=special_tokens)])

    return source
