"""Not a test: `replicas.py N RUN...` trains small models on N logical devices and prints what came out, a line of
JSON each.

A process for each N: TensorFlow takes logical devices only before it starts, and collectives only of one size.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import tempfile

import interrupted  # beside this file
import keras
import numpy as np
import tensorflow as tf

from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.loss_scale import LossScaleOptimizer
from keras_transformers.training.optimizers.schedules import WarmupLinear
from keras_transformers.training.resuming.resume import Resume

ROWS, LENGTH, CLASSES = 22, 6, 5  # batches of 8, 8 and 6 rows
rng = np.random.default_rng(0)
TOKENS = rng.integers(0, 11, (ROWS, LENGTH)).astype("int32")
LABELS = rng.integers(0, CLASSES, (ROWS, LENGTH)).astype("int32")
# Uneven padding: the first replica sees nearly no targets, the last nearly all.
LABELS[np.arange(LENGTH)[None] > np.arange(ROWS)[:, None] % 8] = -1
MANY = rng.integers(-1, 2, (ROWS, 3)).astype("float32")
NUMBERS = rng.normal(size=ROWS).astype("float32")
NUMBERS[::4] = np.nan


@functools.cache  # two strategies in one process number their collectives alike, and collide
def strategy(replicas: int):
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])


def dataset(labels, batch_size=8, weights=None):
    arrays = (TOKENS, labels) if weights is None else (TOKENS, labels, weights)
    data = tf.data.Dataset.from_tensor_slices(arrays).batch(batch_size)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return data.with_options(options)


def token_model(**options):
    """Token classification; the table's gradient is sparse. Starts from the same weights every time."""
    keras.utils.set_random_seed(3)
    inputs = keras.Input((None,), dtype="int32")
    hidden = keras.layers.Embedding(11, 4)(inputs)
    hidden = keras.layers.LayerNormalization()(keras.layers.Dense(4, activation="gelu")(hidden))
    model = keras.Model(inputs, keras.layers.Dense(CLASSES)(hidden))
    optimizer = AdamW(WarmupLinear(0.05, 2, 20), **options)
    measures = [target_metrics.MeanCrossEntropy(), target_metrics.Perplexity(), target_metrics.Accuracy()]
    model.compile(optimizer, target_losses.CrossEntropy(), metrics=measures, jit_compile=False)
    return model


def outcome(model, history=None, data=None):
    weights = np.concatenate([w.ravel() for w in model.get_weights()]).astype("float64")
    scores = {} if data is None else model.evaluate(data, return_dict=True, verbose=0)
    return {"weights": weights.tolist(), "history": {} if history is None else history.history, "scores": scores}


def fit(replicas, **options):
    with strategy(replicas).scope():
        model = token_model(**options)
    history = model.fit(dataset(LABELS), epochs=2, verbose=0)
    return outcome(model, history, dataset(LABELS))


def tiny_batch(replicas):
    """A last batch of two rows: all replicas but one get none. (Keras wants a first batch that divides evenly.)"""
    with strategy(replicas).scope():
        model = token_model()
    return outcome(model, model.fit(dataset(LABELS, 20), verbose=0))


def accumulated(replicas):
    """Two batches an update, weighted as the pipeline does, against one batch of both."""
    data = LABELS[:16], 8, None
    counts = (data[0] >= 0).reshape(2, -1).sum(1)
    weights = np.repeat(2 * counts / counts.sum(), 8).astype("float32")
    with strategy(replicas).scope():
        parts, whole = token_model(accumulation_steps=2, ema_momentum=0.5), token_model(ema_momentum=0.5)
    arrays = tf.data.Dataset.from_tensor_slices((TOKENS[:16], LABELS[:16], weights))
    parts.fit(arrays.batch(8), epochs=3, verbose=0)
    whole.fit(arrays.map(lambda x, y, w: (x, y)).batch(16), epochs=3, verbose=0)
    return {"parts": outcome(parts), "whole": outcome(whole), "updates": int(parts.optimizer.iterations.numpy())}


def heads(replicas):
    """Multi-label and regression, as two outputs of one model."""
    with strategy(replicas).scope():
        keras.utils.set_random_seed(3)
        inputs = keras.Input((LENGTH,), dtype="int32")
        hidden = keras.layers.Flatten()(keras.layers.Embedding(11, 4)(inputs))
        outputs = {"many": keras.layers.Dense(3)(hidden), "number": keras.layers.Dense(1)(hidden)}
        model = keras.Model(inputs, outputs)
        measures = {
            "many": [target_metrics.BinaryAccuracy(), target_metrics.F1(), target_metrics.F1("macro", name="macro")],
            "number": [target_metrics.MeanAbsoluteError(), target_metrics.Pearson()],
        }
        kinds = {"many": target_losses.BinaryCrossEntropy(), "number": target_losses.MeanSquaredError()}
        model.compile(AdamW(0.01), kinds, metrics=measures, jit_compile=False)
    data = dataset({"many": MANY, "number": NUMBERS})
    history = model.fit(data, epochs=2, verbose=0)
    return outcome(model, history, data)


def half(replicas):
    keras.config.set_dtype_policy("mixed_float16")
    with strategy(replicas).scope():
        model = token_model()
    keras.config.set_dtype_policy("float32")
    model.fit(dataset(LABELS), epochs=2, verbose=0)
    return outcome(model) | {
        "optimizer": type(model.optimizer).__name__,
        "updates": int(model.optimizer.iterations.numpy()),
    }


def overflow(replicas):
    """The last rows of each batch, those of the last replica, overflow until the scale has fallen."""
    weights = np.where(np.arange(ROWS) % 8 >= 6, 100.0, 1.0).astype("float32")
    runs = {}
    for name, options in {"steps": {}, "accumulated": {"accumulation_steps": 3, "ema_momentum": 0.5}}.items():
        keras.config.set_dtype_policy("mixed_float16")
        with strategy(replicas).scope():
            model = token_model(**options)
            optimizer = LossScaleOptimizer(model.optimizer.inner_optimizer, dynamic_growth_steps=4)
            model.compile(optimizer, target_losses.CrossEntropy(), jit_compile=False)
        keras.config.set_dtype_policy("float32")
        model.fit(dataset(LABELS, weights=weights), epochs=5, verbose=0)
        updates, scale = int(optimizer.iterations.numpy()), float(optimizer.dynamic_scale.numpy())
        runs[name] = outcome(model) | {"updates": updates, "scale": scale}
    return runs


def resumed(replicas):
    """A run interrupted before its second save, broken off in its second epoch, each time a new model; against one run.

    With dropout.
    """
    runs = {}
    for name, stops in {"whole": [None], "broken": [(0, 1), (1, 8), None]}.items():
        with tempfile.TemporaryDirectory() as folder:
            for seed, stop in enumerate(stops):
                data = interrupted.dataset(accumulation_steps=3)
                keras.utils.set_random_seed(seed)  # the resumed one starts from elsewhere
                with strategy(replicas).scope():
                    model = interrupted.model()
                    optimizer = AdamW(0.05, accumulation_steps=3, ema_momentum=0.9)
                    model.compile(
                        optimizer, target_losses.CrossEntropy(), metrics=[target_metrics.Accuracy()], jit_compile=False
                    )
                error = KeyboardInterrupt() if stop == (0, 1) else None
                callbacks = [interrupted.Break(stop, error), Resume(folder, data, every=4)]
                with contextlib.suppress(KeyboardInterrupt):
                    history = model.fit(data, epochs=2, verbose=0, callbacks=callbacks)
        runs[name] = outcome(model, history)
    return runs


def main(replicas: int, names: list[str]) -> None:
    devices = [tf.config.LogicalDeviceConfiguration()] * replicas
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], devices)
    for name in names:
        print("RESULT" + json.dumps([name, RUNS[name](replicas)]), flush=True)


RUNS = {
    "clipped": lambda replicas: fit(replicas, clip_norm=0.05),
    "averaged": lambda replicas: fit(replicas, clip_norm=None, ema_momentum=0.9),
    "tiny_batch": tiny_batch,
    "accumulated": accumulated,
    "heads": heads,
    "half": half,
    "overflow": overflow,
    "resumed": resumed,
}

if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
