"""The objective of replaced token detection, with new replacements every epoch."""

from __future__ import annotations

import numpy as np

from keras_transformers.data.batches.own_rows import RowDraws
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.sources.rows import Rows


class ReplacedTokens(MaskedLM):
    """The objective that replaces some of the tokens; the model learns to tell which ones.

    Replacements are random tokens. ELECTRA's come from a generator, a small masked language model that is trained at
    the same time, and are harder to tell (Clark et al. 2020, https://arxiv.org/abs/2003.10555, section 2). So this
    objective adapts a released discriminator to own texts, rather than to train one from nothing.

    Args:
        tokenizer, rate, whole_word: As for `MaskedLM`.

    Call Args:
        rows, width, rng: As for `MaskedLM`.

    Returns:
        The model's inputs, and labels (B, T): 1 for tokens that are not the original ones, 0 for those that are, and
        -1 for special tokens and padding.

    Raises:
        ValueError: As for `MaskedLM`.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> rows = Rows.of([row.ids for row in tokenizer.encode(["the cat sat"])])
    >>> inputs, labels = ReplacedTokens(tokenizer)(rows, 6, np.random.default_rng(0))
    >>> labels[0, [0, 5]].tolist(), set(labels[0, 1:4].tolist()) <= {0, 1}
    ([-1, -1], True)
    """

    def __call__(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict, np.ndarray]:
        inputs, candidates, chosen = self.choose(rows, width, rng)
        ids = inputs["token_ids"]
        changed = np.where(chosen, self.random_ids(ids.shape, rng), ids)  # (B, T)
        labels = np.where(candidates, changed != ids, -1).astype(np.int32)  # (B, T)
        return {**inputs, "token_ids": changed}, labels
