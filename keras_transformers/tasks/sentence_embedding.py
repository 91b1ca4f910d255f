"""Sentence embeddings: vectors that are near to each other for texts of similar meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras

from keras_transformers.data.objectives.text_groups import Grouped, TextGroups
from keras_transformers.heads import grouped
from keras_transformers.heads.text_vectors import normalized, pooled, vector_layers
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks.contract.kind import Kind, flag, one_of
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.grouped_texts import group_source
from keras_transformers.tasks.reports import similarity_report
from keras_transformers.tasks.vectors.embedding_answers import EmbeddingAnswers
from keras_transformers.tasks.vectors.embedding_prompts import OF_PROMPTS, Prompts
from keras_transformers.tasks.vectors.group_labels import Spearman, label_reader
from keras_transformers.tasks.vectors.similarities import find_similarity
from keras_transformers.tasks.vectors.sparse_parts import check_sparse, read_sparse, sparse_parts
from keras_transformers.tasks.vectors.vector_options import (
    NEW_LAYERS,
    check_layers,
    check_pooling,
    check_static,
    check_truncation,
    check_widths,
    padded_tokenizer,
    width_of,
)
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

# Options of dense vectors, and their defaults.
OF_DENSE = {
    "loss": "ranking", "pooling": "mean", "normalize": True, "dense": [], "include_prompt": True, "truncate_dim": None,
    "matryoshka": None,
}  # fmt: skip


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
    similarity: str | None = None,
    sparse: Mapping[str, Any] | None = None,
    matryoshka: Sequence[int] | Mapping[int, float] | None = None,
) -> Parts:
    """Build a model that embeds each text as a vector.

    A decoder is taken as it is, with causal attention: its last token alone has seen the whole text, so that
    `pooling="last"` is usual, with a tokenizer that ends texts with a token (Qwen3-Embedding, E5-Mistral).
    The model that is trained takes groups of texts, (B, G, T): see `heads.grouped`. The one that predicts takes texts.
    Paper: Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084.

    Args:
        setup: Settings common to all tasks.
        loss: `"ranking"`: learn from positive pairs; all other texts of the batch are negatives
            (`MultipleNegativesRanking`). A row of `pairs` may be a list: the positive, then further negatives. Labels
            may be numbers or names: rows with the same label are no negatives of each other; if None, rows with the
            same second text. `"cosine"`: pairs have a score from -1 to 1. `"triplet"`: `pairs` are lists of a positive
            and a negative. `"regression"`: labels are a teacher's vectors, (D,).
        pooling: `"mean"` of all tokens; the `"first"` token, BERT's `[CLS]`; the `"last"` one; `"max"`;
            `"weighted_mean"`, by the place of a token; or `"mean_sqrt_length"`, the sum divided by the root of the
            number of tokens. A list of several: side by side.
        normalize: Whether vectors are scaled to length one.
        dense: Layers between pooling and scaling: for each a dict of `units` and perhaps `activation` (`"linear"`,
            `"tanh"`, `"relu"`, `"gelu"`, `"silu"` or `"sigmoid"`) and `use_bias`; or `{"layer": "layer_norm"}`,
            `{"layer": "dropout", "rate": 0.1}` or `{"layer": "normalize"}`, which scales to length one. They start
            afresh if the checkpoint has none.
        prompts: Texts that `embed`, `search` and the export put before texts, by name. Those of `"query"`, and of
            `"document"`, `"passage"` or `"corpus"`, are for searches.
        default_prompt: Name of the prompt of texts for which none is asked for, in `fit` too.
        include_prompt: Whether the tokens of a prompt take part in the pooling.
        truncate_dim: Numbers of a vector that answers keep, from the first; all when None.
        similarity: Similarity of two vectors in `search`, `predict` and the export: `"cosine"`; `"dot"`, the dot
            product; or `"euclidean"` or `"manhattan"`, minus the distance. The larger, the nearer. `loss` does not
            depend on it. `"cosine"` when None, `"dot"` of sparse vectors.
        sparse: For sparse vectors (SPLADE), a weight for each token of the vocabulary by the head of a masked language
            model: a dict of `pooling`, `"max"` or `"sum"` over the tokens of a text, and perhaps `activation`,
            `"relu"` or `"log1p_relu"`, and `max_tokens`, the most tokens of a vector. The options of dense vectors are
            then left out, and the model is neither trained nor evaluated here.
        matryoshka: Widths at which vectors are learned, the full one among them, so that they may be cut; or a dict
            from these to weights of the loss (`Matryoshka`).

    Predicts:
        One dict a text, or a pair:

        - `embedding` (array of float32, (D,)): the vector, for texts alone.
        - `tokens` (list of str), `weights` (array of float32, (K,)) and `token_ids` (array of int32, (K,)): in its
          place with `sparse`, the tokens with a weight above 0, the largest first.
        - `similarity` (float): of the two vectors, by `similarity`, for texts with `pairs`.
        - `truncated` (bool): whether a text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text` and returns `embedding` (B, D) float32; `similarity` takes `text` and `text_pair`
        and returns `similarity` (B,) float32: both with the prompt of `default_prompt`. Where there are `prompts`,
        `query` and `document` have theirs, and `prompted` takes `text` and `prompt`, the prompt itself; these return
        `embedding`. Inputs are (B,) strings, and all return `truncated` (B,) bool. With `sparse`, `token_ids` (B, K)
        int32 and `weights` (B, K) float32 replace `embedding`, the largest first, in rows padded with -1 and 0.

    Raises:
        ValueError: The loss, the pooling, the similarity or an activation is unknown, a width is more than a vector
            has, or an option is of another type.

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
    known = Prompts({} if prompts is None else prompts, default_prompt, include_prompt)
    if sparse is not None:
        given = {"loss": loss, "pooling": pooling, "normalize": normalize, "dense": [*dense]}
        given |= {"include_prompt": include_prompt, "truncate_dim": truncate_dim, "matryoshka": matryoshka}
        options = check_sparse(sparse, setup, {name: (value, OF_DENSE[name]) for name, value in given.items()})
        return sparse_parts(setup, options, known, similarity or "dot")
    ways, dense = check_pooling(pooling), check_layers(dense)
    check_static(setup.config, ways, include_prompt)
    dim = width_of(dense, setup.config.output_dim * len(ways))
    similarity = "cosine" if similarity is None else similarity
    kept = check_truncation(truncate_dim, dim)
    learned = _learned(setup, loss, dim, matryoshka, known)
    trained, served, states = _embedders(setup, ways, dense, normalize, known)
    answers = EmbeddingAnswers(setup, served, known, kept or dim, similarity, states)
    stored = {"pooling": pooling, "normalize": normalize, "dense": dense, "truncate_dim": kept, **known.saved}
    stored["similarity"] = similarity
    return Parts(
        grouped(trained, "embedding_model"),
        setup.tokenizer,
        answers=answers,
        saved=lambda: {"sentence_transformer": stored},
        saved_tokenizer=padded_tokenizer(setup),
        attributes={"loss": loss, **stored, "embed": answers.embed, "search": answers.search},
        **learned,
    )


KIND = Kind(
    "sentence_embedding",
    sentence_embedding,
    models=("encoder", "decoder"),
    bare_models=("encoder",),
    checks={
        "loss": one_of("loss", LEARNING),
        "pooling": check_pooling,
        "normalize": flag("normalize"),
        "dense": check_layers,
        **OF_PROMPTS,
        "include_prompt": flag("include_prompt"),
        "truncate_dim": check_truncation,
        "similarity": find_similarity,
        "sparse": read_sparse,
        "matryoshka": check_widths,
    },
    new_layers=NEW_LAYERS,
    takes_pairs=True,
    takes_weights=True,
)


def _learned(setup: Setup, loss: str, dim: int, matryoshka: Any, prompts: Prompts) -> dict[str, Any]:
    """Return the fields of `Parts` that depend on the loss, for vectors of `dim` numbers."""
    learning, has_scores = LEARNING[loss], loss == "cosine"
    widths = None if matryoshka is None else check_widths(matryoshka, dim)
    return {
        "source": _source(setup, learning.sizes, label_reader(loss, dim), prompts),
        "objective": lambda: Grouped(setup.config.fill_id),
        "losses": lambda: {"embedding": Matryoshka(learning.loss(), widths) if widths else learning.loss()},
        "metrics": lambda: {"embedding": [learning.metric()]},
        "label_output": "embedding",
        "label_needed": learning.labels,
        "pairs_needed": learning.sizes[0] > 1,
        "scorer": (lambda texts, labels, pairs: Spearman()) if has_scores else None,
        "rows_alone": loss != "ranking",  # whose negatives are the other rows of a batch
        "judged_by": learning.metric().name,
        "report": similarity_report if has_scores else None,
    }


def _embedders(
    setup: Setup, ways: list[str], dense: list[dict[str, Any]], normalize: bool, prompts: Prompts
) -> tuple[keras.Model, keras.Model, keras.Model]:
    """Return three models of the same layers, from inputs of texts (B, T) to `embedding`, float32 (B, D).

    The first one is trained. The second one serves: where prompts are not pooled, `prompt_length` (B,) is one of its
    inputs. The third one has an output `hidden_states` (B, T, D), too.
    """
    make = decoder if setup.config.kind == "decoder" else encoder
    backbone = make(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]  # (B, T, D), (B, T)
    layers = vector_layers(dense)

    def embedder(prompt_length: Any = None) -> keras.Model:
        vectors = pooled(ways, states, mask, prompt_length)  # (B, P * D)
        for layer in layers:
            vectors = layer(vectors)  # (B, units)
        vectors = normalized(vectors) if normalize else vectors
        inputs = dict(backbone.input)
        if prompt_length is not None:
            inputs["prompt_length"] = prompt_length
        return keras.Model(inputs, {"embedding": vectors, **setup.optional_outputs(backbone)}, name="embedder")

    trained = embedder()
    states_too = keras.Model(backbone.input, {"embedding": trained.output["embedding"], "hidden_states": states})
    if prompts.are_pooled:
        return trained, trained, states_too
    return trained, embedder(keras.Input((), dtype="int32", name="prompt_length")), states_too


def _source(setup: Setup, sizes: range, read_labels: Callable, known: Prompts) -> Callable[..., TextGroups]:
    """Return the source of groups of texts, which puts prompts before them."""
    plain = group_source(setup, sizes, read_labels)

    def source(texts: Any, labels: Any, pairs: Any, *, prompts: Sequence[str | None] | None = None) -> TextGroups:
        return plain(texts, labels, pairs, known.of_columns([None] if prompts is None else prompts))

    return source
