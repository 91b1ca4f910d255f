"""Beam search: several texts of each prompt grow side by side, and only the likeliest are continued."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.generation import penalties
from keras_transformers.generation.program import Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import Cache, State, Written
from keras_transformers.utils.tensor_types import Tensor

NO_BEAM = float("-inf")  # the score where there is no beam, or no hypothesis
PART = 256  # tokens that `_largest` looks at together, at most


class BeamSearch:
    """The method that keeps the n likeliest beams of each prompt; a row of the state is a beam.

    A beam that ends becomes a hypothesis: it is set aside and never extended. Its score is the sum of its tokens'
    log-probabilities, as the penalties leave them, over their number to the power of `length_penalty`; beside an
    encoder plus `coverage_penalty` * sum(log(min(attention that a token of the source has got, 1))). A prompt is done
    when its best beam, scored so, is no better than the worst of n hypotheses; with `early_stopping`, when there are n
    hypotheses. This is what `transformers` does.

    Args:
        num_beams: n, at least 2. Rows of the first prompt come first.
    """

    def __init__(self, num_beams: int):
        self.num_beams = num_beams

    def begin(self, state: State, request: Request) -> State:
        """Return the state before the first token: one live beam for each prompt, and no hypothesis.

        With more of them, all would be the same.
        """
        score = ops.where(state.finished, 0.0, NO_BEAM)  # 0 for a prompt with an error
        hypotheses = state.written._replace(score=score)
        return state._replace(score=ops.where(request.sequence == 0, 0.0, NO_BEAM), hypotheses=hypotheses)

    def __call__(self, program: Program, state: State, logits: Tensor, request: Request) -> State:
        """Add a token to the beams of each prompt that is not done; see `program.Method`."""
        log_probs = penalties.apply(ops.log_softmax(logits, axis=-1), state, request, program)  # (B * n, V)
        if program.prescribed.renormalize:
            log_probs = ops.log_softmax(log_probs, axis=-1)

        # Even if each beam ended in all possible ways, n candidates would be left to go on.
        width = min(1 + max(1, len(program.eos_ids)), logits.shape[-1]) * self.num_beams
        score, source, token = self._best_continuations(state.score, log_probs, width)  # (B * width,)
        parents = _take_rows(state._replace(cache=Cache([]), hypotheses=()), source)
        candidates = program.append(parents, token, _take_rows(request.stop, source))._replace(score=score)
        covered = ops.take(self._covered(state, request), source)

        length_penalty = request.length_penalty[:: self.num_beams, None]  # (B, 1)
        final = _penalized(candidates, covered, width, length_penalty)  # (B, width)
        just_ended = ops.logical_and(candidates.finished, ops.logical_not(parents.finished))
        hypotheses = self._best_hypotheses(state.written, candidates, final, just_ended, width)

        candidates = candidates._replace(score=ops.where(candidates.finished, NO_BEAM, score))
        rows = _flat_top(ops.reshape(candidates.score, (-1, width)), self.num_beams)  # (B * n,)
        beams = _take_rows(candidates, rows)
        final = _penalized(beams, ops.take(covered, rows), self.num_beams, length_penalty)  # (B, n)
        done = self._is_done(final[:, 0], hypotheses, request.early_stopping)
        return beams._replace(
            finished=ops.logical_or(beams.finished, done),
            cache=state.cache.rows(ops.take(source, rows)),
            hypotheses=hypotheses,
        )

    def _best_continuations(self, before: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best continuations of each prompt, in order.

        They are scores, rows of the beams, and tokens, each (B * width,).
        """
        number = min(width, log_probs.shape[-1])
        added, token = _largest(log_probs, number)  # (B * n, number)
        scores = before[:, None] + added
        index = _flat_top(ops.reshape(scores, (-1, self.num_beams * number)), width)  # (B * width,)
        return ops.take(scores, index), index // number, ops.take(token, index)

    def _covered(self, state: State, request: Request) -> Tensor:
        """Return the coverage penalties of the beams, at most 0: (B * n,).

        Tokens of the source that a beam has not attended to lower its score.
        Wu et al. 2016, https://arxiv.org/abs/1609.08144.
        """
        if not state.cache.source:
            return ops.zeros_like(state.score)
        logs = ops.log(ops.clip(state.cache.coverage, 1e-9, 1.0))  # (B * n, S)
        mask = ops.repeat(state.cache.source.mask, self.num_beams, axis=0)
        return request.coverage_penalty * ops.sum(ops.where(mask > 0, logs, 0.0), axis=1)

    def _best_hypotheses(
        self, hypotheses: Written, candidates: State, final: Tensor, just_ended: Tensor, width: int
    ) -> Written:
        """Return the n best hypotheses: of the old ones, and of the n best candidates if they have just ended."""
        is_new = ops.logical_and(ops.reshape(just_ended, (-1, width)), ops.arange(width) < self.num_beams)
        score = ops.reshape(ops.where(is_new, final, NO_BEAM), (-1,))  # (B * width,)

        def merged(old, new):
            rest = ops.shape(new)[1:]
            old, new = ops.reshape(old, (-1, self.num_beams, *rest)), ops.reshape(new, (-1, width, *rest))
            return ops.reshape(ops.concatenate([old, new], axis=1), (-1, *rest))  # (B * (n + width), ...)

        both = Written(*map(merged, hypotheses, candidates.written._replace(score=score)))
        return _take_rows(both, _flat_top(ops.reshape(both.score, (-1, self.num_beams + width)), self.num_beams))

    def _is_done(self, best: Tensor, hypotheses: Written, early_stopping: Tensor) -> Tensor:
        """Return which beams are of a prompt that is done, boolean (B * n,).

        Its best score (B,) is no better than its worst hypothesis; where no beam can be continued, it is minus
        infinity.
        """
        worst = ops.reshape(hypotheses.score, (-1, self.num_beams))[:, -1]  # (B,)
        early = ops.logical_and(early_stopping > 0, ops.repeat(worst > NO_BEAM, self.num_beams))
        return ops.logical_or(early, ops.repeat(ops.logical_not(best > worst), self.num_beams))


def _penalized(rows: State, covered: Tensor, width: int, length_penalty: Tensor) -> Tensor:
    """Return scores over lengths to the power of a penalty (B, 1), plus what coverage (B * width,) adds: (B, width)."""
    length = ops.cast(ops.maximum(rows.num_new, 1), "float32")
    score, length, covered = (ops.reshape(x, (-1, width)) for x in (rows.score, length, covered))
    return score / length**length_penalty + covered


def _flat_top(scores: Tensor, number: int) -> Tensor:
    """Return the flat indices of each row's top `number`, best first, from scores (B, N): int32 (B * number,)."""
    index = ops.top_k(scores, number)[1]  # (B, number)
    first = ops.arange(ops.shape(scores)[0], dtype="int32")[:, None] * scores.shape[1]  # (B, 1)
    return ops.reshape(first + index, (-1,))


def _largest(x: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Return the top `number` values of each row of x (N, V), best first, and their columns: both (N, number).

    They are in the parts of a row whose maxima are the largest: to look only there is much faster than `top_k`. Parts
    are of equal size, a divisor of V: to pad V would cost what is gained.
    """
    size = next(n for n in range(PART, 0, -1) if x.shape[-1] % n == 0)
    parts = x.shape[-1] // size
    if size == 1 or parts <= number:
        return ops.top_k(x, number)
    x = ops.reshape(x, (-1, size))  # (N * parts, size)
    part = _flat_top(ops.reshape(ops.max(x, axis=-1), (-1, parts)), number)  # (N * number,)

    x = ops.reshape(ops.take(x, part, axis=0), (-1, number * size))  # (N, number * size)
    index = _flat_top(x, number)  # (N * number,)
    column = ops.take(part, index // size) % parts * size + index % size
    return tuple(ops.reshape(y, (-1, number)) for y in (ops.take(x, index), column))


def _take_rows(rows: Any, index: Tensor) -> Any:
    """Return some rows of every tensor in a structure."""
    return keras.tree.map_structure(lambda x: ops.take(x, index, axis=0), rows)
