"""The plan printed before training, as one table, and its warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from unicodedata import normalize

from tokenizers import Tokenizer as Library

from zoo.scratch.kept_plan import Plan
from zoo.scratch.run_plan import FEW, FRESH_PASSES
from zoo.terminal.console import counted, hanging, print_facts

if TYPE_CHECKING:
    from keras_transformers.text.tokenizer import Tokenizer
    from zoo.scratch.corpus_run import CorpusRun
    from zoo.scratch.run_settings import RunSettings

STATE_BYTES = 16  # of a parameter in training: weight, gradient and AdamW's two moments in float32
TOKENS_A_ROW = 10  # of the corpus, at least, for each token of the vocabulary
UNKNOWN, REPEATED = 0.001, 0.2  # shares from which on the user is warned
UNLIKE = 1.5  # times the share to hold out that was asked for
BEFORE = "held-out perplexity"


def show_plan(facts: Mapping[str, str], warnings: Iterable[str]) -> None:
    """Print the facts of a plan, and its warnings."""
    print_facts(facts)
    for warning in warnings:
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
        "copies": _copies(run),
        "vocabulary": f"{run.tokenizer.vocabulary_size:,} tokens{rewritten(run.tokenizer)}",
        **run.facts(),
        "model": f"{run.model}: {layers} layers of {width}, {heads} heads, {plan.parameters:,} parameters",
        "memory": memory(plan),
        "training": f"{plan.steps:,} steps of {plan.batch_size} x {run.max_length} tokens: "
        f"{plan.steps * tokens / max(train.num_tokens, 1):.3g} passes over the text; learning rate "
        f"{plan.learning_rate:.2g}, dropout {plan.dropout:g}, {plan.dtype}{', XLA' if plan.jit_compile else ''}",
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
    text = f"{share:.1%} of the text, spread over the corpus"
    return text if asked / UNLIKE < share < asked * UNLIKE else f"{text}; {asked:.1%} was asked for"


def _copies(run: CorpusRun) -> str:
    """Return how much of the held-out text is in the training text, too, how much is left, and what is measured."""
    corpus, facts = run.corpus, run.corpus.facts
    found = (
        f"{facts.copied_characters:.1%} of the held-out characters are in the training text, too; "
        f"{facts.uncopied_characters:.1%} of the held-out text is left without copies"
    )
    if not facts.is_leaking:
        return found
    if corpus.measured is corpus.held_out:
        return f"{found}, which is too little to measure on: losses are measured on all held-out text"
    return f"{found}: losses are measured on these {corpus.measured.num_tokens:,} tokens, and choose the best round"


def warnings_of(run: CorpusRun, plan: Plan) -> Iterator[str]:
    """Yield what may go wrong with a plan."""
    train, _, facts = run.corpus
    remedies = run.remedies
    yield from run.notes()
    yield from few_steps(run.settings, plan)
    vocabulary = run.tokenizer.vocabulary_size
    if "vocabulary" in remedies and train.num_tokens < TOKENS_A_ROW * vocabulary:
        yield (
            f"the vocabulary of {vocabulary:,} tokens is large for {train.num_tokens:,} tokens of text: many occur "
            f"hardly ever. {remedies['vocabulary'].format(most=max(train.num_tokens // TOKENS_A_ROW, 300))}"
        )
    passes = plan.steps * plan.batch_size * run.max_length / max(train.num_tokens, 1)
    if plan.parameters > train.num_tokens and passes > FRESH_PASSES:
        yield (
            f"the model has {plan.parameters:,} parameters for {train.num_tokens:,} tokens of text, which it reads "
            f"{passes:.0f} times: it will memorise them. {remedies['size']}"
        )
    all_tokens = facts.train_tokens + facts.held_out_tokens
    if facts.unknown_tokens > UNKNOWN * all_tokens:
        examples = ", ".join(map(repr, facts.unknown_examples[:5]))
        yield (
            f"{facts.unknown_tokens / all_tokens:.2%} of the tokens are unknown tokens, for text that is not in the "
            f"vocabulary, such as {examples}. {remedies['unknown']}"
        )
    if facts.is_leaking:
        yield (
            f"{facts.copied_characters:.1%} of the held-out characters are in the training text, too "
            f"({facts.shared_lines:.1%} of the lines), as duplicates or as wording that recurs: {_consequence(run)}. "
            "Remove the duplicates, or give --validation FILES."
        )
    if facts.repeated_lines > REPEATED:
        yield f"{facts.repeated_lines:.0%} of the lines of the corpus repeat others. Remove the duplicates."
    if (lost := lost_lines(run.tokenizer, run.sample())) is not None:
        yield (
            f"the vocabulary does not keep texts as they are: {lost[0]!r} comes back as {lost[1]!r}. {remedies['lost']}"
        )


def _consequence(run: CorpusRun) -> str:
    if run.corpus.measured is run.corpus.held_out:
        return "too little is left without copies, and the held-out loss will be too good"
    return f"losses are measured on the {run.corpus.facts.uncopied_characters:.1%} that are left without copies"


def few_steps(settings: RunSettings, plan: Plan) -> Iterator[str]:
    """Yield the warning that a time is too short to learn much."""
    if settings.hours is not None and plan.steps < FEW:
        hours = settings.hours + (FEW - plan.steps) * plan.seconds / 3600
        yield (
            f"in --hours {settings.hours:g} there are only {plan.steps} steps, too few to learn much from the text. "
            f"Give at least --hours {hours:.2g}, or a smaller --size."
        )


def rewritten(tokenizer: Tokenizer) -> str:
    """Return what a vocabulary does to capitals and accents, as a clause.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> rewritten(Tokenizer.train(["The cat"], 40)), rewritten(Tokenizer.train([], model="bytes"))
    (', lower-cased, without accents', '')
    """
    normalizer = Library.from_str(tokenizer.to_json(pretty=False)).normalizer
    letters = normalize("NFD", normalizer.normalize_str("É") if normalizer else "É")
    lowercase = ", lower-cased" if letters == letters.lower() else ""
    return lowercase if "\u0301" in letters else f"{lowercase}, without accents"


def lost_lines(tokenizer: Tokenizer, texts: str | Iterable[str]) -> tuple[str, str] | None:
    """Return the first line that does not come back from its tokens, and what comes back; None if all do.

    Args:
        tokenizer: The tokenizer.
        texts: One text, or several.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> lost_lines(Tokenizer.train(["The cat"], 40), "The  cat")
    ('The  cat', 'the cat')
    """
    for text in [texts] if isinstance(texts, str) else texts:
        lines = text.splitlines()
        for line, row in zip(lines, tokenizer.encode(lines, special_tokens=False) if lines else (), strict=True):
            if (back := tokenizer.decode(row.ids)) != line:
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
