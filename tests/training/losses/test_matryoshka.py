"""The loss at several widths, beside that of sentence-transformers and its parts."""

from __future__ import annotations

import types

import keras
import numpy as np
import pytest

from keras_transformers.training.losses import embedding_losses as losses
from keras_transformers.training.losses.matryoshka import Matryoshka

WEIGHTS = {12: 1.0, 5: 0.5, 2: 2.0}


def vectors(texts: int = 2, rows: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, texts, 12)).astype("float32")


LABELS = {
    "MultipleNegativesRanking": (2, np.arange(6)), "CosineError": (2, np.linspace(-1, 1, 6).astype("float32")),
    "Triplet": (3, np.arange(6)), "VectorDistance": (1, vectors(1, seed=1)[:, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_it_is_the_weighted_sum_over_the_first_numbers(name):
    loss, (texts, labels) = getattr(losses, name)(), LABELS[name]
    given, expected = vectors(texts), 0.0
    for width, weight in WEIGHTS.items():
        cut = given[..., :width] / np.linalg.norm(given[..., :width], axis=-1, keepdims=True)
        expected += weight * float(loss(labels[..., :width] if labels.ndim == 2 else labels, cut))
    assert float(Matryoshka(loss, WEIGHTS)(labels, given)) == pytest.approx(expected, rel=1e-5)
    assert float(Matryoshka(loss, [12, 5])(labels, given)) != pytest.approx(expected, rel=1e-2)


def test_rows_without_a_target_do_not_count():
    loss, labels = Matryoshka(losses.CosineError(), WEIGHTS), np.array([0.5, np.nan, 0.1, np.nan], "float32")
    given = vectors(rows=4)
    assert float(loss(labels, given)) == pytest.approx(float(loss(labels[::2], given[::2])), rel=1e-5)


def test_more_numbers_than_a_vector_has():
    with pytest.raises(ValueError, match=r"Received widths \[13\] for vectors of 12 numbers"):
        Matryoshka(losses.CosineError(), [12, 13])(np.ones(6), vectors())


def test_it_is_serialized():
    loss = Matryoshka(losses.Triplet(margin=0.3), WEIGHTS)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert (again.widths, again.loss.margin) == (WEIGHTS, 0.3)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["MultipleNegativesRanking", "CosineError"])
def test_it_is_that_of_sentence_transformers(name):
    import torch
    from sentence_transformers.sentence_transformer import losses as theirs

    texts, labels = LABELS[name]
    given = vectors(texts)

    class Model(torch.nn.Module):
        """Returns the vectors that a row of features holds."""

        def forward(self, features):
            return {"sentence_embedding": features["vectors"]}

        def get_embedding_dimension(self):
            return 12

    model = Model()
    model.model_card_data = types.SimpleNamespace(add_custom_class_names=lambda *_: None)
    kind = {"MultipleNegativesRanking": "MultipleNegativesRankingLoss", "CosineError": "CosineSimilarityLoss"}[name]
    reference = theirs.MatryoshkaLoss(
        model, getattr(theirs, kind)(model), [*WEIGHTS], matryoshka_weights=[*WEIGHTS.values()]
    )
    features = [{"vectors": torch.tensor(given[:, text])} for text in range(texts)]
    expected = reference(features, torch.tensor(labels))
    ours = Matryoshka(getattr(losses, name)(), WEIGHTS)(labels, given)
    assert float(ours) == pytest.approx(float(expected), rel=1e-5)
