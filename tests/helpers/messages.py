"""Real text at hand everywhere: the bundled messages, as a text file, and a T5 whose vocabulary is theirs."""

from __future__ import annotations

import csv
from pathlib import Path

import zoo
from keras_transformers.families import t5
from keras_transformers.tasks import Task
from zoo.scratch.new_vocabulary import learn_vocabulary

TABLE = Path(zoo.__file__).parent / "bundled" / "sample_messages" / "train.csv"


def messages() -> list[str]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def text_file(folder: Path, count: int = 480) -> Path:
    """A file with a message a line."""
    path = folder / "messages.txt"
    path.write_text("\n".join(messages()[:count]) + "\n", encoding="utf-8")
    return path


def saved_t5(folder: Path, with_sentinels: bool = True) -> Path:
    """The folder of a fresh, tiny T5."""
    model = "t5" if with_sentinels else "transformer"
    tokenizer = learn_vocabulary(messages(), "unigram", 400, model)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 32, "max_length": 64, "intermediate_dim": 64}
    config = t5(tokenizer.vocabulary_size, **sizes, pad_id=tokenizer.pad_id, eos_ids=(tokenizer.eos_id,))
    Task("seq2seq_lm", config, tokenizer).save(folder)
    return folder
