"""Resume: a killed run goes on as if nothing had been, and nothing half-written or foreign is loaded."""

import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformers.training.averaging import AverageEpochs
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.resuming.resume import Resume
from keras_transformers.training.resuming.run_state import load_latest, save

SCRIPT = Path(__file__).parents[1] / "interrupted.py"
spec = importlib.util.spec_from_file_location("interrupted", SCRIPT)
interrupted = importlib.util.module_from_spec(spec)
spec.loader.exec_module(interrupted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jit", "steps", "kills"),
    [("plain", "1", {"0,0": (0, 0), "0,2": (0, 0), "1,8": (1, 6)}), ("jit", "3", {"0,2": (0, 0), "1,8": (1, 6)})],
)
def test_killed_and_resumed_equals_unbroken(tmp_path, jit, steps, kills):
    """Losses of each step bit by bit, with dropout, accumulation and averages; early stopping and best epoch too."""
    command = [sys.executable, str(SCRIPT), str(tmp_path), jit, steps, *kills]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    whole = losses(tmp_path / "whole.log")
    for kill_at, saved_at in kills.items():
        first, rest = (losses(tmp_path / f"{kill_at}-{part}.log") for part in ("killed", "resumed"))
        assert all(first[step] == whole[step] for step in first)
        trained = [step for step in whole if step >= saved_at]
        assert len(trained) > 3 and all(rest[step] == whole[step] for step in trained)
        assert (tmp_path / f"{kill_at}-resumed.json").read_text() == (tmp_path / "whole.json").read_text()


def losses(log):
    return {(epoch, batch): losses for epoch, batch, *losses in map(json.loads, log.read_text().splitlines())}


def fit(folder, *callbacks, epochs=2, data=None, every=4, model=None, behind=(), **options):
    data = data or interrupted.dataset()
    model = model or interrupted.model()
    model.compile(AdamW(0.01), CrossEntropy(), jit_compile=False, **options)
    callbacks = [*callbacks, Resume(folder, data, every), *behind]
    return model, model.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    with pytest.raises(KeyboardInterrupt):
        fit(folder, interrupted.Break((1, 9), KeyboardInterrupt()))
    return folder


@pytest.fixture
def broken(tmp_path, broken_run):
    """A run that broke off at batch 9 of 15 of its second epoch, with states saved at 4 and 8."""
    return Path(shutil.copytree(broken_run, tmp_path / "run"))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_keeps_two_states_and_none_in_part(broken):
    assert names(broken) == ["epoch-00001-batch-00000004.npz", "epoch-00001-batch-00000008.npz"]


@pytest.mark.parametrize("damage", ["cut", "flipped bit"])
def test_a_damaged_state_gives_way_to_the_one_before(broken, damage):
    path = broken / names(broken)[-1]
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    path.write_bytes(content[:middle] if damage == "cut" else content)
    with pytest.warns(UserWarning, match="is damaged"):
        state, _ = load_latest(broken)
    assert (state["epoch"], state["batch"]) == (1, 4)


def test_damaged_states_only_are_an_error(broken):
    for path in broken.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="damaged files only"):
        fit(broken)


@pytest.mark.integration
def test_another_model_is_refused(broken):
    with pytest.raises(ValueError, match=r"differing shapes: .*embeddings"):
        fit(broken, model=interrupted.model(width=7))
    with pytest.raises(ValueError, match=r"another run than the one that .*run holds: layers \w+ instead of \w+\. "):
        fit(broken, model=interrupted.model(dropout=0.4))


@pytest.mark.integration
def test_other_data_is_refused(broken):
    others = {
        "rows": {"rows_seed": 1},
        "batch_size 8 instead of 4": {"batch_size": 8},
        "seed 3 instead of 0": {"seed": 3},
        "shuffle False instead of True": {"shuffle": False},
    }
    for found, options in others.items():
        with pytest.raises(ValueError, match=f"holds: {found}.* Remove the folder to start anew"):
            fit(broken, data=interrupted.dataset(**options))
    with pytest.raises(ValueError, match=r"epochs=1 for the run in .*, which has begun 2\. "):
        fit(broken, epochs=1)
    assert names(broken) == ["epoch-00001-batch-00000004.npz", "epoch-00001-batch-00000008.npz"]


def test_data_that_cannot_be_told_apart_is_not_passed_over(broken, monkeypatch):
    data = interrupted.dataset()
    monkeypatch.delattr(data if "identity" in vars(data) else type(data), "identity")
    with pytest.warns(UserWarning, match="has no `identity`"), pytest.raises(ValueError, match="rows None instead"):
        fit(broken, data=data)


@pytest.mark.integration
def test_a_state_that_does_not_tell_its_run(broken):
    """Version 0.1.0 noted no run, and in its first state no variables of the optimizer either."""
    state, arrays = load_latest(broken)
    del state["run"]
    save(broken, names(broken)[-1], state, arrays)
    with pytest.raises(ValueError, match=r"did not note what was trained on.* Remove the folder to start anew"):
        fit(broken)
    shutil.rmtree(broken)
    arrays = {key: array for key, array in arrays.items() if "optimizer" not in key}
    save(broken, "epoch-00000-batch-00000000.npz", state | {"epoch": 0, "batch": 0}, arrays)
    model, _ = fit(broken, epochs=1)
    assert int(model.optimizer.iterations) == 15


@pytest.mark.integration
def test_broken_off_before_the_second_save(tmp_path):
    """On TensorFlow, Keras makes the optimizer's variables in the first step: after the first state is saved."""
    keras.utils.set_random_seed(0)
    whole, _ = fit(tmp_path / "whole", epochs=1)
    keras.utils.set_random_seed(0)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", interrupted.Break((0, 2), KeyboardInterrupt()), epochs=1)
    assert names(tmp_path / "run") == ["epoch-00000-batch-00000000.npz"]
    model, _ = fit(tmp_path / "run", epochs=1)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), whole.get_weights(), strict=True))


@pytest.mark.integration
def test_a_resumed_epoch_does_not_shorten_the_next(broken):
    """Where Keras does not know the number of batches, it takes that of the first epoch which it sees."""
    data = interrupted.dataset()
    if keras.backend.backend() == "tensorflow":
        data.num_batches = None
        assert int(data.cardinality()) < 0
    seen = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    model, history = fit(broken, count, epochs=4, data=data)
    assert seen == 3 * list(range(15)) and history.epoch == [0, 1, 2, 3]
    # At an end that it does not know, Keras may count one step that it then cannot make: of three epochs here.
    assert 60 <= int(model.optimizer.iterations) <= 63


@pytest.mark.integration
def test_broken_off_behind_the_last_batch_of_an_epoch(tmp_path):
    """Nothing of that epoch is left to train on; the next one is whole."""
    fit(tmp_path, interrupted.Break((0, 14)))
    assert names(tmp_path)[-1] == "epoch-00000-batch-00000015.npz"
    model, history = fit(tmp_path)
    assert int(model.optimizer.iterations) == 30 and history.epoch == [0, 1]


@pytest.mark.integration
def test_a_finished_run_trains_no_more_until_epochs_are_added(tmp_path):
    model, first = fit(tmp_path, epochs=1)
    again, second = fit(tmp_path, epochs=1)
    assert second.history == first.history
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), again.get_weights(), strict=True))
    longer, third = fit(tmp_path, epochs=2)
    assert third.epoch == [0, 1] and int(longer.optimizer.iterations) == 30


@pytest.mark.integration
def test_an_interrupted_fit_leaves_the_model_to_start_at_any_epoch(broken):
    data, model = interrupted.dataset(), interrupted.model()
    with pytest.raises(KeyboardInterrupt):
        fit(broken, interrupted.Break((1, 9), KeyboardInterrupt()), data=data, model=model)
    assert model.fit(data, epochs=1, steps_per_epoch=1, verbose=0, shuffle=False).epoch == [0]


@pytest.mark.integration
@pytest.mark.parametrize("again", [True, False], ids=["the same run", "another fit"])
def test_interrupted_while_batches_are_skipped(broken, again):
    model = interrupted.model()
    model.compile(AdamW(0.01), CrossEntropy(), jit_compile=False)  # once, as in a notebook

    def run(*callbacks):
        data = interrupted.dataset()
        model.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[*callbacks, Resume(broken, data, 4)])

    with pytest.raises(KeyboardInterrupt):
        run(interrupted.Break((1, 3), KeyboardInterrupt()))
    assert int(model.optimizer.iterations) == 23
    run() if again else model.fit(interrupted.dataset(), epochs=1, verbose=0, shuffle=False)
    assert int(model.optimizer.iterations) == (30 if again else 23 + 15)


@pytest.mark.integration
@pytest.mark.parametrize("batch", [3, 10], ids=["while batches are skipped", "after that"])
@pytest.mark.parametrize("again", [True, False], ids=["the same run", "another fit"])
def test_an_interrupted_resumed_fit_leaves_the_data_whole(broken, batch, again):
    """The next `fit` with the very same data set trains on all batches that it should."""
    data, model = interrupted.dataset(), interrupted.model()
    model.compile(AdamW(0.01), CrossEntropy(), jit_compile=False)

    def run(epochs, *callbacks):
        model.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)

    with pytest.raises(KeyboardInterrupt):
        run(2, interrupted.Break((1, batch), KeyboardInterrupt()), Resume(broken, data, 4))
    assert data.num_batches == len(data) == 15
    before = int(model.optimizer.iterations)
    assert before == 23 + max(0, batch - 8 + 1)
    run(2, Resume(broken, data, 4)) if again else run(2)
    assert int(model.optimizer.iterations) == (30 if again else before + 30)


@pytest.mark.integration
def test_an_error_before_the_first_epoch_leaves_the_model_to_start_at_any(broken):
    data, model = interrupted.dataset(), interrupted.model()
    with pytest.raises(ValueError, match="count=3 in a fit of 2 epochs"):
        fit(broken, data=data, model=model, behind=[AverageEpochs(broken / "epochs", 3)])
    assert model.fit(data, epochs=1, verbose=0, shuffle=False).epoch == [0]


@pytest.mark.integration
def test_early_stopping_is_final_but_a_time_limit_is_not(tmp_path):
    stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: setattr(stop.model, "stop_training", True))
    fit(tmp_path / "early", stop, epochs=3)
    assert fit(tmp_path / "early", epochs=3)[1].epoch == [0]
    fit(tmp_path / "limit", interrupted.Break((0, 5)), epochs=1)
    model, _ = fit(tmp_path / "limit", epochs=1)
    assert int(model.optimizer.iterations) == 15


def test_what_cannot_be_resumed_is_refused(broken):
    with pytest.raises(ValueError, match=r"steps_per_execution=3 .* after 8 batches"):
        fit(broken, steps_per_execution=3)
    data = interrupted.dataset()
    model = interrupted.model()
    model.compile("sgd", CrossEntropy())
    with pytest.raises(ValueError, match="15 batches for Resume, and 5 steps an epoch"):
        model.fit(data, steps_per_epoch=5, verbose=0, callbacks=[Resume(broken, data)])
    with pytest.raises(ValueError, match="dataset without `position`"):
        Resume(broken, [1, 2])
    with pytest.raises(ValueError, match="every=0"):
        Resume(broken, data, every=0)


class NotFinite(keras.callbacks.Callback):
    """Makes weights or loss NaN at batch 9."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def on_train_batch_begin(self, batch, logs=None):
        if self.what == "weights" and batch == 9:
            self.model.set_weights([np.full_like(w, np.nan) for w in self.model.get_weights()])

    def on_train_batch_end(self, batch, logs=None):
        if self.what == "loss" and batch == 9:
            logs["loss"] = np.nan


@pytest.mark.integration
@pytest.mark.parametrize(("what", "before"), [("weights", True), ("loss", False)])
def test_after_terminate_on_nan_a_run_goes_on_from_the_last_finite_state(tmp_path, what, before):
    stop = [keras.callbacks.TerminateOnNaN()]
    callbacks, behind = (stop, []) if before else ([], stop)
    with pytest.warns(UserWarning, match="the loss is not finite, so this state"):
        fit(tmp_path, NotFinite(what), *callbacks, epochs=1, behind=behind)
    assert names(tmp_path) == ["epoch-00000-batch-00000004.npz", "epoch-00000-batch-00000008.npz"]
    model, history = fit(tmp_path, epochs=1)
    assert int(model.optimizer.iterations) == 15 and np.isfinite(history.history["loss"]).all()


@pytest.mark.integration
def test_weights_that_are_not_finite_are_not_kept(tmp_path):
    """Whatever the loss says, and at the end of an epoch too."""
    with pytest.warns(UserWarning, match="embeddings is not finite, so this state"):
        fit(tmp_path, NotFinite("weights"), FiniteLoss(), epochs=1)
    assert names(tmp_path)[-1] == "epoch-00000-batch-00000008.npz"


class FiniteLoss(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        logs["loss"] = 0.0


class PerClass(keras.metrics.Metric):
    """A metric with a value for each class: how many labels it has."""

    def __init__(self):
        super().__init__(name="per_class")
        self.counts = self.add_variable((interrupted.CLASSES,), "zeros", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.counts.assign_add(keras.ops.sum(keras.ops.one_hot(y_true, interrupted.CLASSES), axis=0))

    def result(self):
        return self.counts.value


@pytest.mark.integration
def test_the_history_keeps_metrics_with_several_values(tmp_path):
    _, first = fit(tmp_path, interrupted.Break((1, 9)), metrics=[PerClass()])
    assert first.history["per_class"][1].sum() == 40
    _, history = fit(tmp_path, metrics=[PerClass()])
    assert [values.sum() for values in history.history["per_class"]] == [60, 60]


@pytest.mark.integration
def test_variables_of_types_that_numpy_does_not_have(tmp_path):
    keras.config.set_dtype_policy("bfloat16")
    try:
        fit(tmp_path, interrupted.Break((0, 5)), epochs=1)
        model, _ = fit(tmp_path, epochs=1)
    finally:
        keras.config.set_dtype_policy("float32")
    assert int(model.optimizer.iterations) == 15


class Ask(keras.callbacks.Callback):
    """Sends SIGTERM to this process after a batch of training, or of validation in an epoch."""

    def __init__(self, epoch, batch, validation=False):
        super().__init__()
        self.at, self.validation = (epoch, batch), validation

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if not self.validation and (self.epoch, batch) == self.at:
            os.kill(os.getpid(), signal.SIGTERM)

    def on_test_batch_end(self, batch, logs=None):
        if self.validation and (self.epoch, batch) == self.at:
            os.kill(os.getpid(), signal.SIGTERM)


def validated(folder, *callbacks):
    keras.utils.set_random_seed(0)
    model, data, held_out = interrupted.model(), interrupted.dataset(), interrupted.dataset(1, shuffle=False)
    model.compile(AdamW(0.01), CrossEntropy(), metrics=[interrupted.Accuracy()], jit_compile=False)
    options = {"epochs": 2, "verbose": 0, "shuffle": False, "validation_data": held_out}
    history = model.fit(data, **options, callbacks=[*callbacks, Resume(folder, data, every=6)])
    return history.history, model.get_weights()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("at", "saved"), [((1, 9), "epoch-00001-batch-00000010"), ((0, 3, True), "epoch-00000-batch-00000015")]
)
def test_sigterm_saves_and_exits_in_training_and_in_validation(tmp_path, capfd, at, saved):
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended:
            validated(tmp_path / "run", Ask(*at))
        assert ended.value.code == 0 and names(tmp_path / "run")[-1] == f"{saved}.npz"
        assert "SIGTERM: repeat the call of fit to resume" in capfd.readouterr().err
        history, weights = validated(tmp_path / "run")
        expected_history, expected = validated(tmp_path / "unbroken")
        assert history == expected_history
        for weight, other in zip(weights, expected, strict=True):
            np.testing.assert_array_equal(weight, other)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_sigterm_while_batches_are_skipped_keeps_the_state(broken):
    state = names(broken)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit):
            fit(broken, Ask(1, 2))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert names(broken) == state


@pytest.mark.integration
def test_a_full_disk_costs_a_state_and_not_the_run(tmp_path):
    """A limit of the size of files stands for it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(epoch, logs):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000 if epoch else limits[0], limits[1]))

    model = interrupted.model()
    try:
        with pytest.warns(UserWarning, match="this state of the run is not kept"):
            _, history = fit(tmp_path, keras.callbacks.LambdaCallback(on_epoch_begin=limit), model=model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert history.epoch == [0, 1]
    assert names(tmp_path) == ["epoch-00000-batch-00000008.npz", "epoch-00000-batch-00000012.npz"]
    _, again = fit(tmp_path)  # goes on from there
    assert again.epoch == [0, 1]


@pytest.mark.integration
def test_fit_of_a_task_goes_on(tmp_path):
    import tiny

    def learn(task, folder, *callbacks):
        options = {"epochs": 2, "batch_size": 8, "verbose": 0, "resume": folder, "callbacks": list(callbacks)}
        return task.fit(tiny.TEXTS, tiny.LABELS, **options)

    with pytest.raises(KeyboardInterrupt):
        learn(tiny.classifier(), tmp_path / "run", interrupted.Break((1, 1), KeyboardInterrupt()))
    task, other = tiny.classifier(), tiny.classifier()
    learn(task, tmp_path / "run", interrupted.Break(None))
    learn(other, tmp_path / "unbroken")
    for weight, expected in zip(tiny.weights(task), tiny.weights(other), strict=True):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.integration
def test_sigterm_at_the_end_of_an_epoch_or_of_fit(tmp_path):
    """Where no batch follows."""

    def ask(epoch, logs):
        if epoch == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit):
            fit(tmp_path, keras.callbacks.LambdaCallback(on_epoch_end=ask))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert names(tmp_path)[-1] == "epoch-00002-batch-00000000.npz"


@pytest.mark.integration
def test_sigterm_in_the_run_after_one_that_an_error_ended(tmp_path):
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path, interrupted.Break((0, 5), KeyboardInterrupt()))
        with pytest.raises(SystemExit):
            fit(tmp_path, Ask(0, 9))
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert names(tmp_path)[-1] == "epoch-00000-batch-00000010.npz"


@pytest.mark.integration
def test_averages_of_a_task_are_not_what_its_run_goes_on_from(tmp_path):
    import tiny

    task, other = tiny.classifier(), tiny.classifier()
    options = {"batch_size": 8, "verbose": 0, "schedule": "constant", "learning_rate": 1e-2}
    texts = (tiny.TEXTS, tiny.LABELS)
    average = AverageEpochs(tmp_path / "epochs", 2)
    task.fit(*texts, epochs=2, resume=tmp_path / "run", callbacks=[average], **options)
    state, arrays = load_latest(tmp_path / "run")
    other.fit(*texts, epochs=2, **options)
    assert state["epoch"] == 2
    for index, weight in enumerate(tiny.weights(other)):
        np.testing.assert_allclose(arrays[f"model/{index}"], weight, atol=1e-6)
