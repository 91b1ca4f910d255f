"""Masked language modelling: train on plain text, and fill each `[MASK]` of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.data.batches.batching import power_of_two
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.heads import masked_lm_head
from keras_transformers.layers.attention.masks import true_first
from keras_transformers.layers.core.gather import take_at
from keras_transformers.models import encoder
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.signatures import look_up, text_signatures
from keras_transformers.tasks.contract.from_ids import FromIds, logits_alone
from keras_transformers.tasks.contract.kind import Kind, flag
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.sources import text_source
from keras_transformers.text.end_token import tokens_around
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics
from keras_transformers.utils.tensor_types import Tensor

TOP = 5  # candidates for each gap
HEAD = ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias", "lm_head")


def masked_lm(setup: Setup, *, whole_word: bool = False) -> Parts:
    """Build a masked language model: it learns to predict hidden tokens, and fills each `[MASK]` of a text.

    `dataset` hides 15 % of the tokens, different ones in each epoch.
    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        setup: Settings common to all tasks.
        whole_word: Whether all pieces of a word are hidden together.

    Predicts:
        One dict a text:

        - `fills` (list): for each `[MASK]` in the text, in order, a list of the five likeliest tokens as (token,
          probability).
        - `truncated` (bool): whether the text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text`, (B,) strings. If the text with the most `[MASK]` has M of them, it returns:

        - `tokens` (B, M, 5) string and `probabilities` (B, M, 5) float32, the likeliest first; `""` and 0 where a text
          has fewer `[MASK]`.
        - `truncated` (B,) bool.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("masked_lm", config, tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> [len(gap) for gap in task.predict(["a [MASK] film"])[0]["fills"]]
    [5]
    """
    backbone, inputs, logits = masked_model(setup)
    model = keras.Model(inputs, {"logits": logits, **setup.optional_outputs(backbone)}, name="masked_lm_model")
    return Parts(
        model,
        setup.tokenizer,
        source=text_source(setup),
        objective=lambda: MaskedLM(setup.tokenizer, whole_word=whole_word),
        losses=lambda: {"logits": target_losses.CrossEntropy()},
        metrics=lambda: {"logits": [target_metrics.Accuracy(), target_metrics.Perplexity()]},
        answers=gap_fills(setup, model, "logits", logits_alone),
        rows_alone=False,  # masks are drawn for a batch
        judged_by="perplexity",
        token_source=lambda tokens: _blocks(setup, tokens),
    )


KIND = Kind(
    "masked_lm",
    masked_lm,
    models=("encoder",),
    checks={"whole_word": flag("whole_word")},
    new_layers=HEAD,
    takes_weights=True,
)


def _blocks(setup: Setup, tokens: TokenFile) -> TokenBlocks:
    """Return blocks of a corpus, each between the special tokens of a text."""
    before, after = tokens_around(setup.tokenizer)
    segment = 0 if setup.config.num_segments else None
    return TokenBlocks(tokens, setup.max_length, begin_ids=before, end_ids=after, segment=segment)


def masked_model(setup: Setup) -> tuple[keras.Model, Tensors, Tensor]:
    """Return an encoder, and the inputs and logits (B, M, V) of a masked language model on it."""
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    positions = keras.Input((None,), dtype="int32", name="mask_positions")
    embedding = backbone.get_layer("token_embedding")
    logits = masked_lm_head(setup.config, embedding, backbone.output["hidden_states"], positions, setup.dtype)
    return backbone, {**backbone.input, "mask_positions": positions}, logits


def gap_fills(setup: Setup, model: keras.Model, output: str, named: Callable[[Tensors], Tensors]) -> OnePass:
    """Return the predictions that fill each `[MASK]` of a text.

    Args:
        setup: Setup of the task.
        model: A model with the input `mask_positions`.
        output: Name of its output of logits (B, M, V).
        named: As the `outputs` of a `FromIds`.
    """
    tokenizer = setup.tokenizer
    more_inputs = partial(mask_positions, mask_id=tokenizer.mask_id)

    @cache
    def vocabulary() -> list[str]:
        return [tokenizer.id_to_token(number) for number in range(tokenizer.vocabulary_size)]

    def answer(outputs: Tensors, inputs: Tensors) -> Tensors:
        # A model may have more rows of logits than there are tokens.
        logits = ops.cast(outputs[output], "float32")[..., : tokenizer.vocabulary_size]  # (B, M, V)
        probabilities, ids = ops.top_k(ops.softmax(logits), TOP)  # (B, M, TOP)

        chosen = take_at(inputs["token_ids"], inputs["mask_positions"])  # (B, M)
        is_gap = ops.expand_dims(chosen == tokenizer.mask_id, -1)
        return {"tokens": ops.where(is_gap, ids, -1), "probabilities": ops.where(is_gap, probabilities, 0.0)}

    def write(found: Tensors, *texts: Any) -> Tensors:
        return {**found, "tokens": look_up(vocabulary(), found["tokens"])}

    signatures = text_signatures(setup.kind.takes_pairs, model, answer, write, more_inputs)
    from_ids = FromIds(model, setup.config.num_segments, named, every_position)
    return OnePass(setup, model, signatures, _describe, examples={"text": ["warm [MASK]"]}, from_ids=from_ids)


def every_position(token_ids: Tensor) -> Tensors:
    """Return `mask_positions` (B, T) of all tokens: classes of `transformers` return logits for each."""
    length = ops.shape(token_ids)[1]
    return {"mask_positions": ops.zeros_like(token_ids) + ops.expand_dims(ops.arange(length, dtype="int32"), 0)}


def mask_positions(token_ids: Tensor, mask_id: int) -> Tensors:
    """Return the positions of `[MASK]`, (B, M), in order; a row with fewer than M of them is padded with others.

    Args:
        token_ids: int32 (B, T). For an array of numpy M is rounded up, as a program is compiled for each M.
        mask_id: The id of `[MASK]`.
    """
    is_gap = token_ids == mask_id  # (B, T)
    if isinstance(is_gap, np.ndarray):
        most = power_of_two(is_gap.sum(axis=1).max(initial=1))
        return {"mask_positions": np.argsort(~is_gap, axis=1, kind="stable")[:, :most].astype(np.int32)}
    most = ops.max(ops.sum(ops.cast(is_gap, "int32"), axis=1), initial=1)
    return {"mask_positions": true_first(is_gap)[:, :most]}


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    gaps = zip(row["tokens"].tolist(), row["probabilities"].tolist(), strict=True)
    return {"fills": [list(zip(tokens, values, strict=True)) for tokens, values in gaps if tokens[0]]}
