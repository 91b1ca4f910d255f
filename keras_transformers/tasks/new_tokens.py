"""New tokens for a model that has been trained: words of a field, names, marks of one's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.contract.forwarded import check_process
from keras_transformers.tasks.task import Task
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.wider_vocabulary import check_new_tokens
from keras_transformers.training.rematerialize import blocks_of
from keras_transformers.training.workers.distribute import scope
from keras_transformers.utils.keras_private import strategy_of

# The axis of tokens, of each variable that has one.
TABLES = {"token_embedding/embeddings": 0, "lm_head/kernel": 1, "output_bias/bias": 0, "masked_lm_bias/bias": 0}
SOURCE_TABLE = "encoder_token_embedding/embeddings"  # of an encoder with a vocabulary of its own


def add_tokens(task: Task, tokens: Sequence[str]) -> Task:
    """Return a task whose tokenizer has new tokens, and whose model has rows for them.

    Each new row of the embedding, and of an output layer with separate weights, is the mean of the rows of the pieces
    that the token was cut into before; a bias likewise. All else is kept, so that texts without the new tokens give the
    same hidden states, and the same logits of the old tokens. Train it before use: the rows are only a start, and a
    model that writes now also gives the new tokens a share of its probability.
    Paper: Hewitt 2021, "Initializing New Word Embeddings for Pretrained Language Models".

    In texts a new word is found as a whole word, not in parts of other words, and in any case where the tokenizer
    lower-cases; marks, words of scripts without spaces and tokens of a vocabulary of characters are found anywhere: see
    `text.wider_vocabulary.widened`. The saved tokenizer.json says so, and `transformers` finds the same. Where space
    belongs to the next word (SentencePiece: T5, Marian), the one before a new token is lost, there as here: what such a
    model writes lacks it. And `MarianTokenizer` numbers new tokens once, as the source does: it cannot read two
    vocabularies of unlike sizes that have some.

    Args:
        task: Task, which is not changed. What was prepared for training by `add_lora` is added to the new task, not
            before.
        tokens: Words, without whitespace around them.

    Returns:
        A new `Task` with the same options, compiled as a new task is. The ids of the tokens follow the tokenizer's, so
        that they take spare rows first, where the model has more rows than there are tokens.

    Raises:
        ValueError: A token is in the vocabulary, is there twice, is empty or has whitespace around it, is normalised to
            nothing, or could not be decoded; the model has adapters, or was quantized; or source and target share a
            table, but would number the tokens differently.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> tokenizer = Tokenizer.train(["take it with food"], 270, model="byte_pair")
    >>> task = Task("causal_lm", gpt2(tokenizer.vocabulary_size, 1, 2, 8, max_length=16), tokenizer)
    >>> wider = add_tokens(task, ["metformin"])
    >>> wider.config.vocabulary_size - task.config.vocabulary_size
    1
    >>> wider.tokenizer.encode(["metformin"])[0].ids  # one id, the first behind the old ones
    [269]
    """
    check_process(task.process)
    tokens = check_new_tokens(tokens)
    sides = _tokenizers(task)
    wider = [tokenizer.with_tokens(tokens) for tokenizer in dict.fromkeys(sides)]
    source, target = wider[0], wider[-1]
    _check_numbers(task, sides)

    with scope(strategy_of(task.model)):
        made = _made_with(task, source, target)
    _copy(task.model, made.model)
    pieces = [[_pieces(side, token) for side in dict.fromkeys(sides)] for token in tokens]
    of_target = [[*chain.from_iterable(each)] for each in pieces]
    if task.config.encoder_vocabulary_size:
        of_target = [each[-1] for each in pieces]
        _fill(made.model, {SOURCE_TABLE: 0}, sides[0].vocabulary_size, [each[0] for each in pieces])
    _fill(made.model, TABLES, sides[-1].vocabulary_size, of_target)
    return made


def _tokenizers(task: Task) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of source and target: one for most tasks."""
    return task.tokenizer, task.parts.attributes.get("target_tokenizer", task.tokenizer)


def _check_numbers(task: Task, sides: Sequence[Tokenizer]) -> None:
    sizes = [side.vocabulary_size for side in sides]
    if len(set(sizes)) > 1 and not task.config.encoder_vocabulary_size:
        raise ValueError(
            f"source and target share one table, and their tokenizers have {sizes[0]} and {sizes[1]} tokens: "
            "a new token would get two ids. Expected tokenizers of one size, or a model with encoder_vocabulary_size."
        )


def _made_with(task: Task, source: Tokenizer, target: Tokenizer) -> Task:
    """Return a new task with the options of another, for the tokenizers of source and target."""
    config, options = task.config, dict(task.options)
    sizes: dict[str, Any] = {"vocabulary_size": max(config.vocabulary_size, target.vocabulary_size)}
    if config.encoder_vocabulary_size:
        sizes["encoder_vocabulary_size"] = max(config.encoder_vocabulary_size, source.vocabulary_size)
    if target is not source:
        options["target_tokenizer"] = target
    elif "target_tokenizer" in options:
        options["target_tokenizer"] = source
    saved = task.parts.saved
    if task.kind.writes_text and "generation" in saved():
        options["generation"] = saved()["generation"]

    made = Task(
        task.name,
        dataclasses.replace(config, **sizes),
        source,
        max_length=task.max_length,
        outputs=task.outputs,
        dtype=task.dtype,
        **options,
    )
    if task.kind.writes_text:
        return made
    own = made.parts.saved  # `zoo.load` keeps more of a checkpoint
    made.parts = dataclasses.replace(made.parts, saved=lambda: {**saved(), **own()})
    return made


def _copy(model: keras.Model, wider: keras.Model) -> None:
    """Copy the weights of a model, what of it is frozen and which blocks rematerialise, into one with more rows of
    tokens.
    """
    known = {variable.path: variable for variable in model.weights}
    if others := known.keys() ^ {variable.path for variable in wider.weights}:
        raise ValueError(
            f"the model has weights that a new one of its task has not, such as {min(others)!r}: adapters (LoRA), or "
            "layers that were quantized. Add tokens first, to the task as it was loaded; or save, load and add them."
        )
    for layer in filter(lambda layer: layer.weights, wider.layers):
        layer.trainable = model.get_layer(layer.name).trainable
    for block, new in zip(blocks_of(model), blocks_of(wider), strict=True):
        new.remat = block.remat
    for variable in wider.weights:
        old = known[variable.path]
        values = keras.ops.convert_to_numpy(old)
        spare = [(0, new - count) for new, count in zip(variable.shape, old.shape, strict=True)]
        if any(map(any, spare)) and variable.path not in {*TABLES, SOURCE_TABLE}:
            raise ValueError(f"{variable.path} has an axis of tokens that is unknown here: {old.shape}. Report it.")
        variable.assign(np.pad(values, spare))
        if variable.trainable != old.trainable:
            variable.trainable = old.trainable


def _pieces(tokenizer: Tokenizer, token: str) -> list[int]:
    return tokenizer.encode([token], special_tokens=False)[0].ids


def _fill(model: keras.Model, tables: dict[str, int], first: int, pieces: Sequence[Sequence[int]]) -> None:
    """Set the rows of new tokens, which begin at `first`, to the mean of the rows of their pieces."""
    for variable in model.weights:
        if variable.path not in tables:
            continue
        axis = tables[variable.path]
        values = np.moveaxis(np.array(keras.ops.convert_to_numpy(variable)), axis, 0)  # (V, D), or (V,)
        for row, ids in enumerate(pieces, first):
            values[row] = values[np.array(ids)].astype("float32").mean(0)
        variable.assign(np.moveaxis(values, 0, axis))
