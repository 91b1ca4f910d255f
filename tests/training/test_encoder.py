"""A whole small encoder: token labels and next-sentence labels in one `fit`, frozen blocks, dropout, padding."""

import keras
import numpy as np
import pytest

from keras_transformers.families import bert
from keras_transformers.heads.next_sentence import next_sentence_head
from keras_transformers.heads.pooling import pooler
from keras_transformers.models.encoder import encoder
from keras_transformers.training.freeze import freeze
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.metrics.target_metrics import Accuracy, MeanCrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.schedules import WarmupLinear

rng = np.random.default_rng(0)
IDS = rng.integers(5, 20, (16, 8)).astype("int32")
LENGTHS = np.tile([8, 3, 5, 6], 4)
MASK = np.arange(8) < LENGTHS[:, None]
X = {"token_ids": np.where(MASK, IDS, 0), "segment_ids": np.zeros_like(IDS), "padding_mask": MASK}
Y = {"labels": np.where(MASK, IDS % 3, -1), "next_sentence_logits": (IDS[:, 0] > 11).astype("int32")}


def model(optimizer, dropout=0.0, frozen=(), **options):
    keras.utils.set_random_seed(1)
    config = bert(
        vocabulary_size=20, num_layers=2, num_heads=2, hidden_dim=16, dropout=dropout, attention_dropout=dropout
    )
    backbone = encoder(config)
    hidden = backbone.output["hidden_states"]
    outputs = {"labels": keras.layers.Dense(3, name="tokens")(hidden)}
    outputs["next_sentence_logits"] = next_sentence_head(config, pooler(config, hidden))
    network = keras.Model(backbone.input, outputs)
    freeze(network, frozen)
    measures = {name: [MeanCrossEntropy(), Accuracy()] for name in outputs}
    kinds = {name: CrossEntropy() for name in outputs}
    network.compile(optimizer, kinds, metrics=measures, jit_compile=False, **options)
    return network


@pytest.mark.integration
def test_learns_both_tasks_with_the_first_block_frozen():
    network = model(AdamW(WarmupLinear(0.01, 4, 60)), dropout=0.1, frozen=["*_embedding*", "encoder_block_0/*"])
    first = network.get_layer("encoder_block_0").get_weights()
    history = network.fit(X, Y, batch_size=8, epochs=25, verbose=0).history
    assert history["labels_cross_entropy"][-1] < 0.7 * history["labels_cross_entropy"][0]
    assert history["next_sentence_logits_accuracy"][-1] > 0.7
    after = network.get_layer("encoder_block_0").get_weights()
    assert all(np.array_equal(a, b) for a, b in zip(first, after, strict=True))


@pytest.mark.integration
def test_padding_changes_no_step():
    wide = [{k: np.pad(v, ((0, 0), (0, 5))) for k, v in X.items()}, dict(Y)]
    wide[1]["labels"] = np.pad(Y["labels"], ((0, 0), (0, 5)), constant_values=-1)
    # Not Adam: it makes a whole step out of the rounding error of a gradient that is zero, as the key biases' is.
    networks = [model("sgd", run_eagerly=True) for _ in range(2)]  # of four steps: a graph takes longer to trace
    for network, data in zip(networks, ([X, Y], wide), strict=True):
        network.fit(*data, batch_size=8, epochs=2, shuffle=False, verbose=0)
    scores = [network.evaluate(X, Y, return_dict=True, verbose=0) for network in networks]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
