"""Replaced token detection, ELECTRA's pre-training: which tokens of a text are not the original ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformers.data.objectives.token_replacement import ReplacedTokens
from keras_transformers.heads import replaced_token_head
from keras_transformers.layers.attention.masks import true_first
from keras_transformers.layers.core.gather import take_at
from keras_transformers.models import encoder
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind, flag
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.sources import text_source
from keras_transformers.tasks.tokens.word_answers import cut_out, longest_row, records, true_places
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics

COLUMNS = ("start", "end", "score")


def replaced_tokens(setup: Setup, *, whole_word: bool = False) -> Parts:
    """Build ELECTRA's discriminator: for each token, the probability that it was replaced.

    Use it to find words that do not fit their text, or to adapt a discriminator to own texts before it is fine-tuned:
    `dataset` replaces 15 % of the tokens by random ones, others in each epoch.
    Paper: Clark et al. 2020, https://arxiv.org/abs/2003.10555.

    Args:
        setup: Settings common to all tasks.
        whole_word: Whether all pieces of a word are replaced together.

    Predicts:
        One dict a text:

        - `tokens` (list of dict): for each token its `text` (str), `start` and `end` (int), its place in the text, in
          characters, and `score`, the probability that it was replaced (float).
        - `truncated` (bool): whether the text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text`, (B,) strings. Places are in code points; padding is `""` and 0. It returns:

        - `token` (B, T) string, `token_start` and `token_end` (B, T) int32, and `token_score` (B, T) float32.
        - `truncated` (B,) bool.

    Example:

    >>> from keras_transformers.families import electra
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = electra(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("replaced_tokens", config, tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> [token["text"] for token in task.predict(["a film"])[0]["tokens"]]
    ['a', 'film']
    """
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    logits = replaced_token_head(setup.config, backbone.output["hidden_states"], setup.dtype)  # (B, T)
    outputs = {"logits": logits, **setup.optional_outputs(backbone)}
    model = keras.Model(backbone.input, outputs, name="replaced_tokens_model")
    return Parts(
        model,
        setup.tokenizer,
        source=text_source(setup),
        objective=lambda: ReplacedTokens(setup.tokenizer, whole_word=whole_word),
        losses=lambda: {"logits": target_losses.BinaryCrossEntropy()},
        metrics=lambda: {"logits": [target_metrics.BinaryAccuracy()]},
        answers=_answers(setup, model),
        rows_alone=False,  # replacements are drawn for a batch
        judged_by="binary_accuracy",
    )


KIND = Kind(
    "replaced_tokens",
    replaced_tokens,
    models=("encoder",),
    checks={"whole_word": flag("whole_word")},
    new_layers=("replaced_token_dense", "replaced_token"),
    takes_weights=True,
)


def _answers(setup: Setup, model: keras.Model) -> OnePass:
    from_ids = FromIds(model, setup.config.num_segments)
    return OnePass(setup, model, {"serving_default": _signature(model)}, _describe, from_ids=from_ids)


def _signature(model: keras.Model) -> Signature:
    def read(reader: Reader, texts: Any) -> Tensors:
        return reader(texts, with_words=True)

    def compute(encoded: Tensors) -> Tensors:
        logits = model({name: encoded[name] for name in model.input}, training=False)["logits"]  # (B, T)
        of_text = encoded["sequence_ids"] >= 0  # (B, T), False for special tokens and padding
        real = true_places(of_text)  # (B, T)
        scores = ops.sigmoid(ops.cast(logits, "float32"))  # (B, T)

        columns = (encoded["offsets"][..., 0], encoded["offsets"][..., 1], scores)
        order = true_first(of_text)  # (B, T)
        found = {
            name: ops.where(real, take_at(column, order), 0) for name, column in zip(COLUMNS, columns, strict=True)
        }
        return {**found, "most": longest_row(real), "truncated": encoded["truncated"]}

    def write(found: Tensors, texts: Any) -> Tensors:
        tokens = {f"token_{name}": found[name][:, : found["most"]] for name in COLUMNS}
        spans = cut_out(texts, tokens["token_start"], tokens["token_end"])
        return {"token": spans, **tokens, "truncated": found["truncated"]}

    return Signature(("text",), read, compute, write)


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    tokens = records(row, text="token", **{name: f"token_{name}" for name in COLUMNS})
    return {"tokens": [token for token in tokens if token["text"]]}
