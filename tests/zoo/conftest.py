"""Folders of tiny models, one for each task, saved as a user would save them."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import pytest

NOUNS = ("film", "book", "song", "day", "play")
LINES = [" ".join(words) for words in product(("a", "the"), ("fine", "dull", "long"), NOUNS)]


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, str]:
    """Task name -> folder."""
    # Late: half of these tests need no Keras, and run in a second without.
    from keras_transformers.families import bert, gpt2, transformer
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

    root = tmp_path_factory.mktemp("saved")
    tokenizer = Tokenizer.train(LINES, vocabulary_size=80)
    byte_pair = Tokenizer.train(LINES, vocabulary_size=280, model="byte_pair")
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 24}
    unigram = Tokenizer.train(LINES, vocabulary_size=60, model="unigram")
    ids = {"pad_id": unigram.pad_id, "decoder_start_id": unigram.pad_id, "eos_ids": [unigram.eos_id]}
    config = bert(tokenizer.vocabulary_size, **sizes)
    tasks = [
        Task("causal_lm", gpt2(byte_pair.vocabulary_size, **sizes, eos_ids=[byte_pair.eos_id]), byte_pair),
        Task("classification", config, tokenizer, labels=["bad", "good"]),
        Task("masked_lm", config, tokenizer),
        Task("pretraining", config, tokenizer),
        Task("seq2seq_lm", transformer(unigram.vocabulary_size, **sizes, **ids), unigram),
    ]
    for task in tasks:
        task.save(root / task.name)
    return {task.name: str(root / task.name) for task in tasks}


@pytest.fixture
def quick_speed(monkeypatch):
    """Runs measure their speed by a few steps, as no test reads it, and without XLA; their samples are short."""
    from zoo.scratch import speed, text_rounds

    monkeypatch.setattr(text_rounds, "SAMPLE_TOKENS", 2)
    monkeypatch.setattr(speed, "SECONDS", 0.0)
    monkeypatch.setattr(speed, "suits_xla", lambda *_: False)


@pytest.fixture(scope="session")
def loaded() -> dict:
    return {}


@pytest.fixture
def loaded_once(loaded, monkeypatch):
    """Tests that only read a model share it: to trace what answers takes seconds each time."""
    import zoo

    load = zoo.load

    def remembered(name, *arguments, **options):
        key = str((str(name), arguments, options))
        if key not in loaded:
            loaded[key] = load(name, *arguments, **options)
        return loaded[key]

    monkeypatch.setattr(zoo, "load", remembered, raising=False)
    monkeypatch.setattr("zoo.loading.load.load", remembered)


@pytest.fixture
def eager():
    from eager import eagerly

    with eagerly():
        yield


@pytest.fixture
def eager_fit(monkeypatch):
    """`fit` of a few steps, whose graph would take longer to trace."""
    from keras_transformers.tasks import Task

    fit = Task.fit

    def eagerly(task, *arguments, **options):
        return fit(task, *arguments, **{"compile_options": {"run_eagerly": True}, **options})

    monkeypatch.setattr(Task, "fit", eagerly)


@pytest.fixture
def no_export(monkeypatch):
    """For what comes before the export of `finetune`, or is printed beside it."""
    from keras_transformers.tasks import Task

    monkeypatch.setattr(Task, "export", lambda *_, **__: None)


@pytest.fixture
def served(monkeypatch) -> list:
    """The requests that would be sent to the export in a process of its own."""
    from zoo.cli import finetune

    sent = []
    monkeypatch.setattr(finetune, "serve", lambda export, request: sent.append(request))
    return sent


@pytest.fixture
def table(tmp_path):
    """Writes a file of rows by its suffix: CSV with a header, TSV without, JSON lines."""

    def write(name: str, rows: list[dict]) -> str:
        path = Path(tmp_path, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            if path.suffix == ".jsonl":
                file.writelines(json.dumps(row) + "\n" for row in rows)
            elif path.suffix == ".tsv":
                file.writelines("\t".join(map(str, row.values())) + "\n" for row in rows)
            else:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        return str(path)

    return write
