"""Tasks that learn from a file of tokens, which `data.corpus.make_corpus` has made, instead of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.protocols import Source
from keras_transformers.data.corpus.token_file import TokenFile, tokenizer_digest
from keras_transformers.data.objectives.span_corruption import SpanCorruption
from keras_transformers.generation.prompts import decoder_start_id
from keras_transformers.tasks.contract.parts import Parts
from keras_transformers.tasks.inputs.sources import check_given
from keras_transformers.text.tokenizer import Tokenizer

SENTINEL = "<extra_id_{}>"


def parts_for(name: str, parts: Parts, texts: Any, labels: Any, pairs: Sequence[str] | None) -> Parts:
    """Return the parts of a task for its texts; a `TokenFile` needs other parts.

    Args:
        name: Name of the task.
        parts: Parts of the task.
        texts: Texts, or the file.
        labels, pairs: Other arguments of the caller; none may be given with a file.

    Raises:
        ValueError: There are no texts, the task does not learn from bare tokens, another tokenizer has made them, or
            there are labels or pairs.
    """
    check_given(texts)
    if not isinstance(texts, TokenFile):
        return parts
    make = parts.token_source
    if make is None:
        raise ValueError(
            f"{name} does not learn from a file of tokens: causal_lm, masked_lm and seq2seq_lm do. Pass texts."
        )
    if labels is not None or pairs is not None:
        raise ValueError(f"{name} takes its labels from a file of tokens itself: leave labels and pairs out.")
    if texts.tokenizer_digest != tokenizer_digest(parts.tokenizer):
        raise ValueError(
            f"{texts} was made with another tokenizer than the task's, so its ids mean other texts. Make the corpus "
            "with task.tokenizer, or the task with the corpus's tokenizer."
        )

    def source(texts: TokenFile, labels: None, pairs: None, *, num_rows: int | None = None) -> Source:
        blocks = make(texts)
        return blocks if num_rows is None else blocks.spread(num_rows)

    return replace(parts, source=source, objective=parts.token_objective or parts.objective)


def span_corruption(config: TransformerConfig, source: Tokenizer, target: Tokenizer) -> SpanCorruption:
    """Return T5's objective for a model: the sentinels are its tokens `<extra_id_0>`, `<extra_id_1>` and so on.

    Args:
        config: Configuration of the model.
        source, target: Tokenizers of its two sides.

    Raises:
        ValueError: There are no sentinels, or the sides have different tokenizers.
    """
    if tokenizer_digest(source) != tokenizer_digest(target):
        raise ValueError("Learning from bare tokens needs one tokenizer for both sides: received two. Pass texts.")
    sentinels: list[int] = []
    while (found := _id_of(source, SENTINEL.format(len(sentinels)))) is not None:
        sentinels.append(found)
    if not sentinels:
        raise ValueError(
            f"The tokenizer has no {SENTINEL.format(0)}, which marks a missing span: expected one such token for each "
            "span of a block. Train it with special_tokens=[..., '<extra_id_0>', '<extra_id_1>', ...]."
        )
    return SpanCorruption(
        config.vocabulary_size, sentinels, config.eos_ids[0], decoder_start_id(config), config.fill_id
    )


def _id_of(tokenizer: Tokenizer, token: str) -> int | None:
    try:
        return tokenizer.token_to_id(token)
    except ValueError:
        return None
