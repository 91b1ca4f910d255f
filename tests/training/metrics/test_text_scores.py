"""Scores of generated text: known values, and their place in the logs of `fit`."""

import sys

import keras
import numpy as np
import pytest

from keras_transformers.training.metrics.text_scores import TextScores, bleu, chrf, exact_match, tokenized_bleu

TEXTS = ["the cat sat on the mat .", "a dog ran ."]
REFERENCES = ["the cat sat on a mat .", "a dog ran away ."]


def four_grams(text, n):
    words = text.split()
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def multi_bleu(texts, references):
    """The formula of `multi-bleu.perl` for one reference."""
    precisions = []
    for n in range(1, 5):
        hits = total = 0
        for text, reference in zip(texts, references, strict=True):
            left = four_grams(reference, n)
            for gram in four_grams(text, n):
                total += 1
                if gram in left:
                    left.remove(gram)
                    hits += 1
        precisions.append(hits / total)
    lengths = [sum(len(line.split()) for line in lines) for lines in (texts, references)]
    brevity = min(1.0, np.exp(1 - lengths[1] / lengths[0]))
    return 100 * brevity * np.exp(np.mean(np.log(precisions))) if all(precisions) else 0.0


def test_tokenized_bleu_is_that_of_multi_bleu():
    assert tokenized_bleu(TEXTS, REFERENCES) == pytest.approx(multi_bleu(TEXTS, REFERENCES), abs=1e-6)
    assert tokenized_bleu(REFERENCES, REFERENCES) == pytest.approx(100)
    assert tokenized_bleu(["a b"], ["a c"]) == 0  # without smoothing
    assert tokenized_bleu(["A ( b ) c d e"], ["a ( b ) c d e"]) < 100


def test_bleu_splits_punctuation_off():
    assert bleu(["The cat, it sat."], ["The cat , it sat ."]) == pytest.approx(100)
    assert tokenized_bleu(["The cat, it sat."], ["The cat , it sat ."]) == 0


def test_the_other_scores():
    assert chrf(["abcdefgh"], ["abcdefgh"]) == pytest.approx(100)
    assert 0 < chrf(["abcdefgx"], ["abcdefgh"]) < 100
    assert exact_match(["a ", "b", "C"], ["a", " b", "c"]) == pytest.approx(200 / 3)


class Echo:
    """Answers by the references from the second epoch on."""

    def __init__(self):
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        return texts if self.calls == 1 else REFERENCES


def fit(*callbacks, epochs=2):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model, model.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=epochs, verbose=0, callbacks=list(callbacks))


def test_scores_stand_in_the_logs_for_others_to_watch():
    scores = TextScores(Echo(), TEXTS, REFERENCES, ["bleu", "tokenized_bleu", "chrf", "exact_match"])
    stop = keras.callbacks.EarlyStopping("val_tokenized_bleu", mode="max", patience=1)
    _, history = fit(scores, stop, epochs=5)
    assert history.epoch == [0, 1, 2]
    assert history.history["val_exact_match"] == [0, 100, 100]
    expected = [multi_bleu(TEXTS, REFERENCES), 100, 100]
    assert history.history["val_tokenized_bleu"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.integration
def test_every_second_epoch_with_the_weights_of_that_epoch():
    seen = []

    def generate(texts):
        seen.append([w.tolist() for w in model.get_weights()])
        return texts

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    scores = TextScores(generate, TEXTS, REFERENCES, ["exact_match"], every=2)
    after = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: kept.append(after.model.get_weights()))
    kept = []
    model.fit(np.ones((4, 1)), np.zeros((4, 1)), epochs=4, verbose=0, callbacks=[scores, after])
    assert seen == [[w.tolist() for w in kept[epoch]] for epoch in (1, 3)]
    assert seen[0] != seen[1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["a"], ["a", "b"]), "1 sources and 2 references"),
        (([], []), "0 sources"),
        ((["a"], ["a"], ["blue"]), r"scores=\['blue'\]; expected \['bleu'"),
        ((["a"], ["a"], "bleu"), "`scores`, received one str"),
        (("a", ["a"]), "`sources`, received one str"),
        ((["a"], ["a"], ["exact_match"], 0), "every=0"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        TextScores(list, *arguments)


def test_a_generator_that_loses_a_text():
    with pytest.raises(ValueError, match="1 texts from generate; expected 2 strings"):
        fit(TextScores(lambda texts: texts[:1], TEXTS, REFERENCES))


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r"keras_transformers\[eval\]"):
        TextScores(list, TEXTS, REFERENCES)
    fit(TextScores(list, TEXTS, REFERENCES, ["exact_match"]), epochs=1)


def test_a_generator_of_something_else_than_texts():
    with pytest.raises(ValueError, match="2 texts from generate; expected 2 strings"):
        fit(TextScores(lambda texts: [text.encode() for text in texts], TEXTS, REFERENCES))
