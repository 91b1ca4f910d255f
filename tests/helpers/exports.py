"""Bundled models that tests export, one for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

# The model, and the options to load and to export it, for each task whose export is described.
BUNDLED = {
    "classification": ("mini_bert_en", {"labels": ["gut", 'so "so"', "schl\\echt 😀"], "seed": 0}, {}),
    "token_classification": ("mini_bert_en", {"labels": ["O", "B-person", "I-person"], "seed": 0}, {}),
    "question_answering": ("mini_bert_en", {"seed": 0}, {}),
    "sentence_embedding": ("minilm_mini_en", {}, {}),
    "ranking": ("mini_bert_en", {"seed": 0}, {}),
    "multiple_choice": ("mini_bert_en", {"seed": 0}, {}),
    "masked_lm": ("mini_bert_en", {}, {}),
    "pretraining": ("mini_bert_en", {}, {}),
    "causal_lm": ("gpt_mini_en", {}, {"max_new_tokens": 20}),
    "seq2seq_lm": ("transformer_mini_en_de", {}, {}),
}


class Exported(NamedTuple):
    """A task, and the folder of its export."""

    task: Any
    folder: Path
