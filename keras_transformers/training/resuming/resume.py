"""Resumable training, even after `kill -9`: a resumed run has the same losses as an uninterrupted one.

Keras' `BackupAndRestore` restarts an interrupted epoch. Neither it nor a saved model keeps the seeds of dropout.
"""

from __future__ import annotations

import math
import os
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_transformers.training.resuming.preemption import StopRequest
from keras_transformers.training.resuming.run_identity import check_same, run_identity
from keras_transformers.training.resuming.run_state import check_values, group, load_latest, save, to_json
from keras_transformers.training.resuming.state_checks import check_dataset, check_steps, check_variables
from keras_transformers.training.workers.distribute import build, is_agreed, is_chief, on_tensorflow, sum_over_replicas
from keras_transformers.utils.keras_private import set_first_epoch, strategy_of

if TYPE_CHECKING:
    from keras_transformers.data.batches.batch_sequence import BatchSequence
    from keras_transformers.data.batches.tf_batches import Batches

# The attributes in which EarlyStopping, ModelCheckpoint and ReduceLROnPlateau keep their progress.
PROGRESS = ("best", "best_epoch", "best_weights", "wait", "stopped_epoch", "cooldown_counter", "epochs_since_last_save")


class Resume(keras.callbacks.Callback):
    """A callback that saves the state of `fit`; the same call of `fit` then resumes an interrupted run at its last one.

    A state holds all variables of model (seeds of dropout included), optimizer and metrics, the history, the position
    in the data, and the progress of `callbacks`. A resumed epoch counts the batches before its position without
    training on them, so that batch numbers are the same as in an uninterrupted run.

    Use one folder for each run. After the run has ended, `fit` with the same number of epochs restores the final
    weights and does not train. With a larger number it continues (from the moving averages, if the optimizer keeps
    them). In the restored history, a metric's values per class are a NumPy array.

    The identity of a run consists of the settings of the model's layers, the rows of its data (for a stream, the rows
    of its first buffer) and the settings of its batches, seed included. The state of another run is refused. Optimizer
    settings are not compared, so that a run can continue with a lower learning rate or a longer schedule.

    SIGTERM, with which a scheduler announces that it will kill the process, ends `fit`: after the batch under way the
    state is saved, and the process exits with 0. Of several workers one signal ends all. (A program's own handler of
    SIGTERM is left alone, and nothing is handled outside of the main thread.) Where a state cannot be written, as on a
    full disk, a warning says so and training continues; the last states are kept.

    Several workers (`MultiWorkerMirroredStrategy`) need one folder that all of them see; the chief writes it.

    A state whose loss, weights or optimizer are not finite is not saved. After `TerminateOnNaN`, the run resumes at the
    last state before.

    Put it last in `fit(callbacks=...)`, before `AverageEpochs` only: the state then includes the results of the others.

    Args:
        folder: Folder for the states. The last two states are kept, each about three times the size of the weights.
        dataset: The dataset given to `fit`, made by `task.dataset` or `data.pipeline.batches`, or by `map`, `prefetch`
            or `with_options` of one: its `position` is saved and set.
        every: Batches between two states. The start of each epoch and the end of `fit` are saved too.
        callbacks: Callbacks of the same `fit` whose progress is saved: `EarlyStopping`, `ModelCheckpoint` and
            `ReduceLROnPlateau` otherwise forget the best value so far.

    Raises:
        ValueError: If the dataset has no position. From `fit`: if the model or the data is not the saved one, if the
            run has begun more than `epochs` epochs, if all saved states are damaged or from a version that did not save
            the identity of the run, with `steps_per_epoch`, or if workers do not have the same state and data.

    Example:

    >>> import tempfile
    >>> from keras_transformers import batches
    >>> from keras_transformers.data.objectives.class_targets import Classification
    >>> from keras_transformers.data.sources.rows import Rows
    >>> rows = Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])
    >>> dataset = batches(rows, Classification(num_classes=2), 1, max_length=4)
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
        dataset: Batches | BatchSequence,
        every: int = 100,
        callbacks: Sequence[keras.callbacks.Callback] = (),
    ):
        super().__init__()
        if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
            raise ValueError(f"Received folder={folder!r}; expected the path of a folder.")
        check_dataset(dataset)
        if every < 1:
            raise ValueError(f"Received every={every}; expected a number of batches, at least 1.")
        self.folder = Path(folder)
        self.dataset = dataset
        self.every = every
        self.callbacks = list(callbacks)
        self._request, self._strategy, self.skipped = StopRequest(), None, 0
        self._metrics: dict[str, np.ndarray] = {}
        self._logs: dict[str, Any] = {}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        check_steps(self.dataset, self.params["steps"])
        self._epoch, self._has_begun, self._broken_off, self._logs, self._metrics = 0, False, False, {}, {}
        self._fitted = self.model  # on JAX, reading the property `self.model` copies the training state into the model
        if on_tensorflow():  # where Keras creates the variables of optimizer and metrics at the first step
            build(self.model, self.dataset)
        self._run = run_identity(self.model, self.dataset)
        self._strategy = strategy_of(self.model)

        self._restored = self._load()
        self._check_workers()
        self._request.watch()
        if self._restored is None:
            return
        state, arrays = self._restored
        self._assign("model", arrays)
        self._assign("optimizer", arrays)
        # A run that was stopped early has ended.
        set_first_epoch(self.model, self.params["epochs"] if state["stopped"] else state["epoch"])

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch, self._has_begun, self._batch, self._due, self.skipped, self._logs = epoch, True, 0, 0, 0, {}
        set_first_epoch(self._fitted, None)  # Keras has read it; a later `fit` must not
        self.dataset.position.epoch, self.dataset.position.batch = epoch, 0
        if self._restored is not None:
            # Not earlier: before this, `fit` resets the metrics, and other callbacks reset their progress.
            state = self._restore_progress(*self._restored)
            self.skipped = state["batch"]
            self._due = self.skipped and self.skipped + self.every
            self._skip(self.skipped)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if batch >= self._due:
            self._save(self._epoch, batch)
            self._due = batch + self.every

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._logs, self._batch = logs or {}, batch + 1  # not read here: on JAX this may wait for the step
        if self._fitted.stop_training:  # by a callback during an epoch, for instance at a time limit
            self._broken_off = True
            self._save_here()
        self._exit_if_asked()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._metrics = self._arrays("metrics")  # which `evaluate` begins anew

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._exit_if_asked()

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        self._metrics = {}

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        set_first_epoch(self.model, None)  # for a `fit` in which no epoch began
        if self._restored is not None:
            self._restore_progress(*self._restored)
        if self._has_begun and not self._broken_off:
            self._save(self._epoch + 1, 0, stopped=bool(self.model.stop_training))
        if self._request.is_made(self._strategy):  # waits for the chief too
            self._request.exit(self.folder)
        self._request.unwatch()

    def _exit_if_asked(self) -> None:
        if self._request.is_made(self._strategy):
            self._save_here()
            sum_over_replicas(self._strategy, 0)  # wait for the chief
            self._request.exit(self.folder)

    def _save_here(self) -> None:
        if self._batch >= self.skipped:  # before that, the state is the saved one
            self._save(self._epoch, self._batch)

    def _save(self, epoch: int, batch: int, stopped: bool = False) -> None:
        arrays = self._arrays("model") | self._arrays("optimizer") | (self._metrics or self._arrays("metrics"))
        if not is_chief(self._strategy):  # it has taken part in the sums of metrics over all workers
            return
        if culprit := self._not_finite(arrays, with_loss=batch > 0 or stopped):
            text = f"{culprit} is not finite, so this state of the run is not kept in {self.folder}: the last one is."
            warnings.warn(text, stacklevel=2)
            return

        progress = [{k: v for k, v in vars(c).items() if k in PROGRESS} for c in self.callbacks]
        for number, values in enumerate(progress):
            weights = values.pop("best_weights", None) or []
            arrays |= {f"callback{number}/{index}": array for index, array in enumerate(weights)}
        history = self.model.history
        state = {"run": self._run, "epoch": epoch, "batch": batch, "stopped": stopped, "callbacks": progress}
        state |= {"history": history.history, "epochs": history.epoch}
        try:
            save(self.folder, f"epoch-{epoch:05d}-batch-{batch:08d}.npz", state, arrays)
        except OSError as error:
            warnings.warn(f"{error}: this state of the run is not kept; the last one is.", stacklevel=2)

    def _arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the values of a group of variables, as `name/0`, `name/1` and so on."""
        return {f"{name}/{i}": keras.ops.convert_to_numpy(v) for i, v in enumerate(self._groups()[name])}

    def _not_finite(self, arrays: dict[str, np.ndarray], with_loss: bool) -> str | None:
        """Return the first of loss, weights and optimizer variables with NaN or infinity; None if all are finite."""
        if with_loss and not math.isfinite(self._logs.get("loss", 0.0)):
            return "the loss"
        groups = self._groups()
        trained = {f"model/{i}": v for i, v in enumerate(groups["model"]) if v.trainable}
        trained |= {f"optimizer/{i}": v for i, v in enumerate(groups["optimizer"])}
        return next((v.path for key, v in trained.items() if not np.isfinite(arrays[key]).all()), None)

    def _restore_progress(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Restore all but model and optimizer, once, and return the saved state."""
        self._restored = None
        if state["batch"]:
            self._assign("metrics", arrays)
        history = state["history"].items()
        self.model.history.history = {k: [np.array(v) if isinstance(v, list) else v for v in vs] for k, vs in history}
        self.model.history.epoch = state["epochs"]
        for number, (callback, progress) in enumerate(zip(self.callbacks, state["callbacks"], strict=True)):
            vars(callback).update({name: value for name, value in progress.items() if name in PROGRESS})
            if weights := group(arrays, f"callback{number}"):
                callback.best_weights = weights
        return state

    def _skip(self, batches: int) -> None:
        """Replace the model's step by one that only counts, for the batches that were trained on before the interrupt.

        A shorter first epoch would not work: for a dataset of unknown length, Keras takes its length for all epochs.
        """
        model = self.model
        calls, remainder = divmod(batches, model.steps_per_execution)
        if remainder:
            raise ValueError(
                f"Received steps_per_execution={model.steps_per_execution} for a run that stopped after "
                f"{batches} batches of its epoch; compile the model with the value it had, or a divisor of {batches}."
            )

        train_function, logs, history = model.train_function, model.get_metrics_result(), model.history
        epoch, position = self._epoch, self.dataset.position

        def count(*args):
            nonlocal calls
            if calls and model.history is history:
                calls -= 1
                return logs if on_tensorflow() else (logs, args[0])
            model.train_function = train_function
            if model.history is not history or self._epoch != epoch:  # a later `fit`, or
                return train_function(*args)  # the next epoch, as nothing was left of this one
            # Set for this call only, so that an interrupt of `fit` does not leave a position in the dataset.
            position.batch = batches
            try:
                return train_function(*args)  # reads the first batch, which starts the pass
            finally:
                position.batch = 0

        model.train_function = count

    def _load(self) -> tuple[dict, dict[str, np.ndarray]] | None:
        """Return the saved state to resume from, or None; raise a `ValueError` if it belongs to another run."""
        restored = load_latest(self.folder)
        if restored is None:
            return None
        state, arrays = restored
        check_values(self.folder, state, len(self.callbacks))
        begun = state["epoch"] + bool(state["batch"])
        if not begun and "run" not in state:
            return None  # version 0.1.0 saved its first state without the optimizer's variables; nothing is lost
        check_variables(self.folder, self._groups(), arrays)
        check_same(self.folder, state.get("run"), self._run)
        if begun > self.params["epochs"]:
            raise ValueError(
                f"Received epochs={self.params['epochs']} for the run in {self.folder}, which has begun {begun}. "
                "Expected at least as many; remove the folder to start anew, or choose another folder."
            )
        return restored

    def _check_workers(self) -> None:
        """Raise a `ValueError` unless all workers resume from the same state of the same run."""
        state = self._restored and {name: self._restored[0][name] for name in ("epoch", "batch")}
        checksum = zlib.crc32(to_json([self._run, state]).encode()) % 2**16
        if not is_agreed(self._strategy, checksum):
            raise ValueError(
                f"Received {state or 'no state'} of the run {self._run} in {self.folder}, and another worker received "
                "something else. Expected one folder that all workers see, and the same model, data and seed in each."
            )

    def _groups(self) -> dict[str, list]:
        model = self.model
        return {"model": model.variables, "optimizer": model.optimizer.variables, "metrics": model.metrics_variables}

    def _assign(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        for variable, array in zip(self._groups()[name], group(arrays, name), strict=True):
            variable.assign(array)
