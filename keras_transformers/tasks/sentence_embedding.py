"""Sentence embeddings: vectors that are near to each other for texts of similar meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformers.data.objectives.text_groups import Grouped, TextGroups
from keras_transformers.heads import grouped
from keras_transformers.heads.text_vectors import dense_layers, pooled
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks.inputs.grouped_texts import group_source
from keras_transformers.tasks.parts import Kind, Parts, Setup
from keras_transformers.tasks.reports import similarity_report
from keras_transformers.tasks.vectors.embedding_answers import EmbeddingAnswers
from keras_transformers.tasks.vectors.embedding_prompts import Prompts
from keras_transformers.tasks.vectors.group_labels import Spearman, label_reader
from keras_transformers.tasks.vectors.vector_options import (
    DENSE_LAYERS,
    check_dense,
    check_pooling,
    check_truncation,
    check_widths,
)
from keras_transformers.text.pad_token import with_pad_token
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.losses import embedding_losses
from keras_transformers.training.losses.matryoshka import Matryoshka
from keras_transformers.training.losses.target_losses import TargetLoss
from keras_transformers.training.metrics import embedding_metrics


class Learning(NamedTuple):
    """A loss to learn embeddings by, and the rows that it needs."""

    loss: Callable[[], TargetLoss]
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


def sentence_embedding(
    setup: Setup,
    *,
    loss: str = "ranking",
    pooling: str | Sequence[str] = "mean",
    normalize: bool = True,
    dense: Sequence[Mapping[str, Any]] = (),
    prompts: Mapping[str, str] | None = None,
    default_prompt: str | None = None,
    include_prompt: bool = True,
    truncate_dim: int | None = None,
    matryoshka: Sequence[int] | Mapping[int, float] | None = None,
) -> Parts:
    """Build a model that embeds each text as a vector.

    A decoder is taken as it is, with causal attention: its last token alone has seen the whole text, so that
    `pooling="last"` is usual, with a tokenizer that ends texts with a token (Qwen3-Embedding, E5-Mistral).
    The model that is trained takes groups of texts, (B, G, T): see `heads.grouped`. The one that predicts takes texts.
    Paper: Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084.

    Args:
        setup: What every task is given.
        loss: `"ranking"`: learn from positive pairs; all other texts of the batch are negatives
            (`MultipleNegativesRanking`). A row of `pairs` may be a list: the positive, then further negatives. Labels
            may be numbers or names: rows with the same label are no negatives of each other; if None, rows with the
            same second text. `"cosine"`: pairs have a score from -1 to 1. `"triplet"`: `pairs` are lists of a positive
            and a negative. `"regression"`: labels are a teacher's vectors, (D,).
        pooling: `"mean"` of all tokens; the `"first"` token, BERT's `[CLS]`; the `"last"` one; `"max"`;
            `"weighted_mean"`, by the place of a token; or `"mean_sqrt_length"`, the sum divided by the root of the
            number of tokens. A list of several: side by side.
        normalize: Whether vectors are scaled to length one. The similarity of two texts is the cosine in any case.
        dense: Dense layers between pooling and scaling: for each a dict of `units` and perhaps `activation`
            (`"linear"`, `"tanh"`, `"relu"`, `"gelu"`, `"silu"` or `"sigmoid"`) and `use_bias`. They start afresh if the
            checkpoint has none.
        prompts: Texts that `embed`, `search` and the export put before texts, by name. Those of `"query"`, and of
            `"document"`, `"passage"` or `"corpus"`, are for searches.
        default_prompt: Name of the prompt of texts for which none is asked for, in `fit` too.
        include_prompt: Whether the tokens of a prompt take part in the pooling.
        truncate_dim: Numbers of a vector that answers keep, from the first; all when None.
        matryoshka: Widths at which vectors are learned, the full one among them, so that they may be cut; or a dict
            from these to weights of the loss (`Matryoshka`).

    Predicts:
        One dict a text, or a pair:

        - `embedding` (array of float32, (D,)): the vector, for texts alone.
        - `similarity` (float): the cosine of the two vectors, for texts with `pairs`.
        - `truncated` (bool): whether a text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text` and returns `embedding` (B, D) float32; `similarity` takes `text` and `text_pair`
        and returns `similarity` (B,) float32: both with the prompt of `default_prompt`. Where there are `prompts`,
        `query` and `document` have theirs, and `prompted` takes `text` and `prompt`, the prompt itself; these return
        `embedding`. Inputs are (B,) strings, and all return `truncated` (B,) bool.

    Raises:
        ValueError: The loss, the pooling or an activation is unknown, a width is more than a vector has, or an
            option is of another type.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("sentence_embedding", config, tokenizer, prompts={"query": "query: "})
    >>> task.embed(["a fine film", "a dull film"], prompt="query").shape
    (2, 8)
    """
    if loss not in [*LEARNING]:
        raise ValueError(f"loss must be one of {[*LEARNING]}: received {loss!r}.")
    ways, dense = check_pooling(pooling), check_dense(dense)
    if not isinstance(normalize, bool):
        raise ValueError(f"normalize must be True or False: received {normalize!r}.")
    known = Prompts({} if prompts is None else prompts, default_prompt, include_prompt)
    dim = dense[-1]["units"] if dense else setup.config.hidden_dim * len(ways)
    kept = check_truncation(truncate_dim, dim)
    widths = None if matryoshka is None else check_widths(matryoshka, dim)
    learning = LEARNING[loss]
    trained, served = _embedders(setup, ways, dense, normalize, known)
    answers = EmbeddingAnswers(setup, served, known, kept or dim)
    stored = {"pooling": pooling, "normalize": normalize, "dense": dense, "truncate_dim": kept, **known.saved}
    return Parts(
        grouped(trained, "embedding_model"),
        setup.tokenizer,
        source=_source(setup, learning.sizes, label_reader(loss, dim), known),
        objective=lambda: Grouped(setup.config.fill_id),
        losses=lambda: {"embedding": Matryoshka(learning.loss(), widths) if widths else learning.loss()},
        metrics=lambda: {"embedding": [learning.metric()]},
        answers=answers,
        label_output="embedding",
        label_needed=learning.labels,
        pairs_needed=learning.sizes[0] > 1,
        saved=lambda: {"sentence_transformer": stored},
        saved_tokenizer=_saved_tokenizer(setup),
        scorer=(lambda texts, labels, pairs: Spearman()) if loss == "cosine" else None,
        rows_alone=loss != "ranking",  # whose negatives are the other rows of a batch
        judged_by=learning.metric().name,
        report=similarity_report if loss == "cosine" else None,
        attributes={"loss": loss, **stored, "embed": answers.embed, "search": answers.search},
    )


KIND = Kind("sentence_embedding", sentence_embedding, models=("encoder", "decoder"), new_layers=DENSE_LAYERS,
            takes_pairs=True, takes_weights=True)  # fmt: skip


def _embedders(
    setup: Setup, ways: list[str], dense: list[dict[str, Any]], normalize: bool, prompts: Prompts
) -> tuple[keras.Model, keras.Model]:
    """Return two models of the same layers, from inputs of texts (B, T) to `embedding`, float32 (B, D).

    The first one is trained. The second one serves: where prompts are not pooled, `prompt_length` (B,) is one of its
    inputs.
    """
    make = decoder if setup.config.kind == "decoder" else encoder
    backbone = make(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]  # (B, T, D), (B, T)
    layers = dense_layers(dense)

    def embedder(prompt_length: Any = None) -> keras.Model:
        vectors = pooled(ways, states, mask, prompt_length)  # (B, P * D)
        for layer in layers:
            vectors = layer(vectors)  # (B, units)
        vectors = ops.normalize(vectors, axis=-1) if normalize else vectors
        inputs = backbone.input | ({} if prompt_length is None else {"prompt_length": prompt_length})
        return keras.Model(inputs, {"embedding": vectors, **setup.optional_outputs(backbone)}, name="embedder")

    trained = embedder()
    if prompts.are_pooled:
        return trained, trained
    return trained, embedder(keras.Input((), dtype="int32", name="prompt_length"))


def _saved_tokenizer(setup: Setup) -> Tokenizer:
    """Return the tokenizer with padding, which sentence-transformers needs: decoders often have none."""
    config, tokenizer = setup.config, setup.tokenizer
    return with_pad_token(tokenizer, (config.pad_id, *config.eos_ids)) if config.kind == "decoder" else tokenizer


def _source(setup: Setup, sizes: range, read_labels: Callable, known: Prompts) -> Callable[..., TextGroups]:
    """Return the source of groups of texts, which puts prompts before them."""
    plain = group_source(setup, sizes, read_labels)

    def source(texts: Any, labels: Any, pairs: Any, *, prompts: Sequence[str | None] | None = None) -> TextGroups:
        return plain(texts, labels, pairs, known.of_columns([None] if prompts is None else prompts))

    return source
