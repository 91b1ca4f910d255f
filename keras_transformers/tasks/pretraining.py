"""BERT's pre-training: masked language model and next sentence at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras

from keras_transformers.data.documents import Documents, read_documents
from keras_transformers.data.pretraining import Pretraining, SentencePairs
from keras_transformers.heads import next_sentence_head, pooler
from keras_transformers.tasks.masked_lm import MaskedLMTask
from keras_transformers.training import losses, metrics


class PretrainingTask(MaskedLMTask):
    """Masked LM and next-sentence prediction over documents.

    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config, tokenizer, max_length, outputs, dtype, whole_word: As for `MaskedLMTask`.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> documents = [["It rained.", "We stayed in.", "We read."], ["He slept.", "He woke.", "He rose."]]
    >>> tokenizer = Tokenizer.train(sum(documents, []), vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = PretrainingTask(config, tokenizer)
    >>> sorted(task.evaluate(documents))[:2]
    ['masked_lm_logits_accuracy', 'masked_lm_logits_perplexity']
    """

    name = "pretraining"
    new_layers = ("pooler", "masked_lm_dense", "masked_lm_norm", "masked_lm_bias", "next_sentence")
    logits = "masked_lm_logits"

    def _build(self) -> keras.Model:
        backbone, inputs, logits = self._masked_lm()
        pooled = pooler(self.config, backbone.output["hidden_states"], self.dtype)
        next_sentence = next_sentence_head(self.config, pooled, self.dtype)
        outputs = {self.logits: logits, "next_sentence_logits": next_sentence, **self._extra(backbone)}
        return keras.Model(inputs, outputs, name="pretraining_model")

    def _objective(self) -> Pretraining:
        return Pretraining(self.tokenizer, whole_word=self.whole_word)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {self.logits: losses.CrossEntropy(), "next_sentence_logits": losses.CrossEntropy()}

    def _metrics(self) -> dict[str, list]:
        return {**super()._metrics(), "next_sentence_logits": [metrics.Accuracy()]}

    def dataset(
        self,
        texts: str | os.PathLike | Iterable[list[str]],
        labels: None = None,
        *,
        pairs: None = None,
        batch_size: int = 32,
        short_probability: float = 0.1,
        **settings: Any,
    ) -> Any:
        """What `task.model.fit` takes: sentence pairs, drawn and masked anew in each epoch.

        Args:
            texts: Documents, each a list of sentences; or a text file with a paragraph a line, in which blank lines and
                titles (`= Title =`) part documents.
            labels, pairs: None; both come from the documents.
            batch_size: Rows, over all replicas.
            short_probability: Part of the pairs that aim at a random length shorter than `max_length`.
            **settings: As for `Task.dataset`.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are fewer than two documents, they are not lists of sentences, or labels are given.
        """
        if labels is not None or pairs is not None:
            raise ValueError("pre-training draws pairs and labels from the documents: leave labels and pairs out.")
        if isinstance(texts, (str, os.PathLike)):
            if not Path(texts).is_file():
                raise ValueError(f"there is no text file {texts}.")
            texts = read_documents(texts)
        if hasattr(texts, "element_spec"):
            raise ValueError("pre-training draws pairs from documents in memory: received a tf.data.Dataset.")
        documents = Documents.encode(texts, self.tokenizer)
        pairs = SentencePairs(documents, self.tokenizer, self.max_length, short_probability)
        return self._batches(pairs, batch_size, **settings)
