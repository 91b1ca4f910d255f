"""Not a test: `sharded.py RUN...` trains small models on 8 virtual devices and prints what came out, a line of JSON
each. A run is `MODEL-LAYOUT`, such as `decoder-2x4`.

A process of its own: JAX takes the number of virtual devices only before it starts.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 " + os.environ.get("XLA_FLAGS", "")
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None

import keras  # noqa: E402
import numpy as np  # noqa: E402

import zoo  # noqa: E402
from keras_transformers.families import bert, gpt2, llama, t5  # noqa: E402
from keras_transformers.heads import language_model_head, masked_lm_head  # noqa: E402
from keras_transformers.models import decoder, encoder, encoder_decoder  # noqa: E402
from keras_transformers.training.losses.target_losses import CrossEntropy  # noqa: E402
from keras_transformers.training.optimizers.adamw import AdamW  # noqa: E402
from keras_transformers.training.workers.layouts import model_parallel  # noqa: E402

warnings.filterwarnings("error", message="Detected a mix of local")
ROWS, LENGTH, BATCH = 64, 8, 16
SIZES = {"num_layers": 1, "num_heads": 8, "hidden_dim": 32, "max_length": LENGTH}
# Dropout is on; 50 tokens do not divide among devices; `grouped` has two heads of keys and values.
CONFIGS = {
    "encoder": bert(48, **SIZES),
    "decoder": gpt2(50, **SIZES),
    "grouped": llama(48, num_kv_heads=2, intermediate_dim=64, dropout=0.1, **SIZES),
    "encoder_decoder": t5(48, **SIZES),
}


def batches(config):
    """Inputs and labels. Uneven padding: the first rows of a batch have one target, the last ones eight."""
    rng = np.random.default_rng(0)
    ids = rng.integers(1, config.vocabulary_size, (ROWS, LENGTH)).astype("int32")
    real = np.arange(LENGTH) <= np.arange(ROWS)[:, None] % BATCH // 2
    inputs = {"token_ids": ids * real, "padding_mask": real.astype("int32")}
    if config.kind == "encoder_decoder":
        inputs |= {f"encoder_{name}": array for name, array in inputs.items()}
    if config.kind == "encoder":
        inputs |= {
            "segment_ids": np.zeros_like(ids),
            "mask_positions": np.tile(np.arange(LENGTH, dtype="int32"), (ROWS, 1)),
        }
    return inputs, np.where(real, np.roll(ids, 1, axis=1), -1)


def make(config):
    """A model with the head that it is trained with, from the same weights every time."""
    keras.utils.set_random_seed(3)
    backbone = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}[config.kind](config)
    inputs, states = dict(backbone.input), backbone.output["hidden_states"]
    embedding = backbone.get_layer("token_embedding")
    if config.kind == "encoder":
        inputs["mask_positions"] = keras.Input((None,), dtype="int32", name="mask_positions")
        logits = masked_lm_head(config, embedding, states, inputs["mask_positions"])
    else:
        logits = language_model_head(config, embedding, states)
    return keras.Model(inputs, logits)


def distribution(config, layout):
    if layout == "one":
        return None
    if layout == "data":
        return keras.distribution.DataParallel(auto_shard_dataset=False)
    return model_parallel(config, [int(number) for number in layout.split("x")])


class Losses(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))


def fit(name, layout):
    """Clipped, accumulated and averaged steps of a model."""
    config, losses = CONFIGS[name], Losses()
    keras.distribution.set_distribution(distribution(config, layout))
    model = make(config)
    model.compile(AdamW(1e-2, clip_norm=0.5, accumulation_steps=2, ema_momentum=0.5), CrossEntropy())
    first = model.get_weights()
    options = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0, "callbacks": [losses]}
    model.fit(*batches(config), **options)
    return outcome(model, first, losses)


def fit_task(name, layout):
    """`zoo.load`, and `fit`, `evaluate` and `predict` of the task, whose batches are a `PyDataset`."""
    keras.distribution.set_distribution(distribution(zoo.describe("mini_bert_en").config, layout))
    task, losses = zoo.load("mini_bert_en", "classification", labels=["dull", "fine"], seed=0), Losses()
    first = task.model.get_weights()
    texts = [
        f"A {kind} {noun}{' indeed' * many}." for many in range(4) for noun in ("day", "film") for kind in task.labels
    ]
    labels = [kind for _ in range(8) for kind in task.labels]
    texts, labels = texts[:-3], labels[:-3]  # the last batch is filled
    padded = {"dataset_options": {"pad_remainder": True}}  # the default where devices divide a batch
    task.fit(texts, labels, epochs=3, batch_size=8, verbose=0, callbacks=[losses], **padded)
    scores = task.evaluate(texts, labels, batch_size=8)
    found = [answer["probabilities"] for answer in task.predict(texts)]  # 8 rows or more are divided
    return outcome(task.model, first, losses, [*scores.values(), *(p[kind] for p in found for kind in task.labels)])


def outcome(model, first, losses, scores=()):
    pieces = {v.path: v.value.addressable_shards for v in [*model.weights, *model.optimizer.variables]}
    return {
        "losses": losses.losses,
        "first": checksum(first),
        "weights": checksum(model.get_weights()),
        "scores": list(scores),
        "shapes": {path: [list(piece.data.shape) for piece in parts] for path, parts in pieces.items()},
        "bytes": sum(parts[0].data.nbytes for parts in pieces.values()),  # of the first device
    }


def checksum(arrays):
    return [float(np.abs(np.asarray(array, "float64")).sum()) for array in arrays if array.dtype.kind == "f"]


if __name__ == "__main__":
    for run in sys.argv[1:]:
        found = (fit_task if run.startswith("task-") else fit)(*run.rsplit("-", 1))
        print("RESULT" + json.dumps([run, found]), flush=True)
