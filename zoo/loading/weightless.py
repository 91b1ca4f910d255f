"""Models of the zoo that are sizes without weights: their tokenizers, and the error where weights are asked for."""

from __future__ import annotations

from keras_transformers.text.tokenizer import Tokenizer
from zoo.registry.entry import Entry, describe


def tokenizers_of_sizes(entry: Entry) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of source and target, which a model of sizes shares with a bundled model.

    Args:
        entry: Entry of the model.

    Raises:
        ValueError: It has no tokenizer.
    """
    if entry.tokenizer is None:
        raise ValueError(no_weights(entry))
    folder = describe(entry.tokenizer).folder
    if entry.sizes[0].kind == "encoder_decoder":
        return Tokenizer.pair_from_folder(folder)
    return (Tokenizer.from_folder(folder),) * 2


def no_weights(entry: Entry) -> str:
    """Return the error message for a model that has sizes only, with the remedy.

    Args:
        entry: Entry of the model.
    """
    way = f"train a model of zoo.describe({entry.name!r}).config"
    if entry.tokenizer:
        way = "load it with weights=False, train it"
    return (
        f"there are no weights for {entry.name!r}, only sizes: {way}, and load it from the folder that it is saved to."
    )
