"""Scores of generated text against references: BLEU, chrF and exact match, also after epochs of `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import keras

from keras_transformers.text.tokenizer import check_texts


def bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU4 of plain text, in percent: sacreBLEU's default (13a tokens, cased), as reports should use.

    Post 2018, https://arxiv.org/abs/1804.08771.

    >>> round(bleu(["The cat sat on the mat."], ["The cat sat on a mat."]), 2)
    48.89
    """
    return import_sacrebleu().corpus_bleu(texts, [references]).score


def tokenized_bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU4 of words separated by spaces, in percent, as in `multi-bleu.perl` and fairseq.

    For text that is tokenised already. To compare with results published for lower-cased text, lower-case both.

    >>> round(tokenized_bleu(["the cat sat on the mat ."], ["the cat sat on a mat ."]), 2)
    48.89
    """
    options = {"tokenize": "none", "smooth_method": "none", "force": True}
    return import_sacrebleu().corpus_bleu(texts, [references], **options).score


def chrf(texts: Sequence[str], references: Sequence[str]) -> float:
    """Return chrF2, the F-score of character 6-grams, in percent.

    Popović 2015, https://aclanthology.org/W15-3049.

    >>> round(chrf(["cats"], ["cats"]))
    100
    """
    return import_sacrebleu().corpus_chrf(texts, [references]).score


def exact_match(texts: Sequence[str], references: Sequence[str]) -> float:
    """Return the percentage of texts that equal their reference, apart from whitespace at both ends.

    >>> exact_match(["cat ", "dog"], ["cat", "mouse"])
    50.0
    """
    pairs = zip(texts, references, strict=True)
    return 100.0 * sum(text.strip() == reference.strip() for text, reference in pairs) / len(texts)


SCORES = {score.__name__: score for score in (bleu, tokenized_bleu, chrf, exact_match)}


class TextScores(keras.callbacks.Callback):
    """A callback that scores text generated for a held-out set after epochs, and logs `val_bleu` and so on.

    Callbacks after it in the list can monitor them: `EarlyStopping("val_bleu", mode="max")`. To score the moving
    averages of the weights, put `SwapEMAWeights(swap_on_epoch=True)` before it.

    Args:
        generate: A function from a list of strings to as many strings, such as `task.generate`.
        sources: The texts to generate from.
        references: The expected text for each source.
        scores: Names: `"bleu"`, `"tokenized_bleu"`, `"chrf"`, `"exact_match"`; all but the last need sacrebleu.
        every: Number of epochs between two scorings.

    Raises:
        ValueError: Sources and references differ in number, or are empty; one of them or `scores` is one str; or a
            score is unknown.
        ImportError: sacrebleu is missing.

    Example:

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> scores = TextScores(lambda texts: [text.upper() for text in texts], ["a", "b"], ["A", "C"], ["exact_match"])
    >>> data = keras.ops.ones((4, 1))
    >>> model.fit(data, data, verbose=0, callbacks=[scores]).history["val_exact_match"]
    [50.0]
    """

    def __init__(
        self,
        generate: Callable[[list[str]], list[str]],
        sources: Sequence[str],
        references: Sequence[str],
        scores: Sequence[str] = ("bleu", "chrf", "exact_match"),
        every: int = 1,
    ):
        super().__init__()
        sources, references = check_texts("sources", sources), check_texts("references", references)
        scores = check_texts("scores", scores)
        if len(sources) != len(references) or not len(sources):
            raise ValueError(
                f"Received {len(sources)} sources and {len(references)} references; expected one reference a source."
            )
        if unknown := [name for name in scores if name not in SCORES]:
            raise ValueError(f"Received scores={unknown}; expected {[*SCORES]}.")
        if every < 1:
            raise ValueError(f"Received every={every}; expected a number of epochs, at least 1.")
        if set(scores) - {"exact_match"}:
            import_sacrebleu()  # now, rather than after an epoch
        self.generate, self.sources, self.references = generate, sources, references
        self.scores, self.every = tuple(scores), every

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if (epoch + 1) % self.every:
            return
        _ = self.model  # on JAX, reading the property copies the training state into the model's variables
        texts = self.generate(self.sources)
        if len(texts) != len(self.references) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"Received {len(texts)} texts from generate; expected {len(self.references)} strings.")
        if logs is not None:  # Keras' own dict, which later callbacks read
            logs |= {f"val_{name}": SCORES[name](texts, self.references) for name in self.scores}


def import_sacrebleu() -> ModuleType:
    """Import sacrebleu, which computes BLEU and chrF. An `ImportError` says what to install."""
    try:
        import sacrebleu
    except ImportError as error:
        raise ImportError('BLEU and chrF need sacrebleu: pip install "keras_transformers[eval]".') from error
    return sacrebleu
