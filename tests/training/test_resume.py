"""Resume: a killed run goes on as if nothing had been, and nothing half-written or foreign is loaded."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformers.training.losses import CrossEntropy
from keras_transformers.training.optimizer import AdamW
from keras_transformers.training.resume import Resume, load_latest

SCRIPT = Path(__file__).with_name("interrupted.py")
spec = importlib.util.spec_from_file_location("interrupted", SCRIPT)
interrupted = importlib.util.module_from_spec(spec)
spec.loader.exec_module(interrupted)


def run(folder, log, kill_at, jit, steps):
    command = [sys.executable, str(SCRIPT), str(folder), str(log), kill_at, jit, steps]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    result = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert done.returncode == (0 if kill_at == "never" else -9), done.stderr[-3000:]
    return {(epoch, batch): losses for epoch, batch, *losses in lines}, result and json.loads(result[0][6:])


@pytest.mark.slow
@pytest.mark.parametrize(("jit", "steps", "kill_at", "saved_at"), [("plain", "1", "1,8", 6), ("jit", "3", "1,8", 6)])
def test_killed_and_resumed_equals_unbroken(tmp_path, jit, steps, kill_at, saved_at):
    """Losses of each step bit by bit, with dropout, accumulation and averages; early stopping and best epoch too."""
    whole, expected = run(tmp_path / "whole", tmp_path / "whole.log", "never", jit, steps)
    first, _ = run(tmp_path / "run", tmp_path / "first.log", kill_at, jit, steps)
    assert all(first[step] == whole[step] for step in first)
    rest, found = run(tmp_path / "run", tmp_path / "rest.log", "never", jit, steps)
    trained = [step for step in whole if step >= (1, saved_at)]
    assert len(trained) > 3 and all(rest[step] == whole[step] for step in trained)
    assert found == expected


def fit(folder, *callbacks, epochs=2, data=None, every=4, **options):
    data = data or interrupted.dataset()
    model = interrupted.model()
    model.compile(AdamW(0.01), CrossEntropy(), jit_compile=False, **options)
    resume = Resume(folder, data, every)
    return model, model.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=[*callbacks, resume])


@pytest.fixture
def broken(tmp_path):
    """A run that broke off at batch 9 of 15 of its second epoch, with states saved at 4 and 8."""
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", interrupted.Break((1, 9), KeyboardInterrupt()))
    return tmp_path / "run"


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


def test_another_model_is_refused(broken):
    data = interrupted.dataset()
    inputs = interrupted.model().inputs
    hidden = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(50, 7)(inputs[0]))
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    model.compile(AdamW(0.01), CrossEntropy(), jit_compile=False)
    with pytest.raises(ValueError, match=r"differing shapes: .*embeddings"):
        model.fit(data, verbose=0, callbacks=[Resume(broken, data)])


def test_a_resumed_epoch_does_not_shorten_the_next(broken):
    """Where Keras does not know the number of batches, it takes that of the first epoch which it sees."""
    data = interrupted.dataset()
    if keras.backend.backend() == "tensorflow":
        del data.cardinality
        assert int(data.cardinality()) < 0
    seen = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    model, history = fit(broken, count, epochs=4, data=data)
    assert seen == 3 * list(range(15)) and history.epoch == [0, 1, 2, 3]
    # At an end that it does not know, Keras may count one step that it then cannot make: of three epochs here.
    assert 60 <= int(model.optimizer.iterations) <= 63


def test_a_finished_run_trains_no_more_until_epochs_are_added(tmp_path):
    model, first = fit(tmp_path, epochs=1)
    again, second = fit(tmp_path, epochs=1)
    assert second.history == first.history
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), again.get_weights(), strict=True))
    longer, third = fit(tmp_path, epochs=2)
    assert third.epoch == [0, 1] and int(longer.optimizer.iterations) == 30


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
