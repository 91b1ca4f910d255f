"""The plan of a run: size, steps and rates, from what was asked, the corpus and the measured speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from zoo.scratch.new_models import SIZES, new_model, sizes_of
from zoo.scratch.run_settings import RunSettings

BATCH, LEAST_BATCH = 16, 4  # rows of a step: usually, and at least in a short run
FEW_STEPS = 2_500  # with fewer updates, smaller batches learn more in the same time: see docs/training/from_text.md
TOKENS_A_PARAMETER = 20  # Hoffmann et al. 2022 ("Chinchilla"), https://arxiv.org/abs/2203.15556
PASSES = 20  # at most, where neither time nor steps are given
FRESH_PASSES = 4  # so often a corpus is as good as new text: Muennighoff et al. 2023, https://arxiv.org/abs/2305.16264
DROPOUTS = ((FRESH_PASSES, 0.0), (20, 0.1), (math.inf, 0.2))  # by passes over the corpus
WARM_UP = 0.05  # share of the steps in which the learning rate rises
MEASURED = 0.1  # share of a round's time in which held-out text is measured
FORWARD = 1 / 3  # of the time of a training step
STATE_SECONDS = 60  # between two states
OVERHEAD = 0.85  # share of the time for training: the rest compiles, measures, samples and saves


class Candidate(NamedTuple):
    """A measured size: parameters, seconds of a step, seconds until the first step is done, bytes of main memory that
    the process has had at most, and how it was measured: dtype policy, XLA, and rows of a step.
    """

    size: tuple[int, int, int]
    parameters: int
    seconds: float
    compile_seconds: float = 0.0
    peak_memory: int | None = None
    dtype: str = "float32"
    jit_compile: bool = False
    batch_size: int = BATCH


@dataclass(frozen=True)
class Plan:
    """What a run does, as it is kept in plan.json.

    Args:
        size: Layers, heads, width.
        parameters: What the model learns.
        batch_size: Rows of a step.
        steps: Updates in all.
        round_steps: Of a round, after which held-out text is measured.
        state_steps: Between two states of `Resume`.
        held_out_steps: Batches of held-out text that a round measures.
        learning_rate: Its peak.
        warmup_steps: In which it rises.
        dropout: Rate of all dropouts.
        seconds: Measured, of a step.
        dtype: The dtype policy.
        jit_compile: Whether XLA compiles the step.
        peak_memory: Bytes of main memory that the process had at most when the speed was measured; None if unknown.
        start_perplexity: On held-out text before any step, of a model that had been trained before; else None.
    """

    size: tuple[int, int, int]
    parameters: int
    batch_size: int
    steps: int
    round_steps: int
    state_steps: int
    held_out_steps: int
    learning_rate: float
    warmup_steps: int
    dropout: float
    seconds: float
    dtype: str
    jit_compile: bool
    peak_memory: int | None = None
    start_perplexity: float | None = None

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return math.ceil(self.steps / self.round_steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return asdict(self) | {"size": list(self.size)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """Build a plan from `to_dict`."""
        return cls(**values | {"size": tuple(values["size"])})


def choose_size(
    settings: RunSettings, tokens_a_step: int, corpus_tokens: int, measure: Callable[[tuple], Candidate]
) -> Candidate:
    """Return the size of the model: what was asked, or the one that suits the time and the corpus.

    With `hours`, it is the largest that reads 20 tokens a parameter in this time; else `"mini"`.

    Args:
        settings: What was asked.
        tokens_a_step: Tokens of a batch.
        corpus_tokens: Tokens of the corpus.
        measure: From a size to a `Candidate`.
    """
    asked = sizes_of(settings.size, settings.layers, settings.heads, settings.hidden_dim)
    if asked is not None:
        return measure(asked)
    best = measure(SIZES["mini"])
    if settings.hours is None:
        return best
    if not _suits(best, settings.hours, tokens_a_step):
        return measure(SIZES["tiny"])
    for name in ("small", "medium", "base"):
        # A larger model is measured only if the last one had tokens for several times its size.
        larger = SIZES[name]
        growth = (larger[0] * larger[2] ** 2) / (best.size[0] * best.size[2] ** 2)
        if best.parameters * growth > corpus_tokens * FRESH_PASSES or not _suits(
            best, settings.hours / growth, tokens_a_step
        ):
            break
        candidate = measure(larger)
        if not _suits(candidate, settings.hours, tokens_a_step):
            break
        best = candidate
    return best


def suited_rows(settings: RunSettings, candidate: Candidate, replicas: int = 1) -> int:
    """Return the rows of a step: what was asked, or fewer than usual if the time allows few steps.

    Args:
        settings: What was asked.
        candidate: Measured with the usual number of rows.
        replicas: Devices that share the rows; each gets one at least.

    Example:

    >>> from pathlib import Path
    >>> short = RunSettings("gpt2", ("a.txt",), Path("runs/a"), hours=0.05)
    >>> [suited_rows(short, Candidate((2, 2, 128), 400_000, seconds)) for seconds in (0.05, 0.1, 0.5)]
    [16, 8, 4]
    """
    rows = settings.batch_size or BATCH
    if settings.batch_size is not None or settings.hours is None:
        return rows
    steps = OVERHEAD * settings.hours * 3600 / candidate.seconds
    while rows // 2 >= max(LEAST_BATCH, replicas) and steps < FEW_STEPS:
        rows, steps = rows // 2, 2 * steps
    return rows


def _suits(candidate: Candidate, hours: float, tokens_a_step: int) -> bool:
    tokens = OVERHEAD * hours * 3600 / candidate.seconds * tokens_a_step
    return tokens >= TOKENS_A_PARAMETER * candidate.parameters


def make_plan(settings: RunSettings, candidate: Candidate, rows: int, held_out_rows: int, tokens_a_row: float) -> Plan:
    """Return the plan of a run.

    Args:
        settings: What was asked.
        candidate: The measured size.
        rows: Rows of the corpus.
        held_out_rows: Rows that are held out.
        tokens_a_row: Tokens of a row.
    """
    steps_a_pass = rows / candidate.batch_size
    steps = _steps(settings, candidate, steps_a_pass, tokens_a_row * candidate.batch_size)
    if settings.steps is None and steps > settings.rounds:
        steps -= steps % settings.rounds
    rounds = _rounds(steps, settings.rounds)
    round_steps = math.ceil(steps / rounds)
    passes = steps / steps_a_pass
    usual_dropout = next(rate for most, rate in DROPOUTS if passes <= most)
    held_out_batches = max(held_out_rows // candidate.batch_size, 1)
    measured = round(MEASURED / FORWARD * round_steps)
    return Plan(
        size=candidate.size,
        parameters=candidate.parameters,
        batch_size=candidate.batch_size,
        steps=steps,
        round_steps=round_steps,
        state_steps=max(round(STATE_SECONDS / candidate.seconds), 1),
        held_out_steps=min(held_out_batches, max(measured, 4)),
        learning_rate=settings.learning_rate or new_model(settings.model).learning_rate(candidate.size[2]),
        warmup_steps=max(round(WARM_UP * steps), 1),
        dropout=usual_dropout if settings.dropout is None else settings.dropout,
        seconds=candidate.seconds,
        dtype=candidate.dtype,
        jit_compile=candidate.jit_compile,
        peak_memory=candidate.peak_memory,
    )


def _rounds(steps: int, most: int) -> int:
    """Return a number of rounds that divides the steps, near `most` if there is one; else `most`: the last round then
    ends a few steps later.

    Example:

    >>> _rounds(2_000, 20), _rounds(950, 20), _rounds(7, 20)
    (20, 19, 7)
    """
    most = min(most, steps)
    return next((rounds for rounds in range(most, most // 2, -1) if steps % rounds == 0), most)


def _steps(settings: RunSettings, candidate: Candidate, steps_a_pass: float, tokens_a_step: float) -> int:
    if settings.steps is not None:
        return settings.steps
    if settings.epochs is not None:
        return max(round(settings.epochs * steps_a_pass), 1)
    if settings.hours is not None:
        left = settings.hours * 3600 - candidate.compile_seconds
        return max(round(OVERHEAD * left / candidate.seconds), 1)
    tokens = TOKENS_A_PARAMETER * candidate.parameters
    return max(round(min(max(tokens / tokens_a_step, steps_a_pass), PASSES * steps_a_pass)), 1)
