"""Ranking by a cross-encoder, which reads a query and a document together and scores the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.pair_scores import learn_choices, pair_scorer
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.inputs.labels import label_numbers
from keras_transformers.tasks.inputs.sources import text_source
from keras_transformers.tasks.parts import Kind, Parts, Setup
from keras_transformers.tasks.reports import pair_report
from keras_transformers.text.text_checks import check_texts
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics

LOSSES = ("binary", "listwise")


def ranking(setup: Setup, *, loss: str = "binary") -> Parts:
    """Build a cross-encoder: it scores pairs of texts, how well the second one answers the first.

    It is slower and more accurate than comparing sentence embeddings: use it on the few documents that a search found.
    Papers: Nogueira and Cho 2019, https://arxiv.org/abs/1901.04085; listwise, Cao et al. 2007, "Learning to Rank: From
    Pairwise Approach to Listwise Approach".

    Args:
        setup: What every task is given.
        loss: `"binary"`: each pair has a label from 0 (does not answer) to 1. `"listwise"`: `pairs`
            are lists of documents, all of one length, and labels the numbers of the right documents, from 0.

    Predicts:
        One dict a pair, of a query in `texts` and a document in `pairs`:

        - `score` (float): a logit, the higher the better the second text answers the first.
        - `probability` (float): the sigmoid of `score`.
        - `truncated` (bool): whether the pair was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text` and `text_pair`, (B,) strings. It returns `score` and `probability`, (B,)
        float32, and `truncated`, (B,) bool.

    Raises:
        ValueError: The loss is unknown.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("ranking", config, tokenizer)
    >>> [found["index"] for found in task.rank("a film", ["fine", "dull"], top=1)] in ([0], [1])
    True
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {LOSSES}: received {loss!r}.")
    scorer = pair_scorer(setup)
    answers = OnePass(setup, scorer, {"serving_default": _signature(scorer)}, _describe)
    return Parts(
        **(_learn_pairs if loss == "binary" else learn_choices)(setup, scorer),
        answers=answers,
        saved=lambda: {"labels": ["LABEL_0"]},
        attributes={"loss": loss, "rank": _ranker(answers)},
    )


KIND = Kind(
    "ranking",
    ranking,
    models=("encoder",),
    new_layers=("pooler", "pooler_norm", "classifier"),
    shares_head=("classification",),
    needs_labels=True,
    takes_weights=True,
    takes_pairs=True,
    needs_pairs=True,
)


def _learn_pairs(setup: Setup, scorer: keras.Model) -> dict[str, Any]:
    """Return the parts of a task that learns from each pair by itself; all parts but `answers`."""
    expected = "labels of the loss 'binary' are numbers from 0 to 1, one a pair"
    return {
        "model": scorer,
        "tokenizer": setup.tokenizer,
        "source": text_source(setup, lambda labels: label_numbers(labels, expected).reshape(-1, 1)),
        "objective": lambda: Classification(1, "multi_label", setup.config.fill_id),
        "losses": lambda: {"logits": target_losses.BinaryCrossEntropy()},
        "metrics": lambda: {"logits": [target_metrics.BinaryAccuracy()]},
        "judged_by": "binary_accuracy",
        "report": pair_report,
    }


def _signature(scorer: keras.Model) -> Signature:
    def read(reader: Reader, texts: Any, pairs: Any) -> Tensors:
        return reader(texts, pairs)

    def compute(encoded: Tensors) -> Tensors:
        outputs = scorer({name: encoded[name] for name in scorer.input}, training=False)
        score = ops.cast(outputs["logits"][:, 0], "float32")  # (B,)
        return {"score": score, "probability": ops.sigmoid(score), "truncated": encoded["truncated"]}

    return Signature(("text", "text_pair"), read, compute)


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(row[name]) for name in ("score", "probability")}


def _ranker(answers: OnePass) -> Callable[..., list[dict[str, Any]]]:
    def rank(
        query: str, documents: Sequence[str], *, top: int | None = None, batch_size: int = 32, verbose: Any = "auto"
    ) -> list[dict[str, Any]]:
        """Sort documents by their score for a query, best first: dicts of `index`, `score` and `text`."""
        documents = check_texts("documents", documents)
        (top,) = check_counts(top=max(len(documents), 1) if top is None else top)
        found = answers.predict([query] * len(documents), documents, batch_size=batch_size, verbose=verbose)
        rows = [{"index": i, "score": row["score"], "text": documents[i]} for i, row in enumerate(found)]
        return sorted(rows, key=lambda row: -row["score"])[:top]

    return rank
