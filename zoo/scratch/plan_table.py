"""What a run tells before it starts: one table, and what the user is warned of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoo.cli.app import counted, hanging, print_facts
from zoo.scratch.run_plan import FRESH_PASSES, Plan

if TYPE_CHECKING:
    from keras_transformers.text.tokenizer import Tokenizer
    from zoo.scratch.corpus_run import CorpusRun

STATE_BYTES = 16  # of a parameter in training: weight, gradient and AdamW's two moments in float32
TOKENS_A_ROW = 10  # of the corpus, at least, for each token of the vocabulary
UNKNOWN, SHARED, REPEATED = 0.001, 0.01, 0.2  # shares from which on the user is warned
UNLIKE = 1.5  # times the share to hold out that was asked for
BEFORE = "held-out perplexity"


def show_plan(run: CorpusRun, plan: Plan) -> None:
    """Print the plan of a run, and its warnings."""
    print_facts(plan_facts(run, plan))
    for warning in warnings_of(run, plan):
        print(hanging("warning: ", warning), flush=True)


def plan_facts(run: CorpusRun, plan: Plan) -> dict[str, str]:
    """Return the facts of a plan, by name, as they are printed."""
    settings, (train, held_out, facts) = run.settings, run.corpus
    tokens = plan.batch_size * run.max_length
    layers, heads, width = plan.size
    return {
        "text": ", ".join(
            counted(number, noun)
            for number, noun in (
                (len(facts.files), "file"),
                (facts.documents, "document"),
                (facts.lines, "line"),
                (facts.characters, "character"),
            )
        ),
        "tokens": f"{train.num_tokens:,} to train on, {held_out.num_tokens:,} held out; "
        f"{held_out.num_characters / max(held_out.num_tokens, 1):.2f} characters a token",
        "held out": "files of --validation" if settings.validation else _share(run),
        "vocabulary": f"{run.tokenizer.vocabulary_size:,} tokens",
        **run.facts(),
        "model": f"{run.model}: {layers} layers of {width}, {heads} heads, {plan.parameters:,} parameters",
        "memory": memory(plan),
        "training": f"{plan.steps:,} steps of {plan.batch_size} x {run.max_length} tokens: "
        f"{plan.steps * tokens / max(train.num_tokens, 1):.3g} passes over the text; learning rate "
        f"{plan.learning_rate:.2g}, dropout {plan.dropout:g}, {plan.dtype}{', XLA' * plan.jit_compile}",
        **({} if plan.start_perplexity is None else {BEFORE: f"{plan.start_perplexity:.4g} before any step"}),
        "speed": f"{1 / plan.seconds:.3g} steps, {tokens / plan.seconds:,.0f} tokens a second (measured)",
        "time": f"{duration(plan.steps * plan.seconds)} of training steps to the end; a round of {plan.round_steps:,} "
        f"steps takes {duration(plan.round_steps * plan.seconds)}",
    }


def memory(plan: Plan) -> str:
    """Return how much memory the weights and what belongs to them take, and the whole process."""
    states = f"{STATE_BYTES * plan.parameters / 1e9:.2g} GB of weights, gradients and moments"
    if plan.peak_memory is None:
        return f"{states}, and activations"
    return f"{states}; {plan.peak_memory / 1e9:.2g} GB of main memory in all while the speed was measured"


def _share(run: CorpusRun) -> str:
    """Return the share of the text that is held out, and the one that was asked for where it is another."""
    asked, (_, held_out, facts) = run.settings.held_out, run.corpus
    share = held_out.num_characters / facts.characters
    unlike = f"; {asked:.1%} was asked for" * (not asked / UNLIKE < share < asked * UNLIKE)
    return f"{share:.1%} of the text, spread over the corpus{unlike}"


def warnings_of(run: CorpusRun, plan: Plan) -> Iterator[str]:
    """Yield what may go wrong with a plan."""
    train, _, facts = run.corpus
    remedies = run.remedies
    yield from run.notes()
    vocabulary = run.tokenizer.vocabulary_size
    if "vocabulary" in remedies and train.num_tokens < TOKENS_A_ROW * vocabulary:
        yield (
            f"the vocabulary of {vocabulary:,} tokens is large for {train.num_tokens:,} tokens of text: many are "
            f"hardly ever seen. {remedies['vocabulary'].format(most=max(train.num_tokens // TOKENS_A_ROW, 300))}"
        )
    passes = plan.steps * plan.batch_size * run.max_length / max(train.num_tokens, 1)
    if plan.parameters > train.num_tokens and passes > FRESH_PASSES:
        yield (
            f"the model has {plan.parameters:,} parameters for {train.num_tokens:,} tokens of text, which it reads "
            f"{passes:.0f} times: it will learn them by heart. {remedies['size']}"
        )
    all_tokens = facts.train_tokens + facts.held_out_tokens
    if facts.unknown_tokens > UNKNOWN * all_tokens:
        examples = ", ".join(map(repr, facts.unknown_examples[:5]))
        yield (
            f"{facts.unknown_tokens / all_tokens:.2%} of the tokens stand for text that is not in the vocabulary, such "
            f"as {examples}. {remedies['unknown']}"
        )
    if facts.shared_lines > SHARED:
        yield (
            f"{facts.shared_lines:.1%} of the held-out lines are in the training text, too: the held-out loss will be "
            "too good. Remove the duplicates, or give --validation FILES."
        )
    if facts.repeated_lines > REPEATED:
        yield f"{facts.repeated_lines:.0%} of the lines of the corpus repeat others. Remove the duplicates."
    if (lost := lost_lines(run.tokenizer, next(iter(run.files)))) is not None:
        yield (
            f"the vocabulary does not keep texts as they are: {lost[0]!r} comes back as {lost[1]!r}. {remedies['lost']}"
        )


def lost_lines(tokenizer: Tokenizer, text: str) -> tuple[str, str] | None:
    """Return the first line that does not come back from its tokens, and what comes back; None if all do.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> lost_lines(Tokenizer.train(["The cat"], 40), "The  cat")
    ('The  cat', 'the cat')
    """
    for line in text.splitlines():
        ids = tokenizer.encode([line], special_tokens=False)[0].ids
        if (back := tokenizer.decode(ids)) != line:
            return line, back
    return None


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Example:

    >>> duration(42), duration(600), duration(9000)
    ('42 seconds', '10 minutes', '2.5 hours')
    """
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{round(seconds / size)} {unit}"
    return counted(math.ceil(seconds), "second")
