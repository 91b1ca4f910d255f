"""Language modelling from left to right: train on texts, or on inputs and targets; generate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_transformers.data.batching import BUCKETS
from keras_transformers.data.next_token import NextToken
from keras_transformers.data.packing import next_token_source
from keras_transformers.data.rows import Ragged
from keras_transformers.data.token_stream import TokenStream
from keras_transformers.generation.spelling import spell
from keras_transformers.models import decoder
from keras_transformers.tasks.generating import GeneratingTask
from keras_transformers.training import losses
from keras_transformers.training.distribute import on_tensorflow


class CausalLMTask(GeneratingTask):
    """Guess the next token.

    Papers: GPT, Radford et al. 2018; GPT-2, Radford et al. 2019.

    Args:
        config, tokenizer, max_length, outputs, dtype, generation: As for `GeneratingTask`.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], 280, model="byte_pair")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> task = CausalLMTask(gpt2(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id]), tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> len(task.generate(["a fine", "a"], max_new_tokens=5, temperature=0.7, num_sequences=2)[0])
    2
    """

    name = "causal_lm"
    kinds = ("decoder",)

    def _backbone(self) -> keras.Model:
        return decoder(self.config, outputs=self.outputs, dtype=self.dtype)

    def _objective(self) -> NextToken:
        return NextToken(self.config.vocabulary_size, self.config.pad_id)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {"logits": losses.CrossEntropy()}

    def dataset(
        self,
        texts: Any,
        labels: Sequence[str] | None = None,
        *,
        packing: str | None = "documents",
        batch_size: int = 32,
        buffer_size: int = 1024,
        **settings: Any,
    ) -> Any:
        """What `task.model.fit` takes.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of strings, or of (text, label), for corpora larger than
                memory, tokenised on the fly.
            labels: What the model is to write after each text (completion); only this is a target then.
            packing: `"documents"`: rows of `max_length` tokens that hold several texts, which do not see each other;
                `"blocks"`: all texts in one, cut into rows, as in pre-training; None: one text a row.
            batch_size: Rows, over all replicas.
            buffer_size: Rows that a stream keeps in memory.
            **settings: As for `Task.dataset`.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are no texts, texts and labels are not as many, there are labels beside a
                `tf.data.Dataset`, or the packing is unknown.
        """
        options = {"packing": packing, "end_id": next(iter(self.config.eos_ids), None)}
        if self._is_stream(texts, labels):
            tokenize = self.text_graph.tokenize
            source = TokenStream(texts, tokenize, self.max_length, buffer_size=buffer_size, **options)
        else:
            targets = None if labels is None else self._ids(labels, special_tokens=False)
            source = next_token_source(self._ids(texts), self.max_length, targets=targets, **options)
        return self._batches(source, batch_size, **({"buckets": () if packing else BUCKETS} | settings))

    def _ids(self, texts: Sequence[str], special_tokens: bool = True) -> Ragged:
        return Ragged.of([row.ids for row in self.tokenizer.encode(texts, special_tokens=special_tokens)])

    def _make_service(self) -> Any:
        if not on_tensorflow():
            from keras_transformers.generation.bucketed import BucketedService

            return BucketedService(self.config, self.model, self.tokenizer, self.max_length, self._forced)
        from keras_transformers.generation.service import GenerationService

        spelling = spell(self.tokenizer, self.config, begins=False)
        return GenerationService(self.config, self.model, self.text_graph, spelling, self.max_length, self._forced)
