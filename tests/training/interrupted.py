"""Not a test: a run of `fit` with dropout that kills itself at a batch, or goes on where the killed one was.

`interrupted.py FOLDER LOG KILL_AT JIT STEPS_PER_EXECUTION`; KILL_AT is "epoch,batch" or "never".
"""

from __future__ import annotations

import json
import os
import signal
import sys

import keras
import numpy as np

from keras_transformers.data.classification import Classification
from keras_transformers.data.pipeline import batches
from keras_transformers.data.rows import Rows
from keras_transformers.training.losses import CrossEntropy
from keras_transformers.training.metrics import Accuracy, MeanCrossEntropy
from keras_transformers.training.optimizer import AdamW
from keras_transformers.training.resume import Resume
from keras_transformers.training.schedules import WarmupLinear

VOCABULARY, WIDTH, CLASSES = 50, 16, 3


def dataset(seed: int = 0, **options):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(5, VOCABULARY, rng.integers(3, WIDTH)).tolist() for _ in range(60)]
    labels = rng.integers(0, CLASSES, 60).tolist()
    return batches(Rows.of(rows, labels=labels), Classification(num_classes=CLASSES), 4, max_length=WIDTH, **options)


def model() -> keras.Model:
    inputs = {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "segment_ids": keras.Input((None,), dtype="int32", name="segment_ids"),
        "padding_mask": keras.Input((None,), dtype="bool", name="padding_mask"),
    }
    hidden = keras.layers.Embedding(VOCABULARY, 8)(inputs["token_ids"])
    hidden = keras.layers.Dropout(0.5)(keras.layers.GlobalAveragePooling1D()(hidden))
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(hidden))


class Recorder(keras.callbacks.Callback):
    def __init__(self, path: str, kill_at: tuple[int, int] | None):
        super().__init__()
        self.path, self.kill_at = path, kill_at

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        with open(self.path, "a") as file:
            file.write(json.dumps([self.epoch, batch, float(logs["loss"]), float(logs["cross_entropy"])]) + "\n")
        if (self.epoch, batch) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


class Break(keras.callbacks.Callback):
    """Stops training after a batch, or raises `error` there."""

    def __init__(self, at: tuple[int, int] | None, error: BaseException | None = None):
        super().__init__()
        self.at, self.error = at, error

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) == self.at:
            if self.error is not None:
                raise self.error
            self.model.stop_training = True


def main(folder: str, log: str, kill_at: str, jit: str, steps_per_execution: str) -> None:
    keras.utils.set_random_seed(os.getpid() if os.path.exists(folder) else 0)  # a resumed run starts from elsewhere
    train, held_out = dataset(accumulation_steps=3), dataset(1, shuffle=False)
    network = model()
    optimizer = AdamW(WarmupLinear(0.05, 2, 20), accumulation_steps=3, ema_momentum=0.9)
    network.compile(
        optimizer,
        CrossEntropy(),
        metrics=[MeanCrossEntropy(), Accuracy()],
        jit_compile=jit == "jit",
        steps_per_execution=int(steps_per_execution),
    )
    stop = keras.callbacks.EarlyStopping("val_cross_entropy", patience=2, restore_best_weights=True)
    best = keras.callbacks.ModelCheckpoint(
        folder + "-best.weights.h5", "val_cross_entropy", save_best_only=True, save_weights_only=True
    )
    recorder = Recorder(log, None if kill_at == "never" else tuple(map(int, kill_at.split(","))))
    resume = Resume(folder, train, every=3, callbacks=[stop, best])
    history = network.fit(
        train, validation_data=held_out, epochs=5, shuffle=False, verbose=0, callbacks=[stop, best, recorder, resume]
    )
    state = {"history": history.history, "epochs": history.epoch, "best": float(best.best), "wait": stop.wait}
    print("RESULT" + json.dumps(state | {"weights": [w.tolist() for w in network.get_weights()]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
