"""Scores of translations, and samples of them, while a model is trained and after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from keras_transformers.training.metrics.text_scores import SCORES, TextScores, import_sacrebleu
from zoo.scratch.pairs.pair_files import Pairs

ROUND_BATCH = 64
SHOWN = 3  # pairs of a sample
SPARE = 1.5  # times the tokens of the longest target, at most, are written in a round
NOT_INSTALLED = 'BLEU and chrF are not measured: they need sacrebleu, pip install "keras_transformers[eval]".'


def score_names() -> tuple[str, ...]:
    """Return the names of the scores that can be computed here."""
    try:
        import_sacrebleu()
    except ImportError:
        return ("exact_match",)
    return ("bleu", "chrf", "exact_match")


def bleu_signature(lowercase: bool = False) -> str:
    """Return how sacreBLEU computes its score, as reports name it; why there is none where it is not installed.

    Args:
        lowercase: Whether translations and references are in lower case.
    """
    try:
        sacrebleu = import_sacrebleu()
    except ImportError:
        return NOT_INSTALLED
    metric = sacrebleu.metrics.BLEU(lowercase=lowercase)
    metric.corpus_score(["a"], [["a"]])  # the signature names the number of references
    return str(metric.get_signature())


class RoundTranslations:
    """Greedy translations of some held-out pairs, which every round scores and shows.

    Args:
        task: The task.
        pairs: The pairs.
        most_tokens: Tokens of the longest target.
    """

    def __init__(self, task: Any, pairs: Pairs, most_tokens: int):
        self.task, self.pairs = task, pairs
        self.new_tokens = min(int(SPARE * most_tokens) + 5, task.max_length - 1)
        self.last: list[str] = []
        self.seconds_a_pair = 0.0  # of the last call

    def __call__(self, texts: list[str]) -> list[str]:
        """Translate, and keep what was written."""
        begin = time.monotonic()
        self.last = self.task.generate(
            texts, num_beams=1, max_new_tokens=self.new_tokens, batch_size=ROUND_BATCH, verbose=0
        )
        self.seconds_a_pair = (time.monotonic() - begin) / max(len(texts), 1)
        return self.last

    def callback(self) -> TextScores:
        """Return the callback that scores the translations after each round."""
        return TextScores(self, self.pairs.sources, self.pairs.targets, score_names()[:1])

    def sample(self) -> str:
        """Return some translations of the last round, each beside its reference."""
        step = max(len(self.last) // SHOWN, 1)
        rows = [*zip(self.pairs.sources, self.last, self.pairs.targets, strict=True)][::step][:SHOWN]
        return "\n".join(f"{source} -> {text} (reference: {target})" for source, text, target in rows)


def scores_of(translate: Callable[[list[str]], list[str]], pairs: Pairs) -> Mapping[str, float]:
    """Translate held-out pairs and return the scores by name."""
    texts = translate(pairs.sources)
    return {name: SCORES[name](texts, pairs.targets) for name in score_names()}
