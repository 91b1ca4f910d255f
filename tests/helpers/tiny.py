"""Tasks small enough to train in a test, on texts whose words decide the class."""

from __future__ import annotations

from functools import cache
from typing import Any

import keras
import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import bert, gpt2
from keras_transformers.tasks import Task
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer

NAMES = ("bad", "good")
WORDS = {"good": ("fine", "bright", "warm"), "bad": ("dull", "grey", "cold")}
NOUNS = ("film", "day", "song", "room")
TEXTS, LABELS = zip(
    *[(f"a {word} {noun}", name) for noun in NOUNS for name in NAMES for word in WORDS[name]], strict=True
)
NUMBERS = [NAMES.index(name) for name in LABELS]
DOCUMENTS = [["A dull day.", "A grey room.", "It rained."], ["A warm day.", "A bright film.", "A fine song."]]
FIT = {"epochs": 12, "batch_size": 8, "learning_rate": 2e-2, "verbose": 0}
EAGER = {"compile_options": {"run_eagerly": True}}  # for a few steps: a graph takes longer to trace


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train([*TEXTS, *DOCUMENTS[0], *DOCUMENTS[1]], vocabulary_size=120)


def config(**options: Any) -> TransformerConfig:
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 16}
    # Larger weights than BERT's: a model this narrow would else take many steps to leave the start.
    return bert(
        tokenizer().vocabulary_size,
        **(sizes | {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.2} | options),
    )


def classifier(labels: Any = NAMES, dropout: float = 0.0, **options: Any) -> Task:
    keras.utils.set_random_seed(0)
    return Task("classification", config(dropout=dropout), tokenizer(), labels=labels, **options)


@cache
def byte_tokenizer() -> Tokenizer:
    """Byte pairs, with an end token behind each text."""
    plain = Tokenizer.train(TEXTS, vocabulary_size=300, model="byte_pair")
    return with_end_token(plain, plain.eos_id)


def decoder_classifier(labels: Any = NAMES, **options: Any) -> Task:
    """Of 313 tokens, a number that no other axis has."""
    keras.utils.set_random_seed(0)
    config = gpt2(
        313, num_layers=1, num_heads=2, hidden_dim=16, max_length=16, dropout=0.0, attention_dropout=0.0,
        initializer_range=0.2, pad_id=1, eos_ids=[byte_tokenizer().eos_id],
    )  # fmt: skip
    return Task("classification", config, byte_tokenizer(), labels=labels, **options)


def masked_lm(**options: Any) -> Task:
    keras.utils.set_random_seed(0)
    return Task("masked_lm", config(), tokenizer(), **options)


def pretraining(**options: Any) -> Task:
    keras.utils.set_random_seed(0)
    return Task("pretraining", config(), tokenizer(), **options)


def weights(task: Any) -> list[np.ndarray]:
    return [np.array(weight) for weight in task.model.get_weights()]


def outputs(task: Any, dataset: Any) -> tuple[dict[str, np.ndarray], Any]:
    """What the model gives for the one batch of a data set, and its labels."""
    (inputs, labels), *more = list(dataset)
    assert not more
    return {name: np.array(value, "float32") for name, value in task.model(inputs).items()}, labels


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
