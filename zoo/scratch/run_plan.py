"""The making of a plan: size, rows, steps and rates, from what was asked, the corpus and the measured speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from zoo.scratch.kept_plan import Plan
from zoo.scratch.new_models import SIZES, new_model, sizes_of
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
LEAST_BATCH = 4  # rows of a step, at least, in a short run
FEW_STEPS = 2_500  # with fewer updates, smaller batches learn more in the same time: see docs/training/from_text.md
OVERHEAD = 0.85  # share of the time for training, about
SHORT = 0.25  # hours, up to which the first size that is measured is the smallest


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


def choose_size(
    settings: RunSettings, tokens_a_step: int, corpus_tokens: int, measure: Callable[[tuple], Candidate],
    time_left: TimeLeft | None = None,
) -> Candidate:  # fmt: skip
    """Return the size of the model: what was asked, or the one that suits the time and the corpus.

    With `hours`, it is the largest that reads 20 tokens a parameter in this time, of those that there is time to
    measure; else `"mini"`.

    Args:
        settings: The user's settings.
        tokens_a_step: Tokens of a batch.
        corpus_tokens: Tokens of the corpus.
        measure: Function from a size to a `Candidate`.
        time_left: Time left for the command; None to begin now.
    """
    left = time_left or TimeLeft(settings.hours)
    asked = sizes_of(settings.size, settings.layers, settings.heads, settings.hidden_dim)
    if asked is not None:
        return left.measure(measure, asked)
    names = ["tiny", "mini", "small", "medium", "base"]
    first = 0 if settings.hours is not None and settings.hours <= SHORT else 1
    best = left.measure(measure, SIZES[names[first]])
    if settings.hours is None:
        return best
    if first and not _suits(best, settings.hours, tokens_a_step):
        return left.measure(measure, SIZES["tiny"])
    for name in names[first + 1 :]:
        # A larger model is measured only if the last one had tokens for several times its size.
        larger = SIZES[name]
        growth = (larger[0] * larger[2] ** 2) / (best.size[0] * best.size[2] ** 2)
        is_too_large = name != "mini" and best.parameters * growth > corpus_tokens * FRESH_PASSES
        if is_too_large or not _suits(best, settings.hours / growth, tokens_a_step) or not left.may_measure(2):
            break
        candidate = left.measure(measure, larger)
        if not _suits(candidate, settings.hours, tokens_a_step):
            break
        best = candidate
    return best


def suited_rows(settings: RunSettings, candidate: Candidate, replicas: int = 1) -> int:
    """Return the rows of a step: what was asked, or fewer than usual if the time allows few steps.

    Args:
        settings: The user's settings.
        candidate: Candidate measured with the usual number of rows.
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


def with_rows(
    candidate: Candidate, rows: int, measure: Callable[[int], Candidate], time_left: TimeLeft | None = None
) -> Candidate:
    """Return a measured size with another number of rows a step: measured again, or estimated if there is no time.

    Args:
        candidate: Candidate measured with another number of rows.
        rows: Rows of a step.
        measure: Function from the number of rows to a `Candidate`.
        time_left: Time left for the command.
    """
    if rows == candidate.batch_size:
        return candidate
    if time_left is None or time_left.may_measure():
        return (time_left or TimeLeft()).measure(measure, rows)
    # Half the rows take more than half the time: a part of a step does not depend on them.
    seconds = candidate.seconds * (0.85 * rows / candidate.batch_size + 0.15)
    return candidate._replace(seconds=seconds, batch_size=rows)


def _suits(candidate: Candidate, hours: float, tokens_a_step: int) -> bool:
    tokens = OVERHEAD * hours * 3600 / candidate.seconds * tokens_a_step
    return tokens >= TOKENS_A_PARAMETER * candidate.parameters


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
