"""Beam search: several texts of each prompt grow side by side, and only the likeliest go on."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.generation import penalties
from keras_transformers.generation.decode import Choices, Decoder, State, append, rows_of_cache
from keras_transformers.generation.penalties import NEVER

PART = 256  # tokens that `_largest` looks at together, at most


class BeamSearch:
    """The method that keeps the n likeliest beams of each prompt; a row of the state is a beam.

    A beam that ends becomes a hypothesis: it is set aside and never extended. Its score is the sum of its tokens'
    log-probabilities, as the penalties leave them, over their number to the power of `length_penalty`; beside an
    encoder plus `coverage_penalty` * sum(log(min(attention that a token of the source has got, 1))). A prompt is done
    when its best beam, scored so, is no better than the worst of n hypotheses; with `early_stopping`, when there are n
    hypotheses. This is what `transformers` does.

    Args:
        num_beams: n, at least 2. Rows are those of the first prompt first.
    """

    def __init__(self, num_beams: int):
        self.num_beams = num_beams

    def begin(self, state: State, choices: Choices) -> State:
        """The state before the first token: one beam for each prompt, or all would be the same; and no hypothesis."""
        hypotheses = {name: state[name] for name in ("token_ids", "lengths", "new", "kept_bytes")}
        hypotheses["score"] = ops.where(state["finished"], 0.0, NEVER)  # 0: of a prompt that cannot be answered
        return state | {"score": ops.where(choices.sequence == 0, 0.0, NEVER), "hypotheses": hypotheses}

    def __call__(self, decoder: Decoder, state: State, logits: Any, choices: Choices) -> State:
        """One more token for the beams of each prompt that is not done; see `decode.Method`."""
        log_probs = penalties.apply(ops.log_softmax(logits, axis=-1), state, choices, decoder)
        if decoder.forced.renormalize:
            log_probs = ops.log_softmax(log_probs, axis=-1)
        # If each beam ended in every way that there is, n would still be left to go on.
        width = min(1 + max(1, len(decoder.eos_ids)), logits.shape[-1]) * self.num_beams
        score, source, token = self._best(state["score"], log_probs, width)
        old = _take({name: x for name, x in state.items() if name not in ("cache", "hypotheses")}, source)
        new = append(decoder, old, token, _take(choices.stops, source)) | {"score": score}
        new["covered"] = ops.take(self._covered(state, choices), source)
        length_penalty = choices.knobs["length_penalty"][:: self.num_beams, None]
        just_ended = ops.logical_and(new["finished"], ops.logical_not(old["finished"]))
        hypotheses = self._keep(state["hypotheses"], new, just_ended, width, length_penalty)
        new["score"] = ops.where(new["finished"], NEVER, score)
        rows = _top(ops.reshape(new["score"], (-1, width)), self.num_beams)
        beams = _take(new, rows)
        done = self._done(beams, hypotheses, length_penalty, choices.knobs["early_stopping"])
        beams["finished"] = ops.logical_or(beams["finished"], done)
        del beams["covered"]
        cache = rows_of_cache(state["cache"], ops.take(source, rows))
        return beams | {"cache": cache, "hypotheses": hypotheses}

    def _best(self, before: Any, log_probs: Any, width: int) -> tuple[Any, Any, Any]:
        """The best continuations of each prompt, in order: score, row of the beam, and token, each (B * width,)."""
        number = min(width, log_probs.shape[-1])
        added, token = _largest(log_probs, number)
        scores = before[:, None] + added
        index = _top(ops.reshape(scores, (-1, self.num_beams * number)), width)
        return ops.take(scores, index), index // number, ops.take(token, index)

    def _covered(self, state: State, choices: Choices) -> Any:
        """What beams lose by tokens of the source that they have not attended to, at most 0: (B * n,).

        Wu et al. 2016, https://arxiv.org/abs/1609.08144.
        """
        source = state["cache"][-1]
        if "coverage" not in source:
            return ops.zeros_like(state["score"])
        logs = ops.log(ops.clip(source["coverage"], 1e-9, 1.0))
        mask = ops.repeat(source["cross_mask"], self.num_beams, axis=0)
        return choices.knobs["coverage_penalty"] * ops.sum(ops.where(mask > 0, logs, 0.0), axis=1)

    def _keep(self, hypotheses: State, new: State, just_ended: Any, width: int, length_penalty: Any) -> State:
        """The n best of the old hypotheses and of those among the n best candidates that have just ended."""
        ended = ops.logical_and(ops.reshape(just_ended, (-1, width)), ops.arange(width) < self.num_beams)
        score = _penalized(new, width, length_penalty)
        new = new | {"score": ops.reshape(ops.where(ended, score, NEVER), (-1,))}

        def merged(name):
            old, more = hypotheses[name], new[name]
            rest = ops.shape(more)[1:]
            old, more = ops.reshape(old, (-1, self.num_beams, *rest)), ops.reshape(more, (-1, width, *rest))
            return ops.reshape(ops.concatenate([old, more], axis=1), (-1, *rest))

        every = {name: merged(name) for name in hypotheses}
        return _take(every, _top(ops.reshape(every["score"], (-1, self.num_beams + width)), self.num_beams))

    def _done(self, beams: State, hypotheses: State, length_penalty: Any, early_stopping: Any) -> Any:
        """Boolean (B * n,): the best beam is no better than the worst of n hypotheses, or there are n and that will do.

        Nor can the best one be better where no beam can go on.
        """
        best = _penalized(beams, self.num_beams, length_penalty)[:, 0]
        worst = ops.reshape(hypotheses["score"], (-1, self.num_beams))[:, -1]
        early = ops.logical_and(early_stopping > 0, ops.repeat(worst > NEVER, self.num_beams))
        return ops.logical_or(early, ops.repeat(ops.logical_not(best > worst), self.num_beams))


def _penalized(rows: State, width: int, length_penalty: Any) -> Any:
    """Scores over lengths to the power of a penalty (B, 1), and what coverage adds: (B, width)."""
    length = ops.cast(ops.maximum(rows["new"], 1), "float32")
    score, length, covered = (ops.reshape(x, (-1, width)) for x in (rows["score"], length, rows["covered"]))
    return score / length**length_penalty + covered


def _top(scores: Any, number: int) -> Any:
    """Where the largest of each row stand, in order, in all of scores (B, N): int32 (B * number,)."""
    index = ops.top_k(scores, number)[1]
    first = ops.arange(ops.shape(scores)[0], dtype="int32")[:, None] * scores.shape[1]
    return ops.reshape(first + index, (-1,))


def _largest(x: Any, number: int) -> tuple[Any, Any]:
    """The largest of each row (N, V) in order, and where in the row they stand: both (N, number).

    They are in the parts of a row whose maxima are the largest; to look only there is much faster than `top_k`. Parts
    are equal, as V can be divided: to pad it would cost what is gained.
    """
    size = next(n for n in range(PART, 0, -1) if x.shape[-1] % n == 0)
    parts = x.shape[-1] // size
    if size == 1 or parts <= number:
        return ops.top_k(x, number)
    x = ops.reshape(x, (-1, size))
    part = _top(ops.reshape(ops.max(x, axis=-1), (-1, parts)), number)
    x = ops.reshape(ops.take(x, part, axis=0), (-1, number * size))
    index = _top(x, number)
    token = ops.take(part, index // size) % parts * size + index % size
    return tuple(ops.reshape(y, (-1, number)) for y in (ops.take(x, index), token))


def _take(rows: Any, index: Any) -> Any:
    return keras.tree.map_structure(lambda x: ops.take(x, index, axis=0), rows)
