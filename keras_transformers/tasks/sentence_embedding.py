"""Sentence embeddings: vectors that are near to each other for texts of similar meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Number
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.data.objectives.text_groups import Grouped
from keras_transformers.heads import grouped, mean_of_tokens
from keras_transformers.models import encoder
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.inputs.grouped_texts import Columns, group_source
from keras_transformers.tasks.inputs.labels import label_numbers, label_rows
from keras_transformers.tasks.parts import Kind, Parts, Setup
from keras_transformers.tasks.reports import similarity_report
from keras_transformers.tasks.search import search
from keras_transformers.training.losses import embedding_losses
from keras_transformers.training.losses.embedding_losses import cosine
from keras_transformers.training.metrics import embedding_metrics

POOLINGS = ("mean", "first")


class Learning(NamedTuple):
    """A loss to learn embeddings by, and the rows that it needs."""

    loss: Callable[[], keras.losses.Loss]
    metric: Callable[[], keras.metrics.Metric]
    sizes: range  # possible numbers of texts in a row
    labels: str  # description of a row's label; empty if rows need none


LEARNING = {
    "ranking": Learning(
        embedding_losses.MultipleNegativesRanking, embedding_metrics.RankingAccuracy, range(2, 1000), ""
    ),
    "cosine": Learning(
        embedding_losses.CosineError, embedding_metrics.CosinePearson, range(2, 3), "a number from -1 to 1"
    ),
    "triplet": Learning(embedding_losses.Triplet, embedding_metrics.TripletAccuracy, range(3, 4), ""),
    "regression": Learning(
        embedding_losses.VectorDistance, embedding_metrics.MeanCosine, range(1, 2), "a teacher's vector"
    ),
}


def sentence_embedding(setup: Setup, *, loss: str = "ranking", pooling: str = "mean", normalize: bool = True) -> Parts:
    """Build a model that embeds each text as a vector.

    The model that is trained takes groups of texts, (B, G, T): see `heads.grouped`. The one that predicts takes texts.
    Paper: Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084.

    Args:
        setup: What every task is given.
        loss: `"ranking"`: learn from positive pairs; all other texts of the batch are negatives
            (`MultipleNegativesRanking`). A row of `pairs` may be a list: the positive, then further negatives. Labels
            may be numbers or names: rows with the same label are no negatives of each other; if None, rows with the
            same second text. `"cosine"`: pairs have a score from -1 to 1. `"triplet"`: `pairs` are lists of a positive
            and a negative. `"regression"`: labels are a teacher's vectors, (D,).
        pooling: `"mean"` of all tokens, or the `"first"` token, BERT's `[CLS]`.
        normalize: Whether vectors are scaled to length one. The similarity of two texts is the cosine in any case.

    Predicts:
        One dict a text, or a pair:

        - `embedding` (array of float32, (D,)): the vector, for texts alone.
        - `similarity` (float): the cosine of the two vectors, for texts with `pairs`.
        - `truncated` (bool): whether a text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text` and returns `embedding` (B, D) float32; `similarity` takes `text` and `text_pair`
        and returns `similarity` (B,) float32. Inputs are (B,) strings, and both return `truncated` (B,) bool.

    Raises:
        ValueError: The loss or the pooling is unknown.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("sentence_embedding", config, tokenizer)
    >>> task.embed(["a fine film", "a dull film"]).shape
    (2, 8)
    """
    if loss not in LEARNING:
        raise ValueError(f"loss must be one of {[*LEARNING]}: received {loss!r}.")
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {POOLINGS}: received {pooling!r}.")
    learning, embedder = LEARNING[loss], _embedder(setup, pooling, normalize)
    answers = OnePass(setup, embedder, _signatures(embedder), _describe)

    def embed(texts: Iterable[str], *, batch_size: int = 32, verbose: Any = "auto") -> np.ndarray:
        """Return the vectors of texts: float32 (N, D)."""
        found = answers.predict(texts, batch_size=batch_size, verbose=verbose)
        vectors = [answer["embedding"] for answer in found]
        return np.stack(vectors) if vectors else np.zeros((0, setup.config.hidden_dim), np.float32)

    def search_texts(*arguments: Any, verbose: Any = "auto", **options: Any) -> list[list[dict[str, Any]]]:
        """Find the texts of a collection that are nearest to each query: `tasks.search.search`."""
        return search(partial(embed, verbose=verbose), *arguments, **options)

    return Parts(
        grouped(embedder, "embedding_model"),
        setup.tokenizer,
        source=group_source(setup, learning.sizes, _label_reader(loss, setup.config.hidden_dim)),
        objective=lambda: Grouped(setup.config.fill_id),
        losses=lambda: {"embedding": learning.loss()},
        metrics=lambda: {"embedding": [learning.metric()]},
        answers=answers,
        label_output="embedding",
        label_needed=learning.labels,
        pairs_needed=learning.sizes[0] > 1,
        saved=lambda: {"sentence_transformer": {"pooling": pooling, "normalize": normalize}},
        scorer=(lambda texts, labels, pairs: Spearman()) if loss == "cosine" else None,
        rows_alone=loss != "ranking",  # whose negatives are the other rows of a batch
        judged_by=learning.metric().name,
        report=similarity_report if loss == "cosine" else None,
        attributes={
            "loss": loss, "pooling": pooling, "normalize": normalize, "embed": embed,
            "search": search_texts,
        },
    )  # fmt: skip


KIND = Kind("sentence_embedding", sentence_embedding, models=("encoder",), takes_pairs=True, takes_weights=True)


def _embedder(setup: Setup, pooling: str, normalize: bool) -> keras.Model:
    """Return a model from the inputs of texts (B, T) to `embedding`, float32 (B, D)."""
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states = backbone.output["hidden_states"]  # (B, T, D)
    mask = backbone.input["padding_mask"]
    vectors = mean_of_tokens(states, mask) if pooling == "mean" else ops.cast(states[:, 0], "float32")  # (B, D)
    vectors = ops.normalize(vectors, axis=-1) if normalize else vectors
    return keras.Model(backbone.input, {"embedding": vectors, **setup.optional_outputs(backbone)}, name="embedder")


def _signatures(embedder: keras.Model) -> dict[str, Signature]:
    model = keras.Model(embedder.input, embedder.output["embedding"], name="served_embedder")

    def read(reader: Reader, texts: Any) -> Tensors:
        return reader(texts)

    def embed(encoded: Tensors) -> Tensors:
        vectors = model({name: encoded[name] for name in model.input}, training=False)  # (B, D)
        return {"embedding": vectors, "truncated": encoded["truncated"]}

    def read_both(reader: Reader, texts: Any, pairs: Any) -> tuple[Tensors, Tensors]:
        return reader(texts), reader(pairs)

    def compare(encoded: tuple[Tensors, Tensors]) -> Tensors:
        one, other = map(embed, encoded)
        similarity = cosine(one["embedding"], other["embedding"])  # (B,)
        return {"similarity": similarity, "truncated": one["truncated"] | other["truncated"]}

    return {
        "serving_default": Signature(("text",), read, embed),
        "similarity": Signature(("text", "text_pair"), read_both, compare),
    }


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value) if name == "similarity" else value for name, value in row.items() if name != "truncated"}


def _label_reader(loss: str, dim: int) -> Callable[[Any, Columns], np.ndarray | None]:
    """Return a function from labels as given by the user, or None, and columns of texts to labels of the loss."""
    if loss == "cosine":
        return lambda labels, columns: None if labels is None else _scores(labels)
    if loss == "regression":
        return lambda labels, columns: None if labels is None else _vectors(labels, dim)
    return _numbers


def _scores(labels: Any) -> np.ndarray:
    expected = "labels of the loss 'cosine' are numbers from -1 to 1, one a pair"
    scores = label_numbers(labels := label_rows(labels), expected)
    if scores.ndim != 1 or not (np.abs(scores) <= 1).all():
        row = int((~(np.abs(scores) <= 1)).argmax()) if scores.ndim == 1 else 0
        label = labels[row].tolist() if isinstance(labels[row], (np.ndarray, np.generic)) else labels[row]
        raise ValueError(
            f"{expected}: received {label!r} in row {row}. Scale them: a score from 0 to 5 is divided by 5."
        )
    return scores


def _vectors(labels: Any, dim: int) -> np.ndarray:
    expected = f"labels of the loss 'regression' are finite vectors of {dim} numbers, one a text"
    vectors = label_numbers(labels, expected)
    if vectors.ndim != 2 or vectors.shape[1] != dim or not np.isfinite(vectors).all():
        raise ValueError(f"{expected}: received an array of shape {vectors.shape}.")
    return vectors


def _numbers(labels: Any, columns: Columns) -> np.ndarray | None:
    if labels is None and len(columns) > 1:
        labels = columns[1]
    if labels is None:
        return None
    numbers: dict[Any, int] = {}  # not by an array: one of strings holds each at the length of the longest
    for row, label in enumerate(labels := label_rows(labels)):
        if not isinstance(label, (str, Number, np.bool_)) or label != label:
            raise ValueError(f"labels are names or numbers, one a row: received {label!r} in row {row}.")
        numbers.setdefault(label, len(numbers))
    return np.array([numbers[label] for label in labels], np.int32)


class Spearman:
    """The `Scorer` of pairs with a score: Spearman's correlation with the cosines of their vectors."""

    def __init__(self):
        self.found: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, inputs: Any, labels: Any, outputs: Any) -> None:
        """Take the cosines of the first two texts of each row."""
        vectors = outputs["embedding"]  # (B, G, D)
        self.found.append((ops.convert_to_numpy(cosine(vectors[:, 0], vectors[:, 1])), np.asarray(labels)))

    def result(self) -> dict[str, float]:
        """Return `spearman`."""
        cosines, labels = (np.concatenate(column) for column in zip(*self.found, strict=True))
        return {"spearman": embedding_metrics.spearman(cosines.tolist(), labels.tolist())}
