"""The size of a new model, and the rows of its steps, that suit the time and the corpus."""

from __future__ import annotations

from collections.abc import Callable

from zoo.scratch.new_models import SIZES, sizes_of
from zoo.scratch.run_plan import BATCH, FRESH_PASSES, TOKENS_A_PARAMETER, Candidate
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.time_left import TimeLeft

LEAST_BATCH = 4  # rows of a step, at least, in a short run
FEW_STEPS = 2_500  # with fewer updates, smaller batches learn more in the same time: see docs/training/from_text.md
OVERHEAD = 0.85  # share of the time for training, about
SHORT = 0.25  # hours, up to which the first size that is measured is the smallest


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
