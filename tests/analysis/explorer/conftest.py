"""Small tasks of every kind that the page shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from browser import chromium

from keras_transformers.analysis.explorer.view import View
from keras_transformers.families import bert, electra, gpt2, transformer
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

LINES = ["a fine film", "a dull film", "the long day", "a fine day and a long film"]
HOSTILE = "<img src=x onerror=alert(1)>"
SEARCHED = ("A cat was sleeping in the sun.", "The train was an hour late.", "Kittens like warm places.", HOSTILE)
SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 8, "max_length": 24, "initializer_range": 0.5}


def _make(name: str) -> Task:
    if name == "causal_lm":
        tokenizer = Tokenizer.train(LINES, 280, model="byte_pair")
        return Task(name, gpt2(tokenizer.vocabulary_size, **SIZES, eos_ids=[tokenizer.eos_id]), tokenizer)
    if name == "seq2seq_lm":
        tokenizer = Tokenizer.train(LINES, 40, model="unigram")
        ids = {"pad_id": tokenizer.pad_id, "decoder_start_id": tokenizer.pad_id, "eos_ids": [tokenizer.eos_id]}
        return Task(name, transformer(tokenizer.vocabulary_size, **SIZES, **ids), tokenizer)
    tokenizer = Tokenizer.train(LINES, 60)
    labels = {"classification": ["bad", "good"], "token_classification": ["O", "B-x", "I-x"]}
    options = {"labels": labels[name]} if name in labels else {}
    family = electra if name == "replaced_tokens" else bert
    return Task(name, family(tokenizer.vocabulary_size, **SIZES), tokenizer, **options)


@pytest.fixture(scope="session")
def task() -> Callable[[str], Task]:
    """A task by its name, made once."""
    return cache(_make)


@pytest.fixture(scope="module")  # Playwright runs once in a process: other rooms start their own
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def addresses(tmp_path_factory) -> dict[str, str]:
    """Files of bundled models: gaps, a comparison, a story, a translation, a long text, a search; one without heads."""
    import zoo

    folder, bert, gpt = tmp_path_factory.mktemp("pages"), zoo.load("mini_bert_en"), zoo.load("gpt_mini_en")
    encoder = zoo.load("minilm_mini_en")
    words = "He [MASK] the door and went into the room."
    views = {
        "gap": (bert, View(words)),
        "changed": (bert, View(words, changed="She [MASK] the door and went into the room.")),
        "hostile": (bert, View(f"{HOSTILE} [MASK]")),
        "long": (bert, View("The old man [MASK] down. " + "He looked at the sea and said nothing at all. " * 20)),
        "story": (gpt, View("It was a dark night, and", new_tokens=6)),
        "translation": (zoo.load("transformer_mini_en_de"), View("The cat danced.")),
        "search": (encoder, View("a warm place to sleep", among="\n".join(SEARCHED))),
        "recurrent": (zoo.load("lstm_lm", weights=False), View("It was a dark night")),
    }
    for name, (task, view) in views.items():
        (folder / f"{name}.html").write_text(view.page(task, name), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in views}


@pytest.fixture(scope="session")
def searched() -> tuple[str, ...]:
    """Texts of the page `search`."""
    return SEARCHED
