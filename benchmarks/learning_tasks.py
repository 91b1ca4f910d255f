"""What `learning.py` lets models learn: their tasks, data, and what is measured of them, from the zoo's own parts.

The models of an experiment see the same batches and have the same optimizer and rate. Their sizes are chosen such that
they have equally many parameters, within four percent. What else differs between families, such as norms, biases and
initialisers, stands in `keras_transformers/families`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import convolutional, gpt2, marian, recurrent
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

SEPARATOR, SYMBOLS = "|", "abcdefghijklmnop"
# The values of each key, which no other key has: one look back answers. With values that do not name their key it takes
# two (to what stands before a value, and to the value), and the transformer had not learnt that after 800 updates.
FACTS = {key: [chr(0x100 + 8 * place + value) for value in range(8)] for place, key in enumerate(SYMBOLS)}
COPIED = (2, 4, 8, 16, 32)  # characters to copy, and so the distance between one and its copy
PAIRS, REACHES = 32, (3, 7, 15, 31, 61)  # pairs of a text to recall from; the upper ends of groups of distances
SENTENCES, HELD_OUT, PIECES = 20_000, 300, 1_000  # of Tatoeba; pieces of the vocabulary
WORDS = {"1-4": (1, 4), "5-6": (5, 6), "7-8": (7, 8), "9 and more": (9, 99)}  # of English sentences
BLOCK, BLOCKS = 64, 512  # characters of a row; rows to measure with
Measured = dict[str, float]


class Prepared(NamedTuple):
    """A task before it learns."""

    task: Task
    dataset: Any  # batches to learn from, without end
    measure: Callable[[], Measured]


class Experiment(NamedTuple):
    """What is learnt, by whom and how long."""

    models: dict[str, Callable[..., TransformerConfig]]  # from vocabulary size and further options
    prepare: Callable[[Callable[..., TransformerConfig], Path, int], Prepared]
    updates: int
    every: int  # updates between two measurements
    rate: float


def copies(number: int, seed: int) -> tuple[list[str], list[str]]:
    """Random strings of the lengths `COPIED`, each with a separator behind it; and the strings once more."""
    rng = random.Random(seed)
    strings = ["".join(rng.choices(SYMBOLS, k=rng.choice(COPIED))) for _ in range(number)]
    return [string + SEPARATOR for string in strings], strings


def recalls(number: int, seed: int) -> list[str]:
    """Texts of pairs, a key and one of its values, which is drawn for each text and holds in all of it."""
    rng = random.Random(seed)
    texts = []
    for _ in range(number):
        meaning = {key: rng.choice(facts) for key, facts in FACTS.items()}
        texts.append("".join(key + meaning[key] for key in rng.choices(SYMBOLS, k=PAIRS)))
    return texts


def recall_distances(text: str) -> np.ndarray:
    """For each character but the last: how far back the value stands that comes next; 0 where nothing tells it.

    >>> recall_distances("aXbYaX").tolist()
    [0, 0, 0, 0, 3]
    """
    last, distances = {}, np.zeros(len(text) - 1, int)
    for place in range(0, len(text), 2):
        distances[place] = place - last.get(text[place], place)
        last[text[place]] = place + 1
    return distances


def _language_model(make_config: Callable[..., TransformerConfig], tokenizer: Tokenizer, length: int) -> Task:
    config = make_config(tokenizer.vocabulary_size, kind="decoder", max_length=length, dropout=0.0)
    return Task("causal_lm", config, tokenizer)


def copying(make_config: Callable[..., TransformerConfig], data: Path, seed: int) -> Prepared:
    """Write a string once more."""
    tokenizer = Tokenizer.train([SYMBOLS + SEPARATOR], model="character")
    task = _language_model(make_config, tokenizer, 2 * max(COPIED))
    texts, targets = copies(COPY.updates * 32, seed)
    test = task.dataset(*copies(640, -1), batch_size=640, shuffle=False, packing=None, buckets=())
    (inputs, labels), *_ = [(inputs, np.array(labels)) for inputs, labels in test]
    distances = np.where(labels >= 0, (labels >= 0).sum(1, keepdims=True), 0)  # (B, T)
    dataset = task.dataset(texts, targets, packing=None, batch_size=32, seed=seed, buckets=()).repeat()
    return Prepared(task, dataset, partial(accuracies, task, inputs, labels, distances, COPIED))


def recalling(make_config: Callable[..., TransformerConfig], data: Path, seed: int) -> Prepared:
    """Say what a key meant that stood somewhere before."""
    tokenizer = Tokenizer.train([SYMBOLS, *map("".join, FACTS.values())], model="character")
    task = _language_model(make_config, tokenizer, 2 * PAIRS)
    texts = recalls(400, -1)
    (inputs, labels), *_ = list(task.dataset(texts, batch_size=400, shuffle=False, packing=None, buckets=()))
    distances = np.pad([recall_distances(text) for text in texts], ((0, 0), (0, 1)))  # (B, T)
    dataset = task.dataset(recalls(RECALL.updates * 32, seed), packing=None, batch_size=32, seed=seed, buckets=())
    return Prepared(task, dataset.repeat(), partial(accuracies, task, inputs, labels, distances, REACHES))


def accuracies(task: Task, inputs: Any, labels: Any, distances: np.ndarray, reaches: tuple[int, ...]) -> Measured:
    """The part of the right next tokens, by groups of distances: those up to each of `reaches`."""
    guesses = np.argmax(task.model.predict(inputs, batch_size=64, verbose=0)["logits"], -1)  # (B, T)
    right, measured = guesses == np.asarray(labels), {}
    for least, most in zip((0, *reaches), reaches, strict=False):
        measured[str(most)] = float(right[(distances > least) & (distances <= most)].mean())
    return measured


def translating(make_config: Callable[..., TransformerConfig], data: Path, seed: int) -> Prepared:
    """Translate sentences of Tatoeba, as the recipe of transformer_mini_en_de does, but fewer of them."""
    from zoo.transformer_mini_en_de import split

    (english, german), held_out = split(data / "tatoeba_deu_eng" / "deu.txt")
    rows = random.Random(0).sample(range(len(english)), SENTENCES)
    english, german = ([side[row] for row in rows] for side in (english, german))
    tokenizer = Tokenizer.train(english + german, PIECES, model="unigram")
    facts = {"kind": "encoder_decoder", "max_length": 64, "dropout": 0.1, "pad_id": 0, "eos_ids": [1]}
    config = make_config(tokenizer.vocabulary_size, **facts)
    task = Task("seq2seq_lm", config, tokenizer)
    once = list(dict(reversed(list(zip(*held_out, strict=True)))).items())  # one translation of each sentence
    pairs = random.Random(0).sample(once, HELD_OUT)
    dataset = task.dataset(english, german, batch_tokens=768, seed=seed).repeat()
    return Prepared(task, dataset, partial(translation_scores, task, *zip(*pairs, strict=True)))


def translation_scores(task: Task, english: tuple[str, ...], german: tuple[str, ...]) -> Measured:
    """Cross-entropy in nats a token, and BLEU of greedy translations: of all, and by the words of the source."""
    from keras_transformers.training.metrics.text_scores import bleu

    measured = {"cross_entropy": task.evaluate(english, german)["cross_entropy"]}
    texts = task.generate(english, batch_size=100, num_beams=1, max_new_tokens=40)
    measured["bleu"] = bleu(texts, german)
    lengths = np.array([len(text.split()) for text in english])
    for name, (least, most) in WORDS.items():
        rows = np.flatnonzero((lengths >= least) & (lengths <= most))
        measured[f"bleu {name}"] = bleu([texts[row] for row in rows], [german[row] for row in rows])
    return measured


def writing(make_config: Callable[..., TransformerConfig], data: Path, seed: int) -> Prepared:
    """Guess the next character of Shakespeare: nanoGPT's recipe for a CPU, at a rate that does not decay."""
    text = (data / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    train, valid = text[: int(0.9 * len(text))], text[int(0.9 * len(text)) :]
    task = _language_model(make_config, Tokenizer.train([text], model="character"), BLOCK)
    blocks = {"packing": "blocks", "batch_size": 16, "drop_remainder": True}
    test = valid[: BLOCK * BLOCKS + 1]
    dataset = task.dataset([train], seed=seed, **blocks).repeat()
    return Prepared(task, dataset, lambda: bits(task, test))


def bits(task: Task, text: str) -> Measured:
    """Bits a character."""
    measured = task.evaluate([text], batch_size=64, dataset_options={"packing": "blocks"})
    return {"bits": measured["cross_entropy"] / np.log(2)}


# nanoGPT's options for small models; in copy and recall, embeddings start as large as these widths want.
GPT = partial(gpt2, num_heads=4, attention_dropout=0.0, use_bias=False, activation="gelu")
STARTS = {"embedding_initializer_range": 0.1}
DECODERS = {
    "transformer": partial(GPT, num_layers=2, hidden_dim=64, initializer_range=0.1, output_initializer_range=None),
    "lstm": partial(recurrent, num_layers=2, hidden_dim=80, **STARTS),
    "gru": partial(recurrent, num_layers=2, hidden_dim=92, mixer="gru", **STARTS),
    "convolution": partial(convolutional, num_layers=4, hidden_dim=38, kernel_size=9, **STARTS),  # sees 32 tokens back
}
# The recipe of transformer_mini_en_de, in small.
TRANSFORMER = partial(
    marian, num_layers=2, num_heads=4, hidden_dim=96, intermediate_dim=192, activation="relu", initializer_range=None,
    embedding_initializer_range=96**-0.5,
)  # fmt: skip
TRANSLATORS = {
    "transformer": TRANSFORMER,
    "lstm with attention": partial(recurrent, num_layers=2, hidden_dim=100),
    "lstm": partial(recurrent, num_layers=2, hidden_dim=100, cross_attention=False),
}
WRITERS = {
    "gpt": partial(GPT, num_layers=3, hidden_dim=96),
    "lstm": partial(recurrent, num_layers=2, hidden_dim=144),
}
COPY = Experiment(DECODERS, copying, updates=600, every=50, rate=3e-3)
RECALL = Experiment(DECODERS, recalling, updates=600, every=50, rate=3e-3)
TRANSLATION = Experiment(TRANSLATORS, translating, updates=1000, every=200, rate=1e-3)
SHAKESPEARE = Experiment(WRITERS, writing, updates=800, every=100, rate=1e-3)
EXPERIMENTS = {"copy": COPY, "recall": RECALL, "translation": TRANSLATION, "shakespeare": SHAKESPEARE}

if __name__ == "__main__":
    sys.exit("python benchmarks/learning.py runs them.")
