"""The parts of a task of sentence embeddings with sparse vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import keras

from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.settings.sparse_encoder import ACTIVATIONS, POOLINGS
from keras_transformers.data.objectives.text_groups import Grouped
from keras_transformers.heads.masked_lm_head import token_logits
from keras_transformers.heads.token_weights import token_weights
from keras_transformers.models import encoder
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.vectors.embedding_prompts import Prompts
from keras_transformers.tasks.vectors.similarities import find_similarity
from keras_transformers.tasks.vectors.sparse_answers import SparseAnswers
from keras_transformers.training.losses import embedding_losses
from keras_transformers.training.metrics import embedding_metrics
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

HEAD_OF = "masked_lm"  # the task whose head gives the logits
DEFAULTS = {"pooling": POOLINGS[0], "activation": ACTIVATIONS[0], "max_tokens": None}


def read_sparse(sparse: Any) -> dict[str, Any]:
    """Return the options of sparse vectors with all keys; raise a `ValueError` for unknown ones, or other values."""
    expected = (
        f'sparse must be a dict of "pooling", one of {POOLINGS}, and optionally "activation", one of {ACTIVATIONS}, '
        'and "max_tokens", a number above 0, or None'
    )
    if not isinstance(sparse, Mapping) or not sparse or not {*sparse} <= {*DEFAULTS}:
        raise ValueError(f"{expected}: received {shown(sparse)}.")
    found = {**DEFAULTS, **sparse}
    are_known = found["pooling"] in [*POOLINGS] and found["activation"] in [*ACTIVATIONS]
    if not are_known or not (found["max_tokens"] is None or is_size(found["max_tokens"])):
        raise ValueError(f"{expected}: received {shown(sparse)}.")
    return found


def check_sparse(sparse: Any, setup: Setup, others: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Return the options of sparse vectors with all keys.

    Args:
        sparse: Options as given by the user.
        setup: Setup of the task.
        others: Options of dense vectors by name: as given, and the default.

    Raises:
        ValueError: An option is unknown or has another value than those that are known, the model is no encoder, or
            options of dense vectors are given.
    """
    found = read_sparse(sparse)
    if setup.config.kind != "encoder" or setup.config.mixer == "none":
        raise ValueError(
            f"sparse vectors are made by the head of a masked language model: received a {setup.config.kind} of family "
            f"{setup.config.family!r}, which has none. Leave sparse out, or load an encoder."
        )
    if given := sorted(name for name, (value, default) in others.items() if value != default):
        raise ValueError(f"{', '.join(given)}: for dense vectors only, but sparse is given. Leave one of them out.")
    return found


def sparse_parts(setup: Setup, sparse: Mapping[str, Any], prompts: Prompts, similarity: str = "dot") -> Parts:
    """Return the parts of a task that makes sparse vectors, and does not learn them.

    Args:
        setup: Setup of the task.
        sparse: As `check_sparse` returns it.
        prompts: Prompts of the task.
        similarity: The name of the similarity of two vectors.
    """
    find_similarity(similarity)
    model, logits = sparse_embedder(setup, sparse)
    answers = SparseAnswers(setup, model, prompts, sparse["max_tokens"], similarity)
    answers.from_ids = FromIds(logits, setup.config.num_segments)  # sentence-transformers makes weights of them
    of_prompts = {"prompts": {**prompts.texts}, "default_prompt": prompts.default}
    stored = {"sparse": dict(sparse), "similarity": similarity, **of_prompts}
    return Parts(
        model,
        setup.tokenizer,
        source=refuse_to_learn,
        objective=lambda: Grouped(setup.config.fill_id),
        losses=lambda: {"embedding": embedding_losses.MultipleNegativesRanking()},
        metrics=lambda: {"embedding": [embedding_metrics.RankingAccuracy()]},
        answers=answers,
        label_output="embedding",
        saved=lambda: saved_options(setup, stored),
        judged_by="accuracy",
        attributes={**stored, "embed": answers.embed, "search": answers.search},
    )


def sparse_embedder(setup: Setup, sparse: Mapping[str, Any]) -> tuple[keras.Model, keras.Model]:
    """Return a model from inputs of texts (B, T) to `embedding`, weights of all tokens of the vocabulary, (B, V).

    The second model has the same layers, up to the `logits` (B, T, V) that the weights are made of.
    """
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]
    logits = token_logits(setup.config, backbone.get_layer("token_embedding"), states, setup.dtype)  # (B, T, V)
    vectors = token_weights(logits, mask, sparse["pooling"], sparse["activation"])
    outputs = {"embedding": vectors, **setup.optional_outputs(backbone)}
    embedder = keras.Model(backbone.input, outputs, name="embedder")
    return embedder, keras.Model(backbone.input, {"logits": logits}, name="token_logits")


def refuse_to_learn(texts: Any, labels: Any, pairs: Any, *, prompts: Any = None) -> NoReturn:
    """Refuse to learn sparse vectors, and to measure them by a loss; the source of such a task."""
    raise ValueError(
        "sparse vectors are neither learned nor evaluated here: without a loss that keeps them sparse they would "
        "become dense. Train with the SpladeLoss of sentence-transformers on the folder that task.save writes, and "
        "load what it saves; measure what task.search finds."
    )


def saved_options(setup: Setup, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `save_folder` that write a sparse encoder, as sentence-transformers has it.

    Args:
        setup: Setup of the task.
        stored: `sparse`, `similarity`, `prompts` and `default_prompt`.
    """
    modules = {"pooling": None, "normalize": False, **stored}
    return {"architecture": architecture_of(HEAD_OF, setup.config.family), "sentence_transformer": modules}
