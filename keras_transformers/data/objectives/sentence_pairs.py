"""BERT's pre-training: a source of random sentence pairs, new in every epoch, and masked LM + next sentence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from keras_transformers.data.batches.batching import DRAW, Batching
from keras_transformers.data.batches.own_rows import RowDraws
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.sources.documents import Documents
from keras_transformers.data.sources.rows import Ragged, Rows


class Pretraining(MaskedLM):
    """The objective of masked LM and next sentence, for rows of `SentencePairs`. It takes the arguments of `MaskedLM`.

    Returns:
        The inputs of `MaskedLM`, and labels `{"masked_lm_logits": (B, M), "next_sentence_logits": (B,)}`;
        next sentence is 0 if the second segment follows the first one, 1 if it is a random one.
    """

    def __call__(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict, Any]:
        inputs, labels = super().__call__(rows, width, rng)
        return inputs, {"masked_lm_logits": labels, "next_sentence_logits": rows.labels}


class SentencePairs:
    """A source of random pairs of segments, each a run of consecutive sentences, as in BERT's release code.

    In half of the pairs, the second segment follows the first one in its document. In the others, it is a random run
    from another document. (These are slightly more than half: a run of one sentence cannot be split into two segments.)
    https://github.com/google-research/bert/blob/master/create_pretraining_data.py

    Args:
        documents: `Documents`.
        tokenizer: Has `cls_id` and `sep_id`.
        max_length: int, tokens of a pair with its three special tokens.
        short_probability: float, fraction of the pairs with a random shorter target length.
        seed: int, seed of the random pass that sets the number of pairs in an epoch.
        has_types: bool, whether the second text of a pair is in segment 1; all tokens are in segment 0 if not.

    Raises:
        ValueError: No pair fits in max_length.

    Example:

    >>> from types import SimpleNamespace
    >>> documents = Documents.of([[[10, 11], [12]], [[20], [21, 22]]])
    >>> pairs = SentencePairs(documents, SimpleNamespace(cls_id=2, sep_id=3), max_length=16)
    >>> inputs = pairs.draw(np.random.default_rng(0)).padded(16, pad_id=0)
    >>> inputs["token_ids"].shape == inputs["segment_ids"].shape == (pairs.num_rows, 16)
    True
    """

    def __init__(
        self,
        documents: Documents,
        tokenizer,
        max_length: int,
        short_probability: float = 0.1,
        seed: int = 0,
        has_types: bool = True,
    ):
        if max_length < 5:
            raise ValueError(f"Received max_length={max_length}: expected at least 5 (two tokens, three special ones).")
        self.documents, self.max_tokens, self.short_probability = documents, max_length - 3, short_probability
        self.segments = np.array([0, 0, 0, 1, 1] if has_types else [0] * 5, np.int32)
        self.specials = np.array([tokenizer.cls_id, tokenizer.sep_id], np.int32)
        rng = np.random.default_rng(seed)
        one_pass = [p for d in range(len(documents.starts) - 1) for p in self._document_pairs(d, rng)]
        self.num_rows = len(one_pass)
        self._sample = self._assemble(one_pass[:1], rng)

    def sample(self) -> Rows:
        return self._sample

    def windows(self, batching: Batching, epoch: int, skip: int):
        yield 0, self.draw(batching.rng(epoch, DRAW))

    def draw(self, rng: np.random.Generator) -> Rows:
        """Draw the pairs of one epoch: documents in random order, with another pass if one gives too few pairs."""
        return self._assemble(list(islice(self._pairs(rng), self.num_rows)), rng)

    def _pairs(self, rng: np.random.Generator) -> Iterator[tuple]:
        while True:
            for document in rng.permutation(len(self.documents.starts) - 1).tolist():
                yield from self._document_pairs(document, rng)

    def _document_pairs(self, document: int, rng: np.random.Generator) -> Iterator[tuple]:
        """Yield token ranges (begin, end, begin, end, is random) of one pass over a document."""
        at = self.documents.sentences
        sentence, last = self.documents.starts[document : document + 2]
        while sentence < last:
            # BERT draws the length once per document; here once per pair, as a document may be a whole book.
            target = self._target_length(rng)
            end = self._end_of_run(sentence, last, target)
            middle = int(rng.integers(sentence + 1, end)) if end - sentence > 1 else end

            is_random = middle == end or rng.random() < 0.5
            if is_random:
                begin, stop = self._random_run(document, target - (at[middle] - at[sentence]), rng)
            else:
                begin, stop = middle, end

            yield at[sentence], at[middle], at[begin], at[stop], is_random
            # The sentences that a random segment replaced are used for the next pair.
            sentence = middle if is_random else end

    def _target_length(self, rng: np.random.Generator) -> int:
        short = rng.random() < self.short_probability
        return int(rng.integers(2, self.max_tokens, endpoint=True)) if short else self.max_tokens

    def _end_of_run(self, sentence: int, last: int, tokens: int) -> int:
        """Return the end of the shortest run from `sentence` with at least so many tokens, or the document's end."""
        at = self.documents.sentences
        end = sentence + 1
        while end < last and at[end] - at[sentence] < tokens:
            end += 1
        return end

    def _random_run(self, document: int, tokens: int, rng: np.random.Generator) -> tuple[int, int]:
        starts = self.documents.starts
        other = int(rng.integers(len(starts) - 2))
        other += other >= document
        begin = int(rng.integers(starts[other], starts[other + 1]))
        return begin, self._end_of_run(begin, starts[other + 1], tokens)

    def _assemble(self, pairs: list[tuple], rng: np.random.Generator) -> Rows:
        """Make the rows `[CLS] first [SEP] second [SEP]` of all pairs, cut to the maximum length."""
        begin_a, end_a, begin_b, end_b, is_random = np.array(pairs, np.int64).T  # (pairs,) each
        cut_a, cut_b = truncation(end_a - begin_a, end_b - begin_b, self.max_tokens)

        # As in the release code, about half of the cut tokens are cut from the front.
        front_a, front_b = rng.binomial(cut_a, 0.5), rng.binomial(cut_b, 0.5)

        cls, sep = (np.full_like(begin_a, len(self.documents.flat) + i) for i in range(2))
        one = np.ones_like(begin_a)
        begins = np.stack([cls, begin_a + front_a, sep, begin_b + front_b, sep], axis=1).ravel()  # (5 * pairs,)
        sizes = np.stack([one, end_a - begin_a - cut_a, one, end_b - begin_b - cut_b, one], axis=1)  # (pairs, 5)
        lengths = sizes.sum(axis=1)  # (pairs,)

        segments = np.repeat(np.tile(self.segments, len(pairs)), sizes.ravel())
        flat = Ragged(np.concatenate([self.documents.flat, self.specials]), begins, sizes.ravel()).tokens()
        return Rows(Ragged.joined(flat, lengths), Ragged.joined(segments, lengths), is_random.astype(np.int32))


def truncation(first: np.ndarray, second: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of tokens to cut from each segment: one by one from the longer, from the second at a tie."""
    keep_first = np.minimum(first, np.maximum(limit - second, (limit + 1) // 2))
    keep_second = np.minimum(second, np.maximum(limit - first, limit // 2))
    return first - keep_first, second - keep_second
