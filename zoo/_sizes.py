"""Models of the zoo that are sizes without weights: what is loaded all the same, and what is said where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_transformers.config import TransformerConfig
from keras_transformers.text.tokenizer import Tokenizer
from zoo._entry import Entry, describe


def of_sizes(entry: Entry) -> tuple[TransformerConfig, str, tuple[Tokenizer, ...], Callable]:
    """What a checkpoint of sizes has: those of the entry, the tokenizers of a bundled model, and no weights to assign.

    Args:
        entry: One with a `tokenizer`.

    Returns:
        Configuration, task, the tokenizers of what is read and what is written, and a function that raises.
    """

    def assign(*arguments: Any, **options: Any):
        raise no_weights(entry)

    folder = describe(entry.tokenizer).folder
    two_sides = entry.config.kind == "encoder_decoder"
    tokenizers = Tokenizer.pair_from_folder(folder) if two_sides else (Tokenizer.from_folder(folder),)
    return entry.config, entry.task, tokenizers, assign


def no_weights(entry: Entry) -> ValueError:
    """The error of a model that has sizes only; it says what to do.

    Args:
        entry: Of the model.
    """
    way = f"train a model of zoo.describe({entry.name!r}).config"
    if entry.tokenizer:
        way = "load it with weights=False, train it"
    return ValueError(
        f"there are no weights for {entry.name!r}, only sizes: {way}, and load it from the folder that it is saved to."
    )
