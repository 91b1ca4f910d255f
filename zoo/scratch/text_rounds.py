"""The rounds of a run on text, its last measurement, and the folder that it writes."""

from __future__ import annotations

import importlib.util
import math
import shlex
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.scratch.chief_first import chief_alone
from zoo.scratch.corpus_run import CorpusRun
from zoo.scratch.kept_plan import KeptPlan, Plan
from zoo.scratch.round_log import RoundLog, Units, written
from zoo.scratch.run_card import card
from zoo.scratch.run_plan import FEWEST, FORWARD
from zoo.terminal.console import step

if TYPE_CHECKING:
    from keras_transformers.tasks import Task

MONITOR = "val_perplexity"
SAMPLE_TOKENS = 60


def train_rounds(run: CorpusRun, plan: Plan) -> Task:
    """Train by a plan, going on where an interrupted run was; return the task with the weights of its best round."""
    import keras

    from keras_transformers.training.best_epoch import BestEpoch
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupCosine
    from keras_transformers.training.resuming.resume import Resume
    from keras_transformers.training.workers.distribute import scope
    from keras_transformers.utils.keras_private import strategy_of
    from zoo.scratch.time_left import EndInTime

    settings, kept = run.settings, KeptPlan(run.settings)
    task = run.task(plan.size, plan.dropout, plan.dtype)
    dataset = run.dataset(task, plan.batch_size, steps_per_epoch=plan.round_steps)
    measured = run.corpus.measured
    rows = min(plan.held_out_steps * plan.batch_size, max(measured.num_tokens // run.max_length, 1))
    held_out = task.dataset(measured, batch_size=plan.batch_size, shuffle=False, num_rows=rows)
    with scope(strategy_of(task.model)):
        rate = WarmupCosine(plan.learning_rate, plan.warmup_steps, plan.steps)
        optimizer = AdamW(rate, weight_decay=settings.weight_decay, beta_2=run.wanted.beta_2)
        task.compile(optimizer, jit_compile=plan.jit_compile)
    best = BestEpoch(MONITOR, "down")
    patience = keras.callbacks.EarlyStopping(MONITOR, mode="min", patience=settings.patience)
    log = RoundLog(
        kept.folder, units(run, plan), best, sampler(run, task), f"{settings.out.name}: losses in nats a token"
    )
    resume = Resume(kept.states, dataset, every=plan.state_steps, callbacks=[best, patience])
    log.resume = resume
    in_time = EndInTime(run.time_left, reserve_of(plan), FEWEST)
    callbacks = [in_time, best, patience, log, *tensorboard(kept.folder), resume]
    task.model.fit(dataset, epochs=plan.rounds, validation_data=held_out, verbose=0, shuffle=False, callbacks=callbacks)
    return task


def reserve_of(plan: Plan) -> float:
    """Return the seconds of what follows the last step: the held-out text of its round, and the end of the run."""
    return plan.ending_seconds + FORWARD * plan.held_out_steps * plan.seconds


def tensorboard(folder: Path) -> list[Any]:
    """Return a callback that writes the figures for TensorBoard, where it is installed; else none."""
    import keras

    if importlib.util.find_spec("tensorboard") is None or keras.backend.backend() != "tensorflow":
        return []
    return [keras.callbacks.TensorBoard(folder / "tensorboard", write_graph=False)]


def units(run: CorpusRun, plan: Plan) -> Units:
    """Return what the figures of a run are made from."""
    held_out = run.corpus.measured
    characters = held_out.num_characters / held_out.num_tokens if run.wanted.learns.writes else None
    return Units(plan.batch_size * run.max_length, characters)


def sampler(run: CorpusRun, task: Task) -> Any:
    """Return a function that writes a sample; None for a model that does not write from a prompt."""
    if not run.wanted.learns.writes:
        return None
    prompt = run.settings.prompt or first_words(run.files)[: min(20, run.max_length // 8)]
    return partial(_write, task, prompt, min(SAMPLE_TOKENS, run.max_length // 2))


def first_words(texts: Iterable[str]) -> str:
    """Return the begin of the first line with text in it; a line end if there is none.

    Example:

    >>> first_words(["\\r\\n", "  The cat\\r\\nsat."])
    'The cat'
    """
    begin = next((text.lstrip() for text in texts if not text.isspace()), "")
    return begin[:20].splitlines()[0] if begin else "\n"


def _write(task: Task, prompt: str, tokens: int) -> str:
    return prompt + task.generate([prompt], max_new_tokens=tokens, temperature=0.8, seed=1, verbose=0)[0]


def finish(run: CorpusRun, plan: Plan, task: Task, command: str) -> tuple[Task, dict[str, float]]:
    """Measure a trained task on all held-out text, write its folder, and forget the states of the run.

    Args:
        run: The run.
        plan: Plan of the run.
        task: Task with the weights of the best round.
        command: Command line after `python -m zoo`, for the card.

    Returns:
        The task that was written: if no round is better than a model was before any step, that model; and what was
        measured, by name.
    """
    measured, before = run.held_out_figures(task, most_rows=plan.final_rows), plan.start_perplexity
    if before is not None and not measured["perplexity"] < before:  # nan, too
        print(f"no round is better than the start, whose perplexity is {before:.4g}: its weights are kept.")
        task = run.task(plan.size, plan.dropout, plan.dtype)
        measured = run.held_out_figures(task, ", of the start", plan.final_rows)
    check_converged(measured["perplexity"], plan, run.settings.run_folder)
    results = ({} if before is None else {"perplexity before any step": before}) | measured
    results["loss (nats a token)"] = math.log(results["perplexity"])
    if characters := units(run, plan).characters:
        results["loss (nats a character)"] = results["loss (nats a token)"] / characters
        results["bits a character"] = results["loss (nats a character)"] / math.log(2)
    run.restore(task, plan)  # fine-tuning has the family's dropout again
    with step(f"save {run.settings.out}"):
        task.save(run.settings.out, files=_files(run, plan, results, command))
    chief_alone(run.strategy, partial(KeptPlan(run.settings).write, plan, run.file_facts, done=True))
    return task, results


def check_converged(perplexity: float, plan: Plan, folder: Path) -> None:
    """Raise a `ValueError` if no round of a run was finite; nothing is written of it then.

    Args:
        perplexity: Perplexity of the weights to write, on held-out text.
        plan: Plan of the run.
        folder: Folder of the run.
    """
    if not math.isfinite(perplexity):
        remedy = f"a --learning-rate below {plan.learning_rate:.2g}"
        if plan.dtype != "float32":
            remedy += ", or --dtype float32"
        raise ValueError(
            f"training has diverged: the held-out perplexity is {perplexity} after every round, so no model is "
            f"written. Give {remedy}, and another --out; or remove {folder}, which would resume with the same settings."
        )


def next_commands(run: CorpusRun) -> list[str]:
    """Return the commands to run next, after `python -m zoo`."""
    out, first = shlex.quote(str(run.settings.out)), run.wanted.learns.next_command
    return [
        *([first.format(out=out)] if first else []),
        f"finetune {out} --train train.csv{run.finetune_options()} --out {out}-tuned",
        f"export {out} {out}-export/1",
    ]


def _files(run: CorpusRun, plan: Plan, results: dict[str, float], command: str) -> dict[str, str]:
    from zoo.scratch.plan_table import BEFORE, plan_facts

    facts = plan_facts(run, plan)
    if BEFORE in facts:
        facts[BEFORE] += f", {results['perplexity']:.4g} in the end" + _kept_start(plan, results)
    text = card(run.settings.out.name, facts, results, run.file_facts, command, next_commands(run))
    return {"README.md": text} | written(run.settings.run_folder)


def _kept_start(plan: Plan, results: dict[str, float]) -> str:
    return "" if results["perplexity"] < (plan.start_perplexity or 0) else ": no round was better than the start"
