"""Training that survives `kill -9`: the run that goes on has the losses of an unbroken one.

Keras' `BackupAndRestore` starts a broken epoch anew, and neither it nor a saved model keeps the seeds of dropout.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformers.training.distribute import build, on_tensorflow
from keras_transformers.training.run_identity import check_same, run_identity
from keras_transformers.training.run_state import group, load_latest, save

# What EarlyStopping, ModelCheckpoint and ReduceLROnPlateau know of the epochs before.
PROGRESS = ("best", "best_epoch", "best_weights", "wait", "stopped_epoch", "cooldown_counter", "epochs_since_last_save")


class Resume(keras.callbacks.Callback):
    """Saves the state of `fit` as it goes, and lets the same call of `fit` go on where the last one was killed.

    Kept are all variables of model (seeds of dropout included), optimizer and metrics, the history, the place in the
    data, and the progress of `callbacks`. One folder belongs to one run: once that has ended, `fit` with the same
    number of epochs restores the final weights and trains no more; a larger number goes on (from the averages, where
    the optimizer keeps them). A resumed epoch counts the batches that it does not repeat, so that batch numbers stay
    those of an unbroken run. A vector in the history, of a metric with a value for each class, is a NumPy array again.

    A run is known by the settings of the model's layers, the rows of its data (of a stream, those of its first buffer)
    and the settings of its batches, their seed included: another run is refused. The optimizer's settings are not
    compared, so that a run can go on with a lower learning rate, or with a schedule of more steps.

    No state is kept whose loss, weights or optimizer are not finite: after `TerminateOnNaN`, the run goes on from the
    last state before.

    Put it last in `fit(callbacks=...)`, but for `AverageEpochs`: it then sees what the others decided at the end of
    `fit`.

    Args:
        folder: Where to save; holds the last two states, each about three times the size of the weights.
        dataset: The dataset given to `fit`, of `keras_transformers.data`: its `position` is saved and set.
        every: Batches between saves; each epoch's start and the end of `fit` are saved too.
        callbacks: Callbacks of the same `fit` to keep the progress of: `EarlyStopping`, `ModelCheckpoint` and
            `ReduceLROnPlateau` forget the best value so far otherwise.

    Raises:
        ValueError: From `fit`: if the model or the data is not the saved one, if fewer epochs are wanted than the run
            has begun, if no saved state is readable or it does not tell its run, or with `steps_per_epoch`.

    Example:

    >>> import tempfile
    >>> from keras_transformers.data import classification, pipeline, rows
    >>> texts = rows.Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])
    >>> dataset = pipeline.batches(texts, classification.Classification(num_classes=2), 1, max_length=4)
    >>> model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.GlobalAveragePooling1D()])
    >>> inputs = {name: keras.Input((None,), name=name) for name in ("token_ids", "segment_ids", "padding_mask")}
    >>> model = keras.Model(inputs, model(inputs["token_ids"]))
    >>> model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> resume = Resume(tempfile.mkdtemp(), dataset, every=100)
    >>> model.fit(dataset, epochs=3, verbose=0, shuffle=False, callbacks=[resume]).epoch
    [0, 1, 2]
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        dataset: Any,
        every: int = 100,
        callbacks: Sequence[keras.callbacks.Callback] = (),
    ):
        super().__init__()
        if not hasattr(dataset, "position"):
            raise ValueError(
                f"Received a dataset without `position`: {dataset}. Expected one made by `task.dataset` or "
                "`keras_transformers.data.pipeline.batches`, before any `map` or `batch` of your own."
            )
        if not hasattr(dataset, "identity"):
            warnings.warn(
                f"{dataset} has no `identity`, so Resume cannot tell whether a later run has the same data. "
                "Expected one made by `task.dataset`.",
                stacklevel=2,
            )
        if every < 1:
            raise ValueError(f"Received every={every}; expected a number of batches, at least 1.")
        self.folder = Path(folder)
        self.dataset = dataset
        self.every = every
        self.callbacks = list(callbacks)

    def on_train_begin(self, logs=None):
        self._check_steps()
        self._epoch, self._broken_off, self._loss = None, False, None
        self._fitted = self.model  # on JAX, each look at `self.model` copies the running state back into it
        if on_tensorflow():  # which makes the variables of optimizer and metrics at the first step; others have
            build(self.model, self.dataset)
        self._run = run_identity(self.model, self.dataset)
        self._restored = self._load()
        if self._restored is None:
            return
        state, arrays = self._restored
        self._assign("model", arrays)
        self._assign("optimizer", arrays)
        # After early stopping there is nothing to go on with.
        self.model._initial_epoch = self.params["epochs"] if state["stopped"] else state["epoch"]

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch, self._due, self._loss = epoch, 0, None
        self._fitted._initial_epoch = None  # read by now; after an interrupt, another `fit` starts at its own epoch
        self.dataset.position.epoch, self.dataset.position.batch = epoch, 0
        if self._restored is not None:
            # Not before: `fit` has just reset the metrics, and other callbacks began anew in `on_train_begin`.
            state = self._restore_progress()
            self._due = state["batch"] and state["batch"] + self.every
            self._skip(state["batch"])

    def on_train_batch_begin(self, batch, logs=None):
        if batch >= self._due:
            self._save(self._epoch, batch)
            self._due = batch + self.every

    def on_train_batch_end(self, batch, logs=None):
        self._loss = (logs or {}).get("loss")
        if self._fitted.stop_training:  # a callback breaks the epoch off, for instance at a time limit
            self._broken_off = True
            self._save(self._epoch, batch + 1)

    def on_train_end(self, logs=None):
        self.model._initial_epoch = None  # also where no epoch was left to begin
        if self._restored is not None:
            self._restore_progress()
        if self._epoch is not None and not self._broken_off:
            self._save(self._epoch + 1, 0, stopped=bool(self.model.stop_training))

    def _save(self, epoch: int, batch: int, stopped: bool = False) -> None:
        arrays = {
            f"{name}/{index}": keras.ops.convert_to_numpy(variable)
            for name, variables in self._groups().items()
            for index, variable in enumerate(variables)
        }
        if broken := self._not_finite(arrays, with_loss=batch or stopped):
            message = f"{broken} is not finite, so this state of the run is not kept in {self.folder}: the last one is."
            warnings.warn(message, stacklevel=2)
            return
        progress = [{k: v for k, v in vars(c).items() if k in PROGRESS} for c in self.callbacks]
        for number, values in enumerate(progress):
            weights = values.pop("best_weights", None) or []
            arrays |= {f"callback{number}/{index}": array for index, array in enumerate(weights)}
        history = self.model.history
        state = {"run": self._run, "epoch": epoch, "batch": batch, "stopped": stopped, "callbacks": progress}
        state |= {"history": history.history, "epochs": history.epoch}
        save(self.folder, f"epoch-{epoch:05d}-batch-{batch:08d}.npz", state, arrays)

    def _not_finite(self, arrays: dict[str, np.ndarray], with_loss: bool) -> str | None:
        """The first of loss, weights and the optimizer's variables that holds NaN or infinity."""
        if with_loss and self._loss is not None and not math.isfinite(self._loss):
            return "the loss"
        groups = self._groups()
        trained = {f"model/{i}": v for i, v in enumerate(groups["model"]) if v.trainable}
        trained |= {f"optimizer/{i}": v for i, v in enumerate(groups["optimizer"])}
        return next((v.path for key, v in trained.items() if not np.isfinite(arrays[key]).all()), None)

    def _restore_progress(self) -> dict:
        (state, arrays), self._restored = self._restored, None
        if state["batch"]:
            self._assign("metrics", arrays)
        history = state["history"].items()
        self.model.history.history = {k: [np.array(v) if isinstance(v, list) else v for v in vs] for k, vs in history}
        self.model.history.epoch = state["epochs"]
        for number, (callback, progress) in enumerate(zip(self.callbacks, state["callbacks"], strict=True)):
            vars(callback).update(progress)
            if weights := group(arrays, f"callback{number}"):
                callback.best_weights = weights
        return state

    def _skip(self, batches: int) -> None:
        """Lets Keras count the batches that were trained on before the break, without training on them again.

        Keras would take the length of a shortened epoch for the length of all, where the dataset knows none.
        """
        model = self.model
        calls, odd = divmod(batches, model.steps_per_execution)
        if odd:
            raise ValueError(
                f"Received steps_per_execution={model.steps_per_execution} for a run that stopped after "
                f"{batches} batches of its epoch; compile the model with the value it had, or a divisor of {batches}."
            )
        train_function, logs, history = model.train_function, model.get_metrics_result(), model.history
        self.dataset.position.batch = batches

        def count(*args):
            nonlocal calls
            if calls == 0 or model.history is not history:  # another `fit`, after an interrupt of this one
                model.train_function = train_function
                return train_function(*args)
            calls -= 1
            return logs if on_tensorflow() else (logs, args[0])

        model.train_function = count

    def _load(self) -> tuple[dict, dict[str, np.ndarray]] | None:
        """The saved state to go on from, if there is one; it must be of this run."""
        restored = load_latest(self.folder)
        if restored is None:
            return None
        state, arrays = restored
        begun = state["epoch"] + bool(state["batch"])
        if not begun and "run" not in state:
            return None  # version 0.1.0 kept a first state without the optimizer's variables; no training is lost
        self._check_variables(arrays)
        check_same(self.folder, state.get("run"), self._run)
        if begun > self.params["epochs"]:
            raise ValueError(
                f"Received epochs={self.params['epochs']} for the run in {self.folder}, which has begun {begun}. "
                "Expected as many or more; remove the folder to start anew, or choose another one."
            )
        return restored

    def _groups(self) -> dict[str, list]:
        model = self.model
        return {"model": model.variables, "optimizer": model.optimizer.variables, "metrics": model.metrics_variables}

    def _assign(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        for variable, array in zip(self._groups()[name], group(arrays, name), strict=True):
            variable.assign(array)

    def _check_variables(self, arrays: dict[str, np.ndarray]) -> None:
        for name, variables in self._groups().items():
            saved = [tuple(a.shape) for a in group(arrays, name)]
            shapes = [tuple(v.shape) for v in variables]
            if saved != shapes:
                differing = [v.path for v, s, t in zip(variables, saved, shapes, strict=False) if s != t][:5]
                raise ValueError(
                    f"Received a run in {self.folder} with {len(saved)} {name} variables, and a model with "
                    f"{len(shapes)}; differing shapes: {differing or 'none of those in both'}. Expected the model, "
                    "optimizer and metrics that the run was started with; for another, choose another folder."
                )

    def _check_steps(self) -> None:
        length = len(self.dataset) if hasattr(self.dataset, "__getitem__") else int(self.dataset.cardinality())
        if self.params["steps"] not in (None, length):
            raise ValueError(
                f"Received a dataset of {length} batches for Resume, and {self.params['steps']} steps an epoch in fit. "
                "Expected the same dataset in both, and no steps_per_epoch."
            )
