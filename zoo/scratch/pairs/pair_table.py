"""The plan printed before training on pairs, as one table, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from zoo.scratch.kept_plan import Plan
from zoo.scratch.pairs.encoded_pairs import RATIO
from zoo.scratch.pairs.pair_choice import FEWEST, SHARED
from zoo.scratch.pairs.translation_scores import bleu_signature
from zoo.scratch.plan_table import TOKENS_A_ROW, UNKNOWN, duration, few_steps, memory

if TYPE_CHECKING:
    from zoo.scratch.pairs.pair_run import PairRun

EQUAL, REPEATED, LEFT_OUT = 0.05, 0.1, 0.05  # shares from which on the user is warned
LONGER = 2.0  # one side's tokens for each of the other
HEART = 20  # passes over fewer tokens than parameters
LARGE = 1 << 30  # bytes of files: several gigabytes of memory


def plan_facts(run: PairRun, plan: Plan) -> dict[str, str]:
    """Return the facts of a plan, by name, as they are printed."""
    settings, (train, held_out), facts = run.settings, run.encoded, run.pair_facts
    layers, heads, width = plan.size
    decoder_layers = run.config(plan.size).num_decoder_layers or layers
    sources, targets = train.tokens
    given = "files of --validation-source and --validation-target" if settings.has_validation else "by their sources"
    rows = held_out.rows.num_rows
    return {
        "pairs": f"{facts.pairs:,}: {train.rows.num_rows:,} to learn from, {rows:,} held out ({given}); "
        f"{facts.held_out_targets:.1%} of the held-out targets are also targets of other sources",
        "left out": left_out(run),
        "tokens": f"{sources:,} of sources, {targets:,} of targets to learn from; {sum(held_out.tokens):,} held out",
        "lengths": f"{_lengths(train.rows.sources.lengths)} of sources, {_lengths(train.rows.targets.lengths)} of "
        f"targets (tokens: half of the texts, 99 %, the longest; at most {run.max_length})",
        "vocabulary": f"{run.tokenizer.vocabulary_size:,} tokens for both sides",
        "model": f"{settings.model}: {layers} + {decoder_layers} layers of {width}, {heads} heads, "
        f"{plan.parameters:,} parameters",
        "memory": f"{memory(plan)}; all pairs ({run.files.size / 1e6:,.0f} MB of files) are in memory",
        "training": f"{plan.steps:,} steps of at most {settings.batch_tokens:,} tokens a side: "
        f"{plan.steps / run.steps_a_pass:.3g} passes over the pairs; learning rate {plan.learning_rate:.2g} "
        f"({settings.schedule}, {plan.warmup_steps:,} steps of warm-up), dropout {plan.dropout:g}, {plan.dtype}",
        "speed": f"{1 / plan.seconds:.3g} steps, {run.tokens_a_step / plan.seconds:,.0f} tokens of both sides a second "
        "(measured)",
        "time": f"{duration(plan.steps * plan.seconds)} of training steps to the end; a round of {plan.round_steps:,} "
        f"steps takes {duration(plan.round_steps * plan.seconds)}",
        "scores": bleu_signature(run.lowercases),
    }


def left_out(run: PairRun) -> str:
    """Return the counts of the pairs that are left out, and why."""
    facts = run.pair_facts
    counts = {
        "without text": facts.blank,
        "with text on one side only": facts.half_blank,
        f"of more than {run.max_length} tokens": sum(side.too_long for side in run.encoded),
        f"with one side more than {RATIO} times as long as the other": sum(side.unequal for side in run.encoded),
        "with a source of the held-out files": run.left_for_validation,
        "held out, with a target that is learned from, too": run.left_for_targets,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"


def _lengths(lengths: np.ndarray) -> str:
    middle, nearly_all, longest = np.percentile(lengths, (50, 99, 100))
    return f"{middle:.0f}, {nearly_all:.0f}, {longest:.0f}"


def warnings_of(run: PairRun, plan: Plan) -> Iterator[str]:
    """Yield what may go wrong with a plan."""
    yield from _of_pairs(run)
    yield from few_steps(run.settings, plan)
    (train, held_out), vocabulary = run.encoded, run.tokenizer.vocabulary_size
    tokens = sum(train.tokens)
    if run.learns_pieces and tokens < TOKENS_A_ROW * vocabulary:
        yield (
            f"the vocabulary of {vocabulary:,} tokens is large for {tokens:,} tokens of text: many occur hardly ever. "
            f"Give a --vocabulary of at most {max(tokens // TOKENS_A_ROW, 300):,}."
        )
    if plan.parameters > tokens and plan.steps > HEART * run.steps_a_pass:
        yield (
            f"the model has {plan.parameters:,} parameters for {tokens:,} tokens of pairs, which it reads "
            f"{plan.steps / run.steps_a_pass:.0f} times: it will memorise them. Give a smaller --size, or more "
            "pairs."
        )
    if max(train.unknown, held_out.unknown) > UNKNOWN:
        yield (
            f"{train.unknown:.2%} of the tokens to learn from and {held_out.unknown:.2%} of the held-out ones are "
            "unknown tokens, for text that is not in the vocabulary. Give --tokenizer byte_pair, which knows every "
            "text, or a larger --vocabulary."
        )
    if held_out.rows.num_rows < FEWEST:
        yield f"{held_out.rows.num_rows} held-out pairs are few to measure on: scores will be rough."


def _of_pairs(run: PairRun) -> Iterator[str]:
    facts, (train, _) = run.pair_facts, run.encoded
    if facts.half_blank:
        yield (
            f"{facts.half_blank:,} pairs have a text on one side only and are left out, the first where "
            f"{facts.first_half_blank} is empty. Check whether the lines around it belong together."
        )
    if facts.equal > EQUAL:
        yield f"{facts.equal:.1%} of the targets are their sources: the model will learn to copy. Remove these pairs."
    if facts.repeated > REPEATED:
        yield f"{facts.repeated:.1%} of the pairs repeat others. Remove the duplicates."
    if train.unequal > LEFT_OUT * len(run.choice.train.sources):
        yield (
            f"{train.unequal:,} pairs have sides of very different lengths: check whether the lines belong together, "
            "for instance in the middle of the files."
        )
    sources, targets = train.tokens
    if max(sources, targets) > LONGER * min(sources, targets):
        longer = "sources" if sources > targets else "targets"
        yield (
            f"the {longer} have {max(sources, targets) / min(sources, targets):.1f} times as many tokens as the other "
            "side: check whether the lines belong together."
        )
    if facts.held_out_targets > SHARED:
        yield (
            f"{facts.held_out_targets:.1%} of the held-out targets are also targets to learn from: "
            + ("these pairs are not measured" if run.left_for_targets else "scores will be too good")
            + ". Remove duplicates, or give --validation-source and --validation-target."
        )
    if run.files.size > LARGE:
        yield (
            f"the files have {run.files.size / 1e9:.1f} GB, and all pairs are kept in memory, several times as much. "
            "A few million pairs fit in memory: give a part of the pairs."
        )
