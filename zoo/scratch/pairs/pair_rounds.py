"""The rounds of a run on pairs, its last measurement, and the folder that it writes."""

from __future__ import annotations

import math
import shlex
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any

from zoo.scratch.chief_first import chief_alone
from zoo.scratch.kept_plan import KeptPlan, Plan
from zoo.scratch.pairs.pair_run import PairRun
from zoo.scratch.pairs.pair_table import plan_facts
from zoo.scratch.pairs.translation_scores import RoundTranslations, scores_of
from zoo.scratch.round_log import RoundLog, Units, written
from zoo.scratch.run_card import card
from zoo.scratch.run_plan import FEWEST
from zoo.scratch.text_rounds import MONITOR, check_converged, reserve_of, tensorboard
from zoo.terminal.console import step

if TYPE_CHECKING:
    from keras_transformers.tasks import Task

AVERAGED = 5  # rounds, the mean of whose weights is tried in the end
MEANS = "epochs"  # their folder


def train_rounds(run: PairRun, plan: Plan) -> Task:
    """Train by a plan, going on where an interrupted run was; return the task with the weights of its best round, or
    the mean of the last rounds, whichever has the lower loss on held-out pairs.
    """
    import keras

    from keras_transformers.training.averaging import AverageEpochs
    from keras_transformers.training.best_epoch import BestEpoch
    from keras_transformers.training.resuming.resume import Resume
    from keras_transformers.training.workers.distribute import is_chief
    from zoo.scratch.time_left import EndInTime

    settings, kept = run.settings, KeptPlan(run.settings)
    task = run.task(plan.size, plan.dropout, plan.dtype)
    dataset = run.dataset(task, steps_per_epoch=plan.round_steps)
    held_out = run.batches(task, run.measured_rows(plan), shuffle=False, by_length=True)
    _compile(run, plan, task)
    translations = RoundTranslations(task, run.round_sample, int(run.encoded[1].rows.targets.lengths.max()))
    best = BestEpoch(MONITOR, "down")
    patience = keras.callbacks.EarlyStopping(MONITOR, mode="min", patience=settings.patience)
    title = f"{settings.out.name}: losses in nats a token"
    log = RoundLog(
        kept.folder, Units(run.tokens_a_step, None), best, translations.sample, title,
        partial(textwrap.indent, prefix="  "),
    )  # fmt: skip
    resume = Resume(kept.states, dataset, every=plan.state_steps, callbacks=[best, patience])
    log.resume = resume
    in_time = EndInTime(run.time_left, reserve_of(plan), FEWEST)
    scores = [translations.callback()] if is_chief(run.strategy) else []  # no other worker reads them
    average = AverageEpochs(kept.states / MEANS, count=min(AVERAGED, max(plan.rounds // 4, 1)))
    task.model.fit(
        dataset, epochs=plan.rounds, validation_data=held_out, verbose=0, shuffle=False,
        callbacks=[in_time, *scores, best, patience, log, *tensorboard(kept.folder), resume, average],
    )  # fmt: skip
    _choose_weights(run, task, best)
    run.seconds_a_pair = translations.seconds_a_pair
    return task


def _compile(run: PairRun, plan: Plan, task: Task) -> None:
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupCosine, WarmupInverseSqrt
    from keras_transformers.training.workers.distribute import scope
    from keras_transformers.utils.keras_private import strategy_of

    with scope(strategy_of(task.model)):
        rate: Any = WarmupInverseSqrt(plan.learning_rate, plan.warmup_steps)
        if run.settings.schedule == "cosine":
            rate = WarmupCosine(plan.learning_rate, plan.warmup_steps, plan.steps)
        optimizer = AdamW(rate, weight_decay=run.settings.weight_decay, beta_2=run.wanted.beta_2)
        task.compile(optimizer, jit_compile=plan.jit_compile)


def _choose_weights(run: PairRun, task: Task, best: Any) -> None:
    """Keep the mean of the last rounds, which the model has, or restore the weights of the best round."""
    mean, of_mean = task.model.get_weights(), _perplexity(run, task)
    if best.best_weights is None:
        return
    task.model.set_weights(best.best_weights)
    of_best = _perplexity(run, task)
    which = "the best round" if of_best <= of_mean else "the mean of the last rounds"
    print(
        f"held-out perplexity {of_best:.4g} with the weights of round {best.best_epoch + 1}, {of_mean:.4g} with the "
        f"mean of the last rounds: {which} is kept",
        flush=True,
    )
    if of_mean < of_best:
        task.model.set_weights(mean)


def _perplexity(run: PairRun, task: Task) -> float:
    dataset = run.batches(task, run.encoded[1].rows, shuffle=False, by_length=True)
    return float(task.model.evaluate(dataset, return_dict=True, verbose=0)["perplexity"])


def finish(run: PairRun, plan: Plan, task: Task, command: str) -> tuple[Task, dict[str, float]]:
    """Measure a trained task on all held-out pairs, write its folder, and forget the states of the run.

    Args:
        run: The run.
        plan: Plan of the run.
        task: Task with the weights to keep.
        command: Command line after `python -m zoo`, for the card.

    Returns:
        The task, and what was measured, by name: of several workers, the chief has the scores of translations.
    """
    settings, kept = run.settings, KeptPlan(run.settings)
    results = {"perplexity": _perplexity(run, task)}
    check_converged(results["perplexity"], plan, settings.run_folder)
    results["loss (nats a token)"] = math.log(results["perplexity"])
    scored = run.scored(run.seconds_a_pair)
    with step(f"translate {len(scored.sources):,} held-out pairs"):
        translate = partial(task.generate, verbose=0)
        results |= chief_alone(run.strategy, partial(scores_of, translate, scored)) or {}
    task.config = run.config(plan.size)  # fine-tuning has the family's dropout again
    text = card(settings.out.name, plan_facts(run, plan), results, run.file_facts, command, next_commands(run))
    with step(f"save {settings.out}"):
        task.save(settings.out, files={"README.md": text} | written(settings.run_folder))
    chief_alone(run.strategy, partial(kept.write, plan, run.file_facts, done=True))
    return task, results


def next_commands(run: PairRun) -> list[str]:
    """Return the commands to run next, after `python -m zoo`."""
    out = shlex.quote(str(run.settings.out))
    return [
        f'generate {out} "..."',
        f"evaluate {out} --data pairs.tsv --text 0 --label 1",
        f"finetune {out} --train pairs.csv --out {out}-tuned",
        f"export {out} {out}-export/1",
    ]
