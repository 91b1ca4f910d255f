"""Not a test: a run of `fit` with dropout, unbroken; and for each KILL_AT one that kills itself, and one that goes on.

`interrupted.py FOLDER JIT STEPS_PER_EXECUTION KILL_AT...`; KILL_AT is "epoch,batch". Writes the losses of the runs
whole, KILL_AT-killed and KILL_AT-resumed to FOLDER/RUN.log, and what came out of those that ended to FOLDER/RUN.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import keras
import numpy as np

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.metrics.target_metrics import Accuracy, MeanCrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.schedules import WarmupLinear
from keras_transformers.training.resuming.resume import Resume

VOCABULARY, WIDTH, CLASSES = 50, 16, 3


def dataset(rows_seed: int = 0, batch_size: int = 4, **options):
    rng = np.random.default_rng(rows_seed)
    rows = [rng.integers(5, VOCABULARY, rng.integers(3, WIDTH)).tolist() for _ in range(60)]
    labels = rng.integers(0, CLASSES, 60).tolist()
    source = Rows.of(rows, labels=labels)
    return batches(source, Classification(num_classes=CLASSES), batch_size, max_length=WIDTH, **options)


def model(width: int = 8, dropout: float = 0.5) -> keras.Model:
    inputs = {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "segment_ids": keras.Input((None,), dtype="int32", name="segment_ids"),
        "padding_mask": keras.Input((None,), dtype="bool", name="padding_mask"),
    }
    hidden = keras.layers.Embedding(VOCABULARY, width)(inputs["token_ids"])
    hidden = hidden + keras.layers.Embedding(2, width)(
        inputs["segment_ids"]
    )  # some versions of Keras want each input used
    pooled = keras.layers.GlobalAveragePooling1D()(hidden, mask=inputs["padding_mask"])
    hidden = keras.layers.Dropout(dropout)(pooled)
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(hidden))


class Recorder(keras.callbacks.Callback):
    def __init__(self, path: Path, kill_at: tuple[int, int] | None):
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


def run(folder: Path, name: str, state: str, kill_at: tuple[int, int] | None, jit: bool, steps: int) -> None:
    train, held_out = dataset(accumulation_steps=3), dataset(1, shuffle=False)
    network = model()
    optimizer = AdamW(WarmupLinear(0.05, 2, 20), accumulation_steps=3, ema_momentum=0.9)
    measures = [MeanCrossEntropy(), Accuracy()]
    network.compile(optimizer, CrossEntropy(), metrics=measures, jit_compile=jit, steps_per_execution=steps)
    stop = keras.callbacks.EarlyStopping("val_cross_entropy", patience=2, restore_best_weights=True)
    best = keras.callbacks.ModelCheckpoint(
        folder / f"{state}-best.weights.h5", "val_cross_entropy", save_best_only=True, save_weights_only=True
    )
    resume = Resume(folder / state, train, every=3, callbacks=[stop, best])
    callbacks = [stop, best, Recorder(folder / f"{name}.log", kill_at), resume]
    history = network.fit(train, validation_data=held_out, epochs=5, shuffle=False, verbose=0, callbacks=callbacks)
    result = {"history": history.history, "epochs": history.epoch, "best": float(best.best), "wait": stop.wait}
    result["weights"] = [w.tolist() for w in network.get_weights()]
    (folder / f"{name}.json").write_text(json.dumps(result))


def in_a_process(seed: int, *arguments) -> int:
    """How a process ended that does a run; a fork of this one, which has TensorFlow imported but not yet started."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    keras.utils.set_random_seed(seed)
    run(*arguments)
    sys.stdout.flush()
    os._exit(0)


def main(folder: str, jit: str, steps_per_execution: str, *kills: str) -> None:
    folder, options = Path(folder), (jit == "jit", int(steps_per_execution))
    assert in_a_process(0, folder, "whole", "whole", None, *options) == 0
    for kill_at in kills:
        at = tuple(map(int, kill_at.split(",")))
        assert in_a_process(0, folder, f"{kill_at}-killed", kill_at, at, *options) == -signal.SIGKILL
        assert in_a_process(1, folder, f"{kill_at}-resumed", kill_at, None, *options) == 0  # starts from elsewhere


if __name__ == "__main__":
    main(*sys.argv[1:])
