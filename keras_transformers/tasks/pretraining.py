"""BERT's pre-training: masked language modelling and next-sentence prediction at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import keras

from keras_transformers.data.objectives.sentence_pairs import Pretraining, SentencePairs
from keras_transformers.data.sources.documents import Documents, read_documents
from keras_transformers.heads import next_sentence_head, of_pooled
from keras_transformers.tasks.contract.from_ids import Tensors
from keras_transformers.tasks.contract.kind import Kind, flag
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.masked_lm import HEAD, gap_fills, masked_model
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics

MASKED_LM, NEXT_SENTENCE = "masked_lm_logits", "next_sentence_logits"


def pretraining(setup: Setup, *, whole_word: bool = False) -> Parts:
    """Build BERT's pre-training: masked language modelling and next-sentence prediction over documents.

    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        setup: Settings common to all tasks.
        whole_word: Whether all pieces of a word are hidden together.

    Predicts:
        One dict a text:

        - `fills` (list): for each `[MASK]` in the text, in order, a list of the five likeliest tokens as (token,
          probability).
        - `truncated` (bool): whether the text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text`, (B,) strings. If the text with the most `[MASK]` has M of them, it returns:

        - `tokens` (B, M, 5) string and `probabilities` (B, M, 5) float32, the likeliest first; `""` and 0 where a text
          has fewer `[MASK]`.
        - `truncated` (B,) bool.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> documents = [["It rained.", "We stayed in.", "We read."], ["He slept.", "He woke.", "He rose."]]
    >>> tokenizer = Tokenizer.train(sum(documents, []), vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("pretraining", config, tokenizer)
    >>> sorted(task.evaluate(documents))[:2]
    ['masked_lm_logits_accuracy', 'masked_lm_logits_perplexity']
    """
    backbone, inputs, logits = masked_model(setup)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]  # (B, T, D), (B, T)
    head = partial(next_sentence_head, setup.config, dtype=setup.dtype)
    next_sentence = of_pooled(setup.config, states, mask, head, setup.dtype)  # (B, 2)
    outputs = {MASKED_LM: logits, NEXT_SENTENCE: next_sentence, **setup.optional_outputs(backbone)}
    model = keras.Model(inputs, outputs, name="pretraining_model")
    return Parts(
        model,
        setup.tokenizer,
        source=_document_source(setup),
        objective=lambda: Pretraining(setup.tokenizer, whole_word=whole_word),
        losses=lambda: {MASKED_LM: target_losses.CrossEntropy(), NEXT_SENTENCE: target_losses.CrossEntropy()},
        metrics=lambda: {
            MASKED_LM: [target_metrics.Accuracy(), target_metrics.Perplexity()],
            NEXT_SENTENCE: [target_metrics.Accuracy()],
        },
        answers=gap_fills(setup, model, MASKED_LM, _named),
        rows_alone=False,  # masks are drawn for a batch
        label_output=MASKED_LM,
    )


def _named(outputs: Tensors) -> Tensors:
    """Return the logits by the names of `transformers`."""
    return {"prediction_logits": outputs[MASKED_LM], "seq_relationship_logits": outputs[NEXT_SENTENCE]}


KIND = Kind(
    "pretraining",
    pretraining,
    models=("encoder",),
    checks={"whole_word": flag("whole_word")},
    new_layers=("pooler", *HEAD, "next_sentence"),
    joins_texts=True,
    takes_documents=True,
)


def _document_source(setup: Setup) -> Callable[..., SentencePairs]:
    def source(
        texts: str | os.PathLike | Iterable[list[str]], labels: Any, pairs: Any, *, short_probability: float = 0.1
    ) -> SentencePairs:
        """Return sentence pairs, drawn again in each epoch.

        Args:
            texts: Documents, each a list of sentences; or a text file with one paragraph a line, in which blank lines
                and titles (`= Title =`) separate documents.
            labels, pairs: None; both come from the documents.
            short_probability: Share of the pairs that aim at a random length shorter than `max_length`.
        """
        if labels is not None or pairs is not None:
            raise ValueError("pre-training draws pairs and labels from the documents: leave labels and pairs out.")
        if isinstance(texts, (str, os.PathLike)):
            if not Path(texts).is_file():
                raise ValueError(f"there is no text file {texts}.")
            texts = read_documents(Path(texts))
        if hasattr(texts, "element_spec"):
            raise ValueError("pre-training draws pairs from documents in memory: received a tf.data.Dataset.")
        documents = Documents.encode(texts, setup.tokenizer)
        types = setup.tokenizer.has_types
        return SentencePairs(documents, setup.tokenizer, setup.max_length, short_probability, has_types=types)

    return source
