"""Texts to other texts by an encoder and a decoder: translation, summaries, questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.checkpoints.names import stored_as
from keras_transformers.config import TransformerConfig
from keras_transformers.data.rows import Ragged
from keras_transformers.data.translation import Translation, Translations, encode_translations, tell
from keras_transformers.generation.prompt import start_id
from keras_transformers.generation.spelling import spell
from keras_transformers.models import encoder_decoder
from keras_transformers.models.decoder import prefill
from keras_transformers.tasks.generating import GeneratingTask
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer, check_texts
from keras_transformers.training import losses
from keras_transformers.training.distribute import on_tensorflow


class Alignment(NamedTuple):
    """How much each token of a target attends to each token of its source.

    Args:
        source_tokens, target_tokens: S and T pairs (begin, end) of characters in the texts; (0, 0) for special tokens.
        scores: float (T, S); the rows add up to 1.
    """

    source_tokens: list[tuple[int, int]]
    target_tokens: list[tuple[int, int]]
    scores: np.ndarray


class Pair(NamedTuple):
    """Two tokenizers that are saved together."""

    source: Tokenizer
    target: Tokenizer

    def save(self, folder: str, max_length: int | None = None) -> None:
        Tokenizer.save_pair(folder, *self, max_length)


class Seq2SeqLMTask(GeneratingTask):
    """Write a text that belongs to another one, its translation for instance.

    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; T5, https://arxiv.org/abs/1910.10683.

    Args:
        config, tokenizer, max_length, outputs, dtype, generation: As for `GeneratingTask`; an end token is put behind
            the tokenizer's texts if it does not do so itself.
        target_tokenizer: Of the texts that are written; `tokenizer` when None.
        label_smoothing: Of the loss.

    Raises:
        ValueError: As for `Task`; or the model has no token that ends texts.

    Example:

    >>> from keras_transformers.families import transformer
    >>> english, german = ["the cat danced", "the cat sat"], ["die Katze tanzte", "die Katze sass"]
    >>> tokenizer = Tokenizer.train(english + german, 60, model="unigram")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> config = transformer(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id], decoder_start_id=0)
    >>> task = Seq2SeqLMTask(config, tokenizer)
    >>> history = task.fit(english, german, epochs=1, verbose=0)
    >>> len(task.generate(["the cat"], max_new_tokens=5, num_beams=2))
    1
    """

    name = "seq2seq_lm"
    kinds = ("encoder_decoder",)
    labelled = True
    from_checkpoint = ("generation", "target_tokenizer")
    _has_source = True

    def __init__(
        self,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        target_tokenizer: Tokenizer | None = None,
        label_smoothing: float = 0.1,
        **options: Any,
    ):
        if not config.eos_ids:
            raise ValueError("the model has no token that ends texts: give config.eos_ids one.")
        tokenizer, target_tokenizer = _ending(config, tokenizer, target_tokenizer or tokenizer)
        if target_tokenizer.vocabulary_size > config.vocabulary_size:
            raise ValueError(
                f"the target's tokenizer has {target_tokenizer.vocabulary_size} tokens, the decoder "
                f"{config.vocabulary_size}: they do not belong together."
            )
        self.target_tokenizer = target_tokenizer
        self.label_smoothing = label_smoothing
        super().__init__(config, tokenizer, **options)

    def _backbone(self) -> keras.Model:
        return encoder_decoder(self.config, outputs=self.outputs, dtype=self.dtype)

    def _objective(self) -> Translation:
        config = self.config
        return Translation(
            config.vocabulary_size,
            start_id(config),
            config.pad_id,
            config.eos_ids,
            config.encoder_vocabulary_size,
        )

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {"logits": losses.CrossEntropy(label_smoothing=self.label_smoothing)}

    @property
    def _new_tokens(self) -> int:
        return self.max_length - 1

    def dataset(
        self,
        texts: Any,
        labels: Sequence[str] | None = None,
        *,
        batch_size: int | None = 32,
        batch_tokens: int | None = None,
        buffer_size: int = 16384,
        **settings: Any,
    ) -> Any:
        """What `task.model.fit` takes.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of (text, target), for corpora larger than memory,
                tokenised on the fly.
            labels: The target of each text.
            batch_size: Rows, over all replicas.
            batch_tokens: Instead, rows times their padded length at most; texts of like length stand together.
            buffer_size: Pairs that a stream keeps in memory.
            **settings: As for `Task.dataset`.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are no pairs, not as many targets as texts, or targets beside a `tf.data.Dataset`.
        """
        source = self._source(texts, labels, None, buffer_size)
        return self._batches(source, batch_size, batch_tokens, **settings)

    def _source(self, texts: Any, labels: Any, pairs: None, buffer_size: int) -> Any:
        if not self._is_stream(texts, labels):
            self._check_labelled(texts, labels)
            return encode_translations(texts, labels, self.tokenizer, self.target_tokenizer, self.max_length)
        from keras_transformers.data.translation_stream import TranslationStream

        graphs = (self.text_graph, self.target_graph)
        encoders = (partial(graph.encode, max_length=self.max_length) for graph in graphs)
        return TranslationStream(texts, *encoders, self.max_length, buffer_size)

    @cached_property
    def target_graph(self) -> Any:
        """The tokenizer of targets as TensorFlow ops."""
        if self.target_tokenizer is self.tokenizer:
            return self.text_graph
        from keras_transformers.text.graph.compile import compile_text

        return compile_text(self.target_tokenizer.to_json(), self.config.pad_id)

    def _make_service(self) -> Any:
        if not on_tensorflow():
            from keras_transformers.generation.bucketed_seq2seq import BucketedSeq2SeqService

            tokenizers = (self.tokenizer, self.target_tokenizer)
            return BucketedSeq2SeqService(self.config, self.model, *tokenizers, self.max_length, self._forced)
        from keras_transformers.generation.seq2seq import Seq2SeqService

        spelling = spell(self.target_tokenizer, self.config, begins=True)
        return Seq2SeqService(self.config, self.model, self.text_graph, spelling, self.max_length, self._forced)

    def align(self, texts: Sequence[str], targets: Sequence[str], layer: int = -1) -> list[Alignment]:
        """Which tokens of a source each token of a target attends to: the mean over the heads of a block.

        Args:
            texts: Sources.
            targets: What was written, or any other target, of each.
            layer: Which block of the decoder.

        Returns:
            An `Alignment` for each text.

        Raises:
            ValueError: There are not as many targets as texts.
        """
        texts, targets = check_texts("texts", texts), check_texts("targets", targets)
        if not texts:
            return []
        tokenizers = (self.tokenizer, self.target_tokenizer)
        encoded = [
            tokenizer.encode(side, max_length=self.max_length)
            for tokenizer, side in zip(tokenizers, (texts, targets), strict=True)
        ]
        none = np.zeros(len(texts), bool)
        tell(none, [np.array([row.truncated for row in side]) for side in encoded], self.max_length)
        pairs = Translations(*(Ragged.of([row.ids for row in side]) for side in encoded))
        width = (int(pairs.sources.lengths.max()), int(pairs.targets.lengths.max()))
        inputs, _ = self._objective()(pairs, width)
        scores = prefill(self.model, ["cross_attention_scores"])(inputs)["cross_attention_scores"]
        scores = keras.ops.convert_to_numpy(scores)[:, layer].mean(1)
        return [
            Alignment(source.offsets, target.offsets, row[: len(target.ids), : len(source.ids)])
            for source, target, row in zip(*encoded, scores, strict=True)
        ]

    def _saved_tokenizer(self) -> Any:
        stored, _ = stored_as(self.config, "")
        if self.target_tokenizer is self.tokenizer and stored.family != "marian":
            return self.tokenizer
        return Pair(self.tokenizer, self.target_tokenizer)  # Marian has files of both sides even where they are equal


def _ending(config: TransformerConfig, *tokenizers: Tokenizer) -> list[Tokenizer]:
    """The tokenizers with an end token behind their texts; the very same ones where they put one there already."""
    ending = {}
    for tokenizer in tokenizers:
        has_end = tokenizer.encode([""])[0].ids[-1:] == [config.eos_ids[0]]
        ending[id(tokenizer)] = tokenizer if has_end else with_end_token(tokenizer, config.eos_ids[0])
    return [ending[id(tokenizer)] for tokenizer in tokenizers]
