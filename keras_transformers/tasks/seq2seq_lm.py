"""Sequence-to-sequence language modelling by an encoder and a decoder: translation, summaries, and more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from keras_transformers.checkpoints.settings.generation_config import check_settings
from keras_transformers.checkpoints.settings.names import stored_as
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.protocols import Source
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.data.objectives.span_corruption import SpanCorruption
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.data.sources.translations import Translations, encode_translations, warn_of_changes
from keras_transformers.generation.prompts import decoder_start_id
from keras_transformers.models import encoder_decoder
from keras_transformers.models.decoder import prefill
from keras_transformers.tasks.answers.written_answers import Writing
from keras_transformers.tasks.answers.written_model import language_model, language_model_metrics
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.sources import check_labelled, is_stream
from keras_transformers.tasks.inputs.token_files import span_corruption
from keras_transformers.text.end_token import is_bare, with_end_token
from keras_transformers.text.tokenizer import Tokenizer, check_texts
from keras_transformers.training.losses import target_losses
from keras_transformers.utils.number_checks import is_finite
from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    from keras_transformers.text.graph.compile import TextGraph


def seq2seq_lm(
    setup: Setup,
    *,
    target_tokenizer: Tokenizer | None = None,
    label_smoothing: float = 0.1,
    generation: Mapping[str, Any] | None = None,
) -> Parts:
    """Build a sequence-to-sequence model: it learns to write a target text for a source text, such as its translation.

    Texts get an end token if their tokenizer does not add one itself; sources get none if their tokenizer, another one
    than the target's, has a template without it.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; T5, https://arxiv.org/abs/1910.10683.

    Args:
        setup: Settings common to all tasks.
        target_tokenizer: Tokenizer of the targets; if None, the tokenizer of the sources.
        label_smoothing: Label smoothing of the loss.
        generation: As for `Writing`.

    Predicts:
        One dict a text, the source:

        - `generated_text` (str): the target that the model writes.
        - `score` (float): the sum of the log-probabilities of its tokens; with beams, after the penalties and divided
          by length ** `length_penalty`.
        - `num_tokens` (int): its new tokens.
        - `truncated` (bool): whether the source was too long and lost its end, or its beginning if the
          tokenizer cuts on the left.
        - `error` (str): why the text was not answered; empty if it was.

        With `num_sequences` > 1 the first three are lists.

    Exports:
        `serving_default` takes `text`, (B,) strings. `generate` also takes each sampling parameter, such as
        `temperature`, (B,), and `stop`, (B, n) strings, padded with empty ones. Both return:

        - `generated_text` (string), `score` (float32), `num_tokens` (int32): (B,); (B, N) if N = `num_sequences` > 1.
        - `truncated` (bool), `error` (string): (B,).

        `choose` takes `text` and `choices`, (B, n) strings, padded with empty ones, and returns the same: each text is
        one of its row's choices. Models without an end token have no such signature.
        `score` takes `text`, sources, and `continuation`, their targets, (B,) strings. It returns what the method
        `score` does:

        - `log_probability`, `perplexity`, `end_log_probability`, `perplexity_with_end` (float32), NaN where there is
          none, `num_tokens` (int32), `truncated` (bool), `error` (string): (B,).
        - `token_ids` (int32), `token_log_probabilities` (float32): (B, T), the T scored tokens, padded with -1 and 0.

    Raises:
        ValueError: The model has no token that ends texts, or the target's tokenizer has more tokens than the decoder.

    Example:

    >>> from keras_transformers.families import transformer
    >>> from keras_transformers.tasks import Task
    >>> english, german = ["the cat danced", "the cat sat"], ["die Katze tanzte", "die Katze sass"]
    >>> tokenizer = Tokenizer.train(english + german, 60, model="unigram")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> config = transformer(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id], decoder_start_id=0)
    >>> task = Task("seq2seq_lm", config, tokenizer)
    >>> history = task.fit(english, german, epochs=1, verbose=0)
    >>> len(task.generate(["the cat"], max_new_tokens=5, num_beams=2))
    1
    """
    config = setup.config
    if not config.eos_ids:
        raise ValueError("the model has no token that ends texts: give config.eos_ids one.")
    target = target_tokenizer or setup.tokenizer
    if target.vocabulary_size > config.vocabulary_size:
        raise ValueError(
            f"the target's tokenizer has {target.vocabulary_size} tokens, the decoder {config.vocabulary_size}: they "
            "do not belong together."
        )
    source, target = _ending(config, setup.tokenizer, target)
    setup = setup.with_tokenizer(source)
    sides = Sides(setup, target)
    model = language_model(setup, encoder_decoder(config, outputs=setup.outputs, dtype=setup.dtype))
    writing = Writing(setup, model, target, setup.max_length - 1, generation)
    return Parts(
        model,
        source,
        source=sides.source_of,
        objective=sides.objective,
        losses=lambda: {"logits": target_losses.CrossEntropy(label_smoothing=label_smoothing)},
        metrics=language_model_metrics,
        judged_by="perplexity",
        answers=writing,
        saved=writing.saved,
        saved_tokenizer=sides.saved_tokenizer,
        attributes={"target_tokenizer": target, "align": partial(align, sides, model)},
        token_source=sides.blocks,
        token_objective=sides.span_corruption,
    )


def _check_smoothing(label_smoothing: Any) -> None:
    if not is_finite(label_smoothing) or not 0 <= label_smoothing < 1:
        raise ValueError(f"label_smoothing must be a number in [0, 1): received {shown(label_smoothing)}.")


KIND = Kind(
    "seq2seq_lm",
    seq2seq_lm,
    models=("encoder_decoder",),
    bare_models=("encoder_decoder",),
    checks={"label_smoothing": _check_smoothing, "generation": check_settings},
    of_checkpoint=("target_tokenizer",),
    needs_labels=True,
    writes_text=True,
)


class Alignment(NamedTuple):
    """The attention of each token of a target to each token of its source.

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


@dataclass(frozen=True)
class Sides:
    """The setup of a task, with the tokenizer of its sources, and the tokenizer of its targets."""

    setup: Setup
    target: Tokenizer

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Return the tokenizers of source and target."""
        return self.setup.tokenizer, self.target

    @cached_property
    def target_graph(self) -> TextGraph:
        """Return the tokenizer of targets as TensorFlow ops."""
        is_one = self.target is self.setup.tokenizer
        return self.setup.text_graph if is_one else self.setup.graph_of(self.target)

    def objective(self) -> Translation:
        config = self.setup.config
        return Translation(
            config.vocabulary_size,
            decoder_start_id(config),
            config.fill_id,
            config.eos_ids,
            config.encoder_vocabulary_size,
        )

    def span_corruption(self) -> SpanCorruption:
        """Return the objective for a file of tokens: T5's."""
        return span_corruption(self.setup.config, *self.tokenizers)

    def blocks(self, tokens: TokenFile) -> TokenBlocks:
        """Return blocks of a file of tokens, so long that their sources fill the longest text."""
        return TokenBlocks(tokens, self.span_corruption().block_length(self.setup.max_length))

    def source_of(self, texts: Any, labels: Any, pairs: Any, *, buffer_size: int = 16384) -> Source:
        """Return pairs of ids; `Task.dataset` explains the options."""
        max_length = self.setup.max_length
        if not is_stream(texts, labels, pairs):
            check_labelled(self.setup.kind, texts, labels)
            return encode_translations(texts, labels, *self.tokenizers, max_length)
        from keras_transformers.data.sources.translation_stream import TranslationStream

        encode_source = partial(self.setup.text_graph.encode, max_length=max_length)
        encode_target = partial(self.target_graph.encode, max_length=max_length)
        return TranslationStream(texts, encode_source, encode_target, max_length, buffer_size)

    @property
    def saved_tokenizer(self) -> Tokenizer | Pair:
        """Return the tokenizers that a folder holds: both for Marian, even if they are equal."""
        stored, _ = stored_as(self.setup.config, "")
        is_one = self.target is self.setup.tokenizer and stored.family != "marian"
        return self.target if is_one else Pair(*self.tokenizers)


def align(
    sides: Sides, model: keras.Model, texts: Sequence[str], targets: Sequence[str], layer: int = -1
) -> list[Alignment]:
    """Return how much each token of a target attends to each token of its source, the mean over the heads of a block.

    A task has it as its method `align(texts, targets, layer=-1)`.

    Args:
        sides, model: Sides and model of the task.
        texts: Sources.
        targets: A generated text, or any other target, for each source.
        layer: Number of a block of the decoder.

    Returns:
        An `Alignment` for each text.

    Raises:
        ValueError: There are not as many targets as texts, or the decoder does not attend to the encoder.
    """
    if not sides.setup.config.cross_attention:
        raise ValueError(
            "align needs a decoder that attends to its encoder: received a model with cross_attention=False, whose "
            "decoder takes states instead. Use one with cross-attention, such as rnn_attention_seq2seq."
        )
    texts, targets = check_texts("texts", texts), check_texts("targets", targets)
    if not texts:
        return []
    encoded = [
        tokenizer.encode(side, max_length=sides.setup.max_length)
        for tokenizer, side in zip(sides.tokenizers, (texts, targets), strict=True)
    ]
    none = np.zeros(len(texts), bool)
    warn_of_changes(none, [np.array([row.truncated for row in side]) for side in encoded], sides.setup.max_length)

    pairs = Translations(*(Ragged.of([row.ids for row in side]) for side in encoded))
    width = (int(pairs.sources.lengths.max()), int(pairs.targets.lengths.max()))
    inputs, _ = sides.objective()(pairs, width)
    outputs = prefill(sides.setup.config, model, ["cross_attention_scores"])(inputs)
    scores = keras.ops.convert_to_numpy(outputs["cross_attention_scores"])  # (B, L, N, T, S)
    return [
        Alignment(source.offsets, target.offsets, row[: len(target.ids), : len(source.ids)])
        for source, target, row in zip(*encoded, scores[:, layer].mean(1), strict=True)
    ]


def _ending(config: TransformerConfig, source: Tokenizer, target: Tokenizer) -> list[Tokenizer]:
    """Return the tokenizers with an end token behind their texts; the same objects if they add one already."""
    ending = {}
    for tokenizer in (source, target):
        has_end = tokenizer.encode([""])[0].ids[-1:] == [config.eos_ids[0]]
        stays = has_end or (tokenizer is not target and is_bare(tokenizer))
        ending[id(tokenizer)] = tokenizer if stays else with_end_token(tokenizer, config.eos_ids[0])
    return [ending[id(source)], ending[id(target)]]
