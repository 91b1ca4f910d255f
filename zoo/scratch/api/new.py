"""`zoo.new` and `zoo.train_further`: a model trained on the user's texts or pairs in one call, new or continued."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.text.wider_vocabulary import check_new_tokens
from zoo.scratch import plan_table, text_rounds
from zoo.scratch.further_run import FurtherRun
from zoo.scratch.kept_plan import STDIN, KeptPlan, Plan
from zoo.scratch.pairs import pair_rounds, pair_table
from zoo.scratch.pairs.pair_run import PairRun
from zoo.scratch.pairs.pair_settings import PAIRED, PairSettings
from zoo.scratch.plan_table import show_plan
from zoo.scratch.run_settings import FurtherSettings, RunSettings, command_of
from zoo.scratch.text_run import TextRun
from zoo.scratch.time_left import TimeLeft

if TYPE_CHECKING:
    from keras_transformers.tasks import Task


class Steps(NamedTuple):
    """The steps of a run, in their order: on text, or on pairs of texts."""

    prepare: Callable[[Any], Any]
    facts: Callable[[Any, Plan], dict[str, str]]
    warnings: Callable[[Any, Plan], Iterable[str]]
    train: Callable[[Any, Plan], Task]
    finish: Callable[[Any, Plan, Task, str], tuple[Task, dict[str, float]]]
    next_commands: Callable[[Any], list[str]]


ON_TEXT = Steps(
    TextRun, plan_table.plan_facts, plan_table.warnings_of, text_rounds.train_rounds, text_rounds.finish,
    text_rounds.next_commands,
)  # fmt: skip
ON_FURTHER = ON_TEXT._replace(prepare=FurtherRun)
ON_PAIRS = Steps(
    PairRun, pair_table.plan_facts, pair_table.warnings_of, pair_rounds.train_rounds, pair_rounds.finish,
    pair_rounds.next_commands,
)  # fmt: skip
KINDS = {PairSettings: ON_PAIRS, FurtherSettings: ON_FURTHER}


def new(
    model: str,
    text: str | os.PathLike | Sequence[str | os.PathLike] | None = None,
    out: str | os.PathLike | None = None,
    **options: Any,
) -> Task:
    """Train a new model on text or on pairs of texts, and write its folder: `python -m zoo train` in Python.

    The same call resumes an interrupted run.

    Args:
        model: `"gpt2"`, `"llama"`, `"lstm"`, `"bert"` or `"t5"`; on pairs `"transformer"` or `"t5"`.
        text: Files, folders or patterns; None for pairs.
        out: Folder to write; `OUT.run` keeps tokens, figures and states.
        **options: Fields of `RunSettings`, such as `size`, `hours`, `steps`, `tokenizer` and `vocabulary`; for pairs
            `source` and `target`, two files, or `pairs`, a table, and the other fields of `PairSettings`.

    Returns:
        The trained `Task`.

    Raises:
        ValueError: There is no `out`, or nothing to learn from; an option is unknown or out of range; a file cannot be
            read.
    """
    if out is None:
        raise ValueError("zoo.new writes a folder: give out, such as out='runs/mine'.")
    is_paired = any(options.get(name) is not None for name in PAIRED)
    if text is None and not is_paired:
        raise ValueError(f"zoo.new({model!r}) has nothing to learn from: give text, or source and target, or pairs.")
    kind: type[RunSettings] = PairSettings if is_paired else RunSettings
    values = _values("zoo.new", kind, text, options)
    settings = kind(model=model, out=Path(out), **values)
    return run(settings, command_of(settings))[0]


def train_further(
    start: str | os.PathLike, text: str | os.PathLike | Sequence[str | os.PathLike], out: str | os.PathLike,
    **options: Any,
) -> Task:  # fmt: skip
    """Go on training a model on text, and write its folder: `python -m zoo train --from` in Python.

    An encoder learns to predict hidden tokens, a decoder the next token, a T5 hidden spans. The same call resumes
    an interrupted run. If held-out text is predicted no better than before, the result is the model as it was.

    Args:
        start: A name, a folder or a repository, as for `zoo.load`.
        text: Files, folders or patterns.
        out: Folder to write; `OUT.run` keeps tokens, figures and states.
        **options: Fields of `FurtherSettings`, such as `add_tokens`, `epochs`, `hours` and `max_length`.

    Returns:
        The trained `Task`.

    Raises:
        ValueError: An option is unknown or out of range, or the model or the text cannot be read.
    """
    values = _values("zoo.train_further", FurtherSettings, text, options)
    tokens = check_new_tokens(given) if (given := values.get("add_tokens")) else ()
    # A path is a folder, as for `zoo.load`, even if the zoo has a model of its name.
    name = start if isinstance(start, str) else os.path.join(os.curdir, os.fspath(start))
    settings = FurtherSettings(start=name, out=Path(out), **values | {"add_tokens": tuple(tokens)})
    return run(settings, command_of(settings))[0]


def _values(name: str, kind: type[RunSettings], text: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of settings from the arguments of a function: paths as str, checked for unknown names."""
    names = [field.name for field in fields(kind) if field.name not in ("model", "start", "text", "out")]
    if unknown := sorted(options.keys() - names):
        raise ValueError(f"{name} has no options {unknown}; it has {', '.join(names)}.")
    for key in ("text", "validation"):
        value = {"text": text, **options}.get(key, ())
        options[key] = tuple(map(os.fspath, [value] if isinstance(value, (str, os.PathLike)) else value or ()))
    paths = {key: os.fspath(value) for key, value in options.items() if isinstance(value, os.PathLike)}
    return options | paths


def run(
    settings: RunSettings, command: str, started: float | None = None
) -> tuple[Task, dict[str, float] | None]:  # fmt: skip
    """Run all steps from text to the folder of a model.

    Args:
        settings: The user's settings.
        command: Command line after `python -m zoo`, for the card.
        started: Start time by `time.monotonic`, from which `hours` are counted; None for now.

    Returns:
        The task, and what was measured on held-out text; None if this very run has ended before.
    """
    from keras_transformers.training.workers.distribute import is_chief
    from keras_transformers.training.workers.strategy import chosen

    time_left = TimeLeft(settings.hours, started)
    check_target(settings.out)
    kept = KeptPlan(settings)
    kept.check_model()
    steps = next((steps for kind, steps in KINDS.items() if isinstance(settings, kind)), ON_TEXT)
    with contextlib.ExitStack() as stack:
        # Standard input is kept in the folder of the run, which must not be another process's then.
        is_piped = STDIN in settings.text
        if is_piped and is_chief(chosen(settings.strategy)):
            stack.enter_context(kept.alone())
        work = steps.prepare(settings)
        work.time_left = time_left
        if kept.is_done(work.paths):
            from zoo.loading.load import load

            print(
                f"{settings.out} is the model of just this run, which has ended. Another --out or --seed trains anew."
            )
            return load(settings.out), None
        if not is_piped and is_chief(work.strategy):
            stack.enter_context(kept.alone())
        return _run_steps(steps, work, kept, command)


def _run_steps(steps: Steps, work: Any, kept: KeptPlan, command: str) -> tuple[Task, dict[str, float]]:
    kept.check()  # before the vocabulary and the tokens of the run that is under way are replaced
    plan = work.plan()
    show_plan(steps.facts(work, plan), steps.warnings(work, plan))
    try:
        task = steps.train(work, plan)
    except KeyboardInterrupt:
        print(f"\ninterrupted; repeat the command to resume from the last state in {kept.states}")
        raise
    task, results = steps.finish(work, plan, task, command)
    print("next:", *(f"  python -m zoo {line}" for line in steps.next_commands(work)), sep="\n", flush=True)
    return task, results
