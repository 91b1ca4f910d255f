"""The plan of a run: size, steps and rates, from what was asked, the corpus and the measured speed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from zoo.scratch.new_models import new_model
from zoo.scratch.run_settings import ROUNDS, RunSettings
from zoo.scratch.time_left import TimeLeft

BATCH = 16  # rows of a step, usually
TOKENS_A_PARAMETER = 20  # Hoffmann et al. 2022 ("Chinchilla"), https://arxiv.org/abs/2203.15556
PASSES = 20  # at most, where neither time nor steps are given
FRESH_PASSES = 4  # so often a corpus is as good as new text: Muennighoff et al. 2023, https://arxiv.org/abs/2305.16264
DROPOUTS = ((FRESH_PASSES, 0.0), (20, 0.1), (math.inf, 0.2))  # by passes over the corpus
WARM_UP = 0.05  # share of the steps in which the learning rate rises
MEASURED = 0.1  # share of a round's time in which held-out text is measured
FORWARD = 1 / 3  # of the time of a training step
STATE_SECONDS = 60  # between two states
COMPILED = 1.75  # times the compiling of a measured step: of training, of held-out passes, of samples
ENDING = 0.5  # of it, for what follows the rounds: the last sample and the folder
FINAL = 0.1  # share of the hours for the last pass over held-out text
FEWEST, FEW = 20, 200  # steps at least, and those below which a time is warned of
MOST_OVER = 2.0  # times the time that was asked for, which the fewest steps may take
LEAST_ROUND = 10  # steps, where the number of rounds is not asked for


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
    """The plan of a run, as it is kept in plan.json.

    Args:
        size: Layers, heads, width.
        parameters: Number of trained parameters.
        batch_size: Rows of a step.
        steps: Updates in all.
        round_steps: Steps of a round, after which held-out text is measured.
        state_steps: Number of steps between two states of `Resume`.
        held_out_steps: Batches of held-out text that a round measures.
        learning_rate: Peak learning rate.
        warmup_steps: Number of steps in which the rate rises.
        dropout: Rate of all dropouts.
        seconds: Measured time of a step in seconds.
        dtype: The dtype policy.
        jit_compile: Whether XLA compiles the step.
        peak_memory: Bytes of main memory that the process had at most when the speed was measured; None if unknown.
        start_perplexity: Perplexity on held-out text before the first step, for a model that was already trained; else
            None.
        final_rows: Rows of held-out text that are measured in the end, at most; None for all.
        ending_seconds: Expected time after the last round, if a time limit was given.
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
    final_rows: int | None = None
    ending_seconds: float = 0.0

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


def make_plan(
    settings: RunSettings, candidate: Candidate, rows: int, held_out_rows: int, tokens_a_row: float,
    time_left: TimeLeft | None = None,
) -> Plan:  # fmt: skip
    """Return the plan of a run.

    Args:
        settings: The user's settings.
        candidate: The measured size.
        rows: Rows of the corpus.
        held_out_rows: Rows that are held out.
        tokens_a_row: Tokens of a row.
        time_left: Time left for the command; None to begin now.

    Raises:
        ValueError: The time is too short to learn anything.
    """
    steps_a_pass = rows / candidate.batch_size
    held_out_batches = max(held_out_rows // candidate.batch_size, 1)
    final_rows, ending = ending_of(settings, candidate, held_out_rows)
    if settings.hours is None:
        steps = _steps(settings, candidate, steps_a_pass, tokens_a_row * candidate.batch_size)
    else:
        steps = _steps_in(settings.hours, candidate, time_left or TimeLeft(settings.hours), ending)
    most_rounds = _most_rounds(settings, steps)
    if settings.steps is None and steps > most_rounds:
        steps -= steps % most_rounds
    rounds = _rounds(steps, most_rounds)
    round_steps = math.ceil(steps / rounds)
    passes = steps / steps_a_pass
    usual_dropout = next(rate for most, rate in DROPOUTS if passes <= most)
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
        final_rows=final_rows,
        ending_seconds=ending,
    )


def _most_rounds(settings: RunSettings, steps: int) -> int:
    """Return the number of rounds that was asked for, else a usual one, such that a round has a number of steps."""
    return settings.rounds if settings.rounds != ROUNDS else min(ROUNDS, max(steps // LEAST_ROUND, 1))


def ending_of(settings: RunSettings, candidate: Candidate, held_out_rows: int) -> tuple[int | None, float]:
    """Return the rows of the last pass over held-out text, None for all; and the seconds of all that follows the
    rounds, 0 where no time was asked for.
    """
    if settings.hours is None:
        return None, 0.0
    seconds_a_row = FORWARD * candidate.seconds / candidate.batch_size
    most = max(round(FINAL * 3600 * settings.hours / seconds_a_row), 4 * candidate.batch_size)
    seconds = seconds_a_row * min(most, held_out_rows) + ENDING * candidate.compile_seconds
    return (None if most >= held_out_rows else most), seconds


def _steps_in(hours: float, candidate: Candidate, time_left: TimeLeft, ending: float) -> int:
    """Return the steps that the rest of the command's time is enough for; or the fewest, if they take a little more.

    Raises:
        ValueError: They would take a multiple of the time.
    """
    seconds_a_step = candidate.seconds * (1 + MEASURED)
    fixed = COMPILED * candidate.compile_seconds + ending
    steps = math.floor((time_left.left() - fixed) / seconds_a_step)
    spent = time_left.seconds - time_left.left()
    if spent + fixed + FEWEST * seconds_a_step > MOST_OVER * time_left.seconds:
        needed = (spent + fixed + FEW * seconds_a_step) / 3600
        raise ValueError(
            f"--hours {hours:g} leaves time for {max(steps, 0)} steps of {candidate.seconds:.2g} seconds, too few to "
            f"learn anything: of {3600 * hours:.0f} seconds {spent:.0f} are spent on reading and measuring, and about "
            f"{fixed:.0f} go to compiling, the last measurement and saving. Give at least --hours {needed:.2g}, a "
            "smaller --size or a smaller --batch-size; or --steps instead of --hours."
        )
    return max(steps, FEWEST)


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
    tokens = TOKENS_A_PARAMETER * candidate.parameters
    return max(round(min(max(tokens / tokens_a_step, steps_a_pass), PASSES * steps_a_pass)), 1)
