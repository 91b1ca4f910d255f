"""BART's pre-training objective: restore a text with shuffled sentences and masked spans."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keras_transformers.data.batches.own_rows import RowDraws, row_generators
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.translations import Translations


class TextInfilling:
    """The objective that makes pairs: a source with shuffled sentences and one mask token per span; the text as target.

    The lengths of spans are Poisson distributed and sum to `rate` of the tokens; spans may overlap. A span of length 0
    inserts a mask. Every epoch has new random spans. It follows the release code (`denoising` of fairseq), except that
    spans are of tokens rather than words, and that a source is never longer than its text: in short texts, some masks
    of length 0 are left out.
    Lewis et al. 2019, https://arxiv.org/abs/1910.13461, section 2.2.

    Args:
        vocabulary_size: int V.
        mask_id: int, the mask token.
        begin_id, end_id: ints, the tokens around every source and target.
        start_id: int, the token that the decoder begins with; BART's is the end token.
        pad_id: int, the id of padding.
        full_stop_ids: ints, the tokens that end a sentence; empty to keep the order.
        rate: float, fraction of the tokens that are masked.
        mean_span: float, mean number of tokens in a span.

    Call Args:
        rows: `Rows` of at least one token, without special tokens; labels are ignored.
        width: int T. Sources and targets are padded to T + 2.
        rng: `np.random.Generator`.

    Returns:
        As `Translation`.

    Raises:
        ValueError: `rate` or `mean_span` is out of range; and from `check`: an id that is not in the vocabulary, or an
            empty row.

    Example:

    >>> objective = TextInfilling(50, mask_id=49, begin_id=0, end_id=2, start_id=2, pad_id=1)
    >>> inputs, labels = objective(Rows.of([range(3, 13)], None), 10, np.random.default_rng(0))
    >>> inputs["encoder_token_ids"].tolist()
    [[0, 3, 4, 49, 5, 6, 7, 8, 49, 12, 2, 1]]
    >>> labels.tolist()
    [[0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2]]
    """

    is_row_wise = True

    def __init__(
        self,
        vocabulary_size: int,
        mask_id: int,
        begin_id: int,
        end_id: int,
        start_id: int,
        pad_id: int,
        full_stop_ids: Sequence[int] = (),
        rate: float = 0.3,
        mean_span: float = 3.0,
    ):
        if not 0 < rate < 1 or mean_span <= 0:
            raise ValueError(
                f"Received rate={rate} and mean_span={mean_span}: expected a rate between 0 and 1, spans above 0."
            )
        self.translation = Translation(vocabulary_size, start_id, pad_id)
        self.mask_id, self.begin_id, self.end_id = mask_id, begin_id, end_id
        self.full_stop_ids, self.rate, self.mean_span = tuple(full_stop_ids), rate, mean_span

    def check(self, rows: Rows):
        self.translation.check(Translations(rows.token_ids, rows.token_ids))

    def __call__(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict, np.ndarray]:
        texts = np.split(rows.token_ids.tokens(), np.cumsum(rows.lengths)[:-1])
        generators = row_generators(rng, rows.num_rows)
        sources = [self.masked(self.mixed(text, own), own) for text, own in zip(texts, generators, strict=True)]
        sides = (Ragged.of([[self.begin_id, *row, self.end_id] for row in side]) for side in (sources, texts))
        return self.translation(Translations(*sides), int(width) + 2)

    def mixed(self, text: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Shuffle the sentences of a text. Of several full stops in a row, the first ends the sentence."""
        if not self.full_stop_ids:
            return text
        stops = np.isin(text, self.full_stop_ids)
        stops[-1] = True
        ends = np.flatnonzero(stops & ~np.concatenate([[False], stops[:-1]])) + 1
        *sentences, rest = np.split(text, ends)
        return np.concatenate([*(sentences[i] for i in rng.permutation(len(sentences))), rest])

    def masked(self, text: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Replace random spans of a text by mask tokens, and insert masks for spans of length 0."""
        lengths = self.spans(math.ceil(len(text) * self.rate), rng)
        lengths, inserts = lengths[lengths > 0], np.count_nonzero(lengths == 0)

        starts = rng.permutation(len(text))[: len(lengths)]
        kept = np.ones(len(text), bool)
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            kept[start + 1 : start + length] = False
        text = text.copy()
        text[starts] = self.mask_id

        inserts = min(inserts, np.count_nonzero(~kept))
        text = text[kept]  # (kept tokens,)
        places = np.sort(rng.permutation(len(text) + inserts)[:inserts]) - np.arange(inserts)
        return np.insert(text, places, self.mask_id)

    def spans(self, tokens: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random lengths of spans that sum to `tokens`; some are 0, and the last one is cut to fit."""
        lengths = rng.poisson(self.mean_span, tokens)
        while lengths.sum() < tokens:
            lengths = np.concatenate([lengths, rng.poisson(self.mean_span, tokens)])
        ends = np.cumsum(lengths)
        last = np.searchsorted(ends, tokens)
        lengths[last] -= ends[last] - tokens
        return lengths[: last + 1]
