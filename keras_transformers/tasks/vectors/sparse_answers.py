"""The answers of sentence embeddings with sparse vectors: tokens and their weights, searches, and exports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.heads.token_weights import largest
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.vectors.embedding_answers import EmbeddingAnswers
from keras_transformers.tasks.vectors.embedding_prompts import Prompts
from keras_transformers.tasks.vectors.search import check_search, hits
from keras_transformers.tasks.vectors.sparse_vectors import SparseVectors, as_sparse, nearest
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.text_checks import check_texts


class SparseAnswers(EmbeddingAnswers):
    """Sparse vectors of texts, by one forward pass.

    Args:
        setup: Setup of the task.
        model: Model from the inputs of texts to `embedding`, weights of all tokens (B, V).
        prompts: Prompts of the task.
        max_tokens: The most tokens of a vector; None for all with a weight.
        similarity: The name of the similarity of two vectors.
    """

    def __init__(
        self, setup: Setup, model: keras.Model, prompts: Prompts, max_tokens: int | None = None, similarity: str = "dot"
    ):
        vectors = model.output["embedding"]
        kept = keras.Model(model.input, {"embedding": largest(vectors, max_tokens)}, name="sparse_embedder")
        super().__init__(setup, kept, prompts, vectors.shape[-1], similarity)
        self.describe = self._describe
        for name, signature in self.signatures.items():
            if name != "similarity":
                self.signatures[name] = signature._replace(write=written)

    def embed(  # type: ignore[override]  # sparse vectors have options of their own
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_text: str | None = None,
        max_tokens: int | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
    ) -> SparseVectors:
        """Return the sparse vectors of texts.

        Args:
            texts: Any number of strings.
            prompt: Name of one of the task's `prompts`, which is put before each text; `default_prompt` when None.
            prompt_text: Instead, a prompt of your own, such as `"query: "`; `""` for none.
            max_tokens: The most tokens of a vector, those with the largest weights; all that the task keeps when None.
            batch_size, verbose: As for `predict`.

        Returns:
            `SparseVectors` (N, V): ids of tokens and weights as compressed sparse rows, the largest of a text first.

        Raises:
            ValueError: There is no such prompt, or `max_tokens` is below 1.
        """
        kept = None if max_tokens is None else check_counts(max_tokens=max_tokens)[0]
        texts, before = check_texts("texts", texts), self.prompts.text_of(prompt, prompt_text)
        found = self._found(texts, before, batch_size=batch_size, verbose=verbose)
        return SparseVectors.of_rows(((row["token_ids"][:kept], row["weights"][:kept]) for row in found), self.dim)

    def search(  # type: ignore[override]
        self,
        queries: Any,
        corpus: Any,
        *,
        top: int = 10,
        similarity: str | None = None,
        max_tokens: int | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
    ) -> list[list[dict[str, Any]]]:
        """Find the texts of a collection that are nearest to each query, by their sparse vectors.

        Texts of queries get the prompt `"query"`, and documents `"document"`, `"passage"` or `"corpus"`, where
        the task has such a prompt.

        Args:
            queries, corpus: Texts; or their vectors from `embed`, or as a matrix of scipy in its format "csr".
            top: The most texts for a query.
            similarity: `"dot"`, `"cosine"`, `"euclidean"` or `"manhattan"`; that of the task when None.
            max_tokens: The most tokens of the vectors of texts, as for `embed`.
            batch_size, verbose: As for `predict`.

        Returns:
            For each query a list of dicts, the nearest first, equally near ones in the order of the corpus: `index` in
            the corpus, `score` (the similarity) and, of texts, `text`.

        Raises:
            ValueError: The corpus is empty, `top` is below 1, there is no such similarity, or vectors are not sparse,
                not finite or of another width.
        """
        similarity = self.similarity if similarity is None else similarity
        given = {"corpus": _texts_or_vectors("corpus", corpus), "queries": _texts_or_vectors("queries", queries)}
        top, _ = check_search(given["corpus"], top, similarity)
        prompts = {"corpus": self.prompts.document, "queries": self.prompts.query}
        vectors = {}
        for name, rows in given.items():
            if not isinstance(rows, SparseVectors):
                options = {"max_tokens": max_tokens, "batch_size": batch_size, "verbose": verbose}
                rows = self.embed(rows, prompt_text=prompts[name], **options)
            if (width := rows.shape[1]) != self.dim:
                raise ValueError(f"{name} has vectors of {width} numbers, the model of {self.dim}: use one model.")
            vectors[name] = rows
        texts = given["corpus"] if isinstance(given["corpus"], list) else []
        return hits(nearest(vectors["queries"], vectors["corpus"], top, similarity), texts)

    def export(  # type: ignore[override]
        self, folder: str | os.PathLike, *, frozen: bool = False, compiled: bool = False, compute: str | None = None
    ) -> None:
        """Write a SavedModel from texts to ids and weights of tokens, for TF Serving; prompts are in it.

        Only core TensorFlow ops are used: neither Keras nor tensorflow-text nor this package is needed to serve it.

        Signatures:
            `serving_default` and others.

        Args:
            folder, frozen, compiled, compute: As for `OnePass.export`.

        Raises:
            ValueError: As for `OnePass.export`.
        """
        return super().export(folder, frozen=frozen, compiled=compiled, compute=compute)

    def _describe(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if "similarity" in row:
            return {"similarity": float(row["similarity"])}
        count = int((row["token_ids"] >= 0).sum())
        ids, weights = row["token_ids"][:count], row["weights"][:count]
        return {"tokens": [self._vocabulary[number] for number in ids], "weights": weights, "token_ids": ids}

    @cached_property
    def _vocabulary(self) -> list[str]:
        """Return the token of each number of a vector; `""` where a model has more of them than the tokenizer."""
        tokenizer = self.setup.tokenizer
        known = min(tokenizer.vocabulary_size, self.dim)
        return [tokenizer.id_to_token(number) for number in range(known)] + [""] * (self.dim - known)


def written(found: Tensors, *columns: Any) -> Tensors:
    """Return the ids and weights of the tokens of texts, the largest first, in place of vectors (B, V).

    Returns:
        `token_ids` int32 (B, K) and `weights` float32 (B, K), where K is the number of tokens of the text with the most
        of them; a row with fewer is padded with -1 and 0.
    """
    found = dict(found)
    vectors = found.pop("embedding")  # (B, V)
    if on_tensorflow():
        most = ops.max(ops.sum(ops.cast(vectors > 0, "int32"), axis=1), initial=0)
        weights, ids = ops.top_k(vectors, most)  # (B, K) each
        ids = ops.where(weights > 0, ops.cast(ids, "int32"), -1)
    else:
        most = (vectors > 0).sum(axis=1).max(initial=0)
        ids = np.argsort(-vectors, axis=1, kind="stable")[:, :most].astype(np.int32)
        weights = np.take_along_axis(vectors, ids, axis=1)
        ids = np.where(weights > 0, ids, -1)
    return {"token_ids": ids, "weights": weights, **found}


def _texts_or_vectors(name: str, given: Any) -> list[str] | SparseVectors:
    """Return a list of texts, or sparse vectors; refuse dense ones, which a sparse vector is not compared with."""
    sparse = as_sparse(name, given)
    if sparse is None and isinstance(given, np.ndarray) and given.dtype.kind not in "OUT":
        raise ValueError(
            f"{name}: expected texts, or sparse vectors as task.embed gives them: received an array of "
            f"{given.dtype}, {given.shape}."
        )
    return check_texts(name, given) if sparse is None else sparse
