"""Small models on text, of two stacks mostly: each token is a character."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformers.checkpoints.settings.generation_config import read_generation
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import transformer
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import character_vocabulary

FIRST = 0x4E00  # the character of token 0


def characters(config: TransformerConfig) -> Tokenizer:
    """Token i is the character `FIRST` + i; those with a role are special."""
    vocabulary = {chr(FIRST + number): number for number in range(config.vocabulary_size)}
    special = {config.pad_id, config.decoder_start_id, *config.eos_ids} - {None}
    return Tokenizer(character_vocabulary.build(vocabulary, [chr(FIRST + number) for number in special]))


def text_of(ids: list[int]) -> str:
    return "".join(chr(FIRST + number) for number in ids)


def ids_of(text: str) -> list[int]:
    return [ord(letter) - FIRST for letter in text]


def seq2seq_lm(**options: Any) -> Task:
    """A random model whose weights all matter."""
    from generating import lively

    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 64, "eos_ids": [2], "pad_id": 0}
    config = transformer(40, **(sizes | options))
    task = Task("seq2seq_lm", config, characters(config))
    lively(task.model)
    return task


def seq2seq_of(tokenizer: Tokenizer) -> Task:
    """A small random model that reads and writes texts of a vocabulary with </s>; its texts have 24 tokens at most."""
    from generating import lively

    end = tokenizer.token_to_id("</s>")
    ids = {"eos_ids": [end], "decoder_start_id": end, "pad_id": end}
    keras.utils.set_random_seed(0)
    task = Task("seq2seq_lm", transformer(tokenizer.vocabulary_size, 1, 2, 16, max_length=25, **ids), tokenizer)
    lively(task.model)
    return task


def read_task(folder: Path, max_length: int | None = None) -> Task:
    """The task of a checkpoint that `transformers` has written without a tokenizer."""
    config, _ = read_config(folder)
    has_source = config.kind == "encoder_decoder"
    name = "seq2seq_lm" if has_source else "causal_lm"
    generation = read_generation(folder, has_source)
    task = Task(name, config, characters(config), max_length=max_length, generation=generation)
    load_weights(task.model, folder)
    return task


def make_sources(task: Task, rows: int, longest: int = 12, seed: int = 0) -> list[str]:
    """Random texts of tokens without a role."""
    random = np.random.default_rng(seed)
    highest = task.config.vocabulary_size - 2
    return [text_of(random.integers(5, highest, length)) for length in random.integers(3, longest, rows)]
