"""The answers of sentence embeddings: vectors of texts with prompts, searches, and exports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.vectors.embedding_prompts import DOCUMENT, QUERY, PromptReader, Prompts
from keras_transformers.tasks.vectors.quantized import check_enough, check_precision, quantize
from keras_transformers.tasks.vectors.search import search
from keras_transformers.tasks.vectors.similarities import find_similarity
from keras_transformers.tasks.vectors.vector_options import check_truncation
from keras_transformers.utils.text_checks import check_texts


class EmbeddingAnswers(OnePass):
    """Vectors of texts, by one forward pass.

    Args:
        setup: Setup of the task.
        model: Model from the inputs of texts to `embedding` (B, D); where prompts are not pooled, `prompt_length` (B,)
            is one of the inputs.
        prompts: Prompts of the task.
        dim: The numbers of a vector that are kept.
        similarity: The name of the similarity of two vectors.
        states: Model from the inputs of texts to `embedding`, of all tokens, and `hidden_states` (B, T, D); None for
            answers to texts alone.
    """

    def __init__(
        self,
        setup: Setup,
        model: keras.Model,
        prompts: Prompts,
        dim: int,
        similarity: str = "cosine",
        states: keras.Model | None = None,
    ):
        self.prompts, self.dim, self.similarity = prompts, dim, similarity
        signatures = _signatures(setup, model, prompts, dim, similarity)
        super().__init__(setup, model, signatures, _describe)
        self.states = states
        if states is not None:
            self.from_ids = FromIds(states, setup.config.num_segments, self._named)

    def _named(self, outputs: Tensors) -> Tensors:
        """Return the vectors of tokens and, where they do not depend on a prompt's tokens, of texts."""
        named = {"last_hidden_state": outputs["hidden_states"]}
        return named | ({"sentence_embedding": outputs["embedding"][:, : self.dim]} if self.prompts.are_pooled else {})

    def embed(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_text: str | None = None,
        truncate_dim: int | None = None,
        precision: str = "float32",
        ranges: np.ndarray | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
    ) -> np.ndarray:
        """Return the vectors of texts.

        Args:
            texts: Any number of strings.
            prompt: Name of one of the task's `prompts`, which is put before each text; `default_prompt` when None.
            prompt_text: Instead, a prompt of your own, such as `"query: "`; `""` for none.
            truncate_dim: Numbers of a vector that are kept, from the first; all that the task keeps when None. They are
                not scaled anew, as in sentence-transformers.
            precision: `"float32"`, `"int8"`, `"uint8"`, `"binary"` or `"ubinary"`: see `quantize`.
            ranges: Ranges for 8-bit vectors, (2, D): see `vector_ranges`; when None, the ranges of these texts.
            batch_size, verbose: As for `predict`.

        Returns:
            (N, D) in the precision; (N, D / 8 rounded up) of bits.

        Raises:
            ValueError: There is no such prompt or precision, `truncate_dim` is more than a vector has, or ranges
                are of another width, or missing for a single text.
        """
        dim = check_truncation(truncate_dim, self.dim) or self.dim
        check_precision(precision, ranges, dim)
        texts = check_texts("texts", texts)
        if texts and ranges is None and precision.endswith("int8"):
            check_enough(len(texts))
        before = self.prompts.text_of(prompt, prompt_text)
        found = self._found(texts, before, batch_size=batch_size, verbose=verbose)
        vectors = [answer["embedding"][:dim] for answer in found]
        return quantize(np.stack(vectors) if vectors else np.zeros((0, dim), np.float32), precision, ranges)

    def _found(self, texts: list[str], prompt: str, **options: Any) -> list[dict[str, Any]]:
        """Return the predictions for texts with a prompt before each."""
        if prompt == self.prompts.text_of(None):
            return self.predict(texts, **options)
        if "prompted" in self.signatures:
            return self.ask("prompted", (texts, [prompt] * len(texts)), **options)
        return self.predict([prompt + text for text in texts], **options)

    def search(
        self,
        queries: Any,
        corpus: Any,
        *,
        truncate_dim: int | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
        **options: Any,
    ) -> list[list[dict[str, Any]]]:
        """Find the texts of a collection that are nearest to each query: `tasks.search.search`.

        Texts of queries get the prompt `"query"`, and documents `"document"`, `"passage"` or `"corpus"`, where
        the task has such a prompt.

        Args:
            queries, corpus: Texts, or their vectors.
            truncate_dim: Numbers of a vector that are kept of texts, as for `embed`.
            batch_size, verbose: As for `predict`.
            **options: Options of `tasks.search.search`: `top`, `ranges`, `rescore_multiplier`, and `similarity`, by
                default the similarity of the task.

        Returns:
            For each query a list of dicts: `index`, `score` and, of texts, `text`.
        """
        embed = partial(self.embed, truncate_dim=truncate_dim, verbose=verbose)
        of_query, of_document = (
            partial(embed, prompt_text=text) for text in (self.prompts.query, self.prompts.document)
        )
        options = {"similarity": self.similarity, **options}
        return search(of_query, queries, corpus, batch_size=batch_size, embed_corpus=of_document, **options)

    def export(
        self,
        folder: str | os.PathLike,
        *,
        frozen: bool = False,
        compiled: bool = False,
        compute: str | None = None,
        truncate_dim: int | None = None,
    ) -> None:
        """Write a SavedModel from texts to vectors, for TF Serving; prompts are in it.

        Only core TensorFlow ops are used: neither Keras nor tensorflow-text nor this package is needed to serve it.

        Signatures:
            `serving_default` and others.

        Args:
            folder, frozen, compiled, compute: As for `OnePass.export`.
            truncate_dim: Numbers of a vector that are kept, as for `embed`.

        Raises:
            ValueError: As for `OnePass.export`, or `truncate_dim` is more than a vector has.
        """
        options: dict[str, Any] = {"frozen": frozen, "compiled": compiled, "compute": compute}
        if dim := check_truncation(truncate_dim, self.dim):
            cut = EmbeddingAnswers(self.setup, self.model, self.prompts, dim, self.similarity, self.states)
            return cut.export(folder, **options)
        return super().export(folder, **options)


def _signatures(setup: Setup, model: keras.Model, prompts: Prompts, dim: int, similarity: str) -> dict[str, Signature]:
    pairwise = find_similarity(similarity).pairwise
    served = keras.Model(model.input, model.output["embedding"], name="served_embedder")
    prompted = PromptReader(setup.tokenizer, setup.max_length, counts_tokens="prompt_length" in model.input)

    def embed(encoded: Tensors) -> Tensors:
        vectors = served({name: encoded[name] for name in served.input}, training=False)[:, :dim]  # (B, D)
        return {"embedding": vectors, "truncated": encoded["truncated"]}

    def single(prompt: str) -> Signature:
        def read(reader: Reader, texts: Any) -> Tensors:
            return prompted.same(reader, texts, prompt)

        return Signature(("text",), read, embed)

    def read_both(reader: Reader, texts: Any, pairs: Any) -> tuple[Tensors, Tensors]:
        default = prompts.text_of(None)
        return prompted.same(reader, texts, default), prompted.same(reader, pairs, default)

    def compare(encoded: tuple[Tensors, Tensors]) -> Tensors:
        one, other = map(embed, encoded)
        found = pairwise(one["embedding"], other["embedding"])  # (B,)
        return {"similarity": found, "truncated": one["truncated"] | other["truncated"]}

    signatures = {
        "serving_default": single(prompts.text_of(None)),
        "similarity": Signature(("text", "text_pair"), read_both, compare),
    }
    if prompts.has(QUERY):
        signatures["query"] = single(prompts.query)
    if prompts.has(DOCUMENT):
        signatures["document"] = single(prompts.document)
    if prompts.texts or not prompts.are_pooled:
        signatures["prompted"] = Signature(("text", "prompt"), prompted.each, embed)
    return signatures


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value) if name == "similarity" else value for name, value in row.items() if name != "truncated"}
