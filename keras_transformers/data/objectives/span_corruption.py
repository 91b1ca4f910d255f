"""T5's pre-training objective: generate the missing spans of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_transformers.data.batches.own_rows import RowDraws, row_generators
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.next_token_rows import with_end
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.translations import Translations


class SpanCorruption:
    """The objective that makes pairs: a source with sentinels for random spans, a target of sentinels with their spans.

    "Thank you for inviting me to your party last week" becomes "Thank you <X> me to your party <Y> week" and
    "<X> for inviting <Y> last". Every epoch has new random spans, as in the release code (`random_spans_noise_mask`).
    The length of a row determines the lengths of its source and target.
    Raffel et al. 2019, https://arxiv.org/abs/1910.10683, section 3.1.4.

    Args:
        vocabulary_size: int V.
        sentinel_ids: ints, in the order of use: `<extra_id_0>`, `<extra_id_1>` and so on.
        end_id: int, the last token of sources and targets.
        start_id: int, the token that the decoder begins with.
        pad_id: int, the id of padding.
        rate: float, fraction of the tokens that are missing.
        mean_span: float, mean number of tokens in a span.

    Call Args:
        rows: `Rows` of at least one token, without special tokens, such as the rows of `Blocks`; labels are ignored.
        width: int T. Sources and targets are padded to the lengths that `lengths` gives for it: 512 and 114 for 568.
        rng: `np.random.Generator`.

    Returns:
        As `Translation`.

    Raises:
        ValueError: `rate` or `mean_span` is out of range; and from `check`: an id that is not in the vocabulary, an
            empty row, or a row with more spans than sentinels.

    Example:

    >>> objective = SpanCorruption(50, sentinel_ids=[49, 48], end_id=1, start_id=0)
    >>> objective.lengths(568), objective.lengths(16)
    ((512, 114), (16, 4))
    >>> inputs, labels = objective(Rows.of([range(2, 18)], None), 16, np.random.default_rng(0))
    >>> inputs["encoder_token_ids"].tolist(), labels.tolist()
    ([[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 49, 1]], [[49, 16, 17, 1]])
    """

    is_row_wise = True

    def __init__(
        self,
        vocabulary_size: int,
        sentinel_ids: Sequence[int],
        end_id: int,
        start_id: int,
        pad_id: int = 0,
        rate: float = 0.15,
        mean_span: float = 3.0,
    ):
        if not 0 < rate < 1 or mean_span < 1:
            raise ValueError(
                f"Received rate={rate} and mean_span={mean_span}: expected a rate between 0 and 1, spans of at least 1."
            )
        self.translation = Translation(vocabulary_size, start_id, pad_id)
        self.sentinel_ids, self.end_id = np.asarray(sentinel_ids, np.int32), end_id
        self.rate, self.mean_span = rate, mean_span

    def counts(self, length: int) -> tuple[int, int]:
        """Return the numbers of missing tokens and of spans in a row of `length` tokens; 1 token counts as 2."""
        length = max(length, 2)
        missing = min(max(round(length * self.rate), 1), length - 1)
        return missing, min(max(round(missing / self.mean_span), 1), length - missing)

    def lengths(self, length: int) -> tuple[int, int]:
        """Return the lengths of source and target, end tokens included, for a row of `length` tokens."""
        missing, spans = self.counts(length)
        return max(length, 2) - missing + spans + 1, missing + spans + 1

    def block_length(self, longest: int) -> int:
        """Return the most tokens of a row whose source and target have at most `longest` tokens: 568 for 512."""
        return max(length for length in range(1, 2 * longest + 1) if max(self.lengths(length)) <= longest)

    def check(self, rows: Rows):
        self.translation.check(Translations(rows.token_ids, rows.token_ids))
        _, spans = self.counts(int(rows.lengths.max(initial=0)))
        if spans > len(self.sentinel_ids):
            raise ValueError(
                f"Received {len(self.sentinel_ids)} sentinels for {spans} spans in a row of {rows.lengths.max()} "
                "tokens: expected one sentinel per span. Cut the rows, or raise mean_span."
            )

    def __call__(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict, np.ndarray]:
        generators = row_generators(rng, rows.num_rows)
        missing = np.concatenate([*map(self.mask, rows.lengths.tolist(), generators)])  # (tokens,)
        sides = (with_end(self._replaced(rows.token_ids, mask), self.end_id) for mask in (missing, ~missing))
        return self.translation(Translations(*sides), self.lengths(int(width)))

    def mask(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """Draw which tokens are missing, (length,) bool. The first span is not missing, then they alternate."""
        missing, spans = self.counts(length)
        lengths = [_cut(number, spans, rng) for number in (max(length, 2) - missing, missing)]
        return np.repeat(np.tile([False, True], spans), np.stack(lengths, axis=1).ravel())[:length]

    def _replaced(self, ids: Ragged, missing: np.ndarray) -> Ragged:
        """Return the rows with each span of `missing` (tokens,) replaced by a sentinel."""
        begins = np.cumsum(ids.lengths) - ids.lengths  # (rows,)
        after_missing = np.roll(missing, 1)  # (tokens,)
        after_missing[begins] = False
        first = missing & ~after_missing  # (tokens,), True at the first token of a span

        count = np.cumsum(first)
        number = count - np.repeat(count[begins] - first[begins], ids.lengths) - 1  # number of the span in its row
        tokens = np.where(first, self.sentinel_ids[np.maximum(number, 0)], ids.tokens())
        kept = ~(missing & after_missing)
        return Ragged.joined(tokens[kept], np.add.reduceat(kept, begins, dtype=np.int64))


def _cut(number: int, parts: int, rng: np.random.Generator) -> np.ndarray:
    """Draw random lengths (parts,), each at least 1, that sum to `number`; uniform over all such lengths."""
    ends = np.sort(rng.choice(number - 1, parts - 1, replace=False)) + 1
    return np.diff(ends, prepend=0, append=number)
