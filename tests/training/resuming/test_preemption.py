"""SIGTERM as a request to stop."""

from __future__ import annotations

import os
import signal
import sys
import threading

import keras
import pytest

from keras_transformers.training.resuming import preemption
from keras_transformers.training.resuming.preemption import StopRequest


@pytest.fixture(autouse=True)
def default_handler():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.integration
def test_a_signal_while_fit_runs_is_noted_once():
    model, request = keras.Sequential([keras.layers.Dense(1)]), StopRequest()
    model.compile("sgd", "mse")
    made = []

    def ask(batch, logs):
        os.kill(os.getpid(), signal.SIGTERM)
        made.append(request.is_made(None))

    request.watch()
    assert not request.is_made(None)
    data = keras.ops.ones((2, 1))
    model.fit(data, data, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=ask)])
    assert made == [True] and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # a second one ends the process


def test_a_signal_outside_of_fit_ends_the_process(monkeypatch):
    """As after an error in `fit`, which calls no callback at its end."""
    sent, request = [], StopRequest()
    monkeypatch.setattr(preemption.os, "kill", lambda process, number: sent.append((process, number)))
    request.watch()
    signal.getsignal(signal.SIGTERM)(signal.SIGTERM, sys._getframe())
    assert sent == [(os.getpid(), signal.SIGTERM)] and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_handler_of_the_program_stays():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    request = StopRequest()
    request.watch()
    request.unwatch()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


def test_watching_in_another_thread_changes_nothing():
    thread = threading.Thread(target=StopRequest().watch)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_second_run_forgets_the_signal_of_the_first():
    request = StopRequest()
    request._received = True
    request.watch()
    assert not request.is_made(None)
    request.unwatch()
