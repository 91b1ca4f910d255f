"""`zoo.new`: a new model from own text, in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo.scratch.kept_plan import KeptPlan
from zoo.scratch.plan_table import show_plan
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.text_rounds import finish, next_commands, train_rounds
from zoo.scratch.text_run import TextRun

if TYPE_CHECKING:
    from keras_transformers.tasks import Task


def new(
    model: str, text: str | os.PathLike | Sequence[str | os.PathLike], out: str | os.PathLike, **options: Any
) -> Task:
    """Train a new model on text, and write its folder: `python -m zoo train --text` in Python.

    The same call goes on with an interrupted run.

    Args:
        model: `"gpt2"`, `"llama"`, `"lstm"`, `"bert"` or `"t5"`.
        text: Files, folders or patterns.
        out: Folder to write; `OUT.run` keeps tokens, figures and states.
        **options: Fields of `RunSettings`, such as `size`, `hours`, `steps`, `tokenizer` and `vocabulary`.

    Returns:
        The trained `Task`.

    Raises:
        ValueError: An option is unknown or out of range, or the text cannot be read.
    """
    names = [field.name for field in fields(RunSettings)][3:]
    if unknown := sorted(options.keys() - names):
        raise ValueError(f"zoo.new has no options {unknown}; it has {', '.join(names)}.")
    for name in ("text", "validation"):
        value = {"text": text, **options}.get(name, ())
        options[name] = tuple(map(os.fspath, [value] if isinstance(value, (str, os.PathLike)) else value))
    return run(RunSettings(model=model, out=Path(out), **options), f"train --model {model}")[0]


def run(settings: RunSettings, command: str) -> tuple[Task, dict[str, float] | None]:
    """Run all steps from text to the folder of a model.

    Args:
        settings: What was asked.
        command: What was run, after `python -m zoo`; for the card.

    Returns:
        The task, and what was measured on held-out text; None if this very run has ended before.
    """
    check_target(settings.out)
    kept = KeptPlan(settings)
    if kept.is_done() and settings.out.is_dir():
        import zoo

        print(f"{settings.out} is the model of just this run, which has ended. Another --out, or --seed, trains anew.")
        return zoo.load(settings.out), None
    work = TextRun(settings)
    plan = work.plan()
    show_plan(work, plan)
    try:
        task = train_rounds(work, plan)
    except KeyboardInterrupt:
        print(f"\ninterrupted; the same command goes on from the last state in {kept.states}")
        raise
    results = finish(work, plan, task, command)
    print("next:", *(f"  python -m zoo {line}" for line in next_commands(work)), sep="\n", flush=True)
    return task, results
