"""Keep TensorFlow's start-up messages off the terminal.

TensorFlow 2.21 writes a few lines while it is imported and while it looks for devices, whatever
`TF_CPP_MIN_LOG_LEVEL` says. They come from C++, so they are filtered where they arrive: at the file descriptor.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

# Information and its announcement; and that there is no NVIDIA driver, which is an error only to who has a GPU.
NOISE = re.compile(
    rb"I0000 |WARNING: All log messages before absl::InitializeLog|To enable the following instructions: "
    rb"|E0000 .*cuda_platform\.cc.* failed call to cuInit: .*UNKNOWN ERROR \(303\)"
)


@contextmanager
def without_start_up_messages() -> Iterator[None]:
    """Pass stderr through a process that drops `NOISE`, line by line.

    A process, not a thread: it still writes the last words of a TensorFlow that ends the interpreter.
    """
    if sys.stderr is None:  # closed, as some services start their processes
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    with subprocess.Popen([sys.executable, "-S", __file__], stdin=subprocess.PIPE, stdout=stderr) as filtering:
        os.dup2(filtering.stdin.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)


def start_keras() -> None:
    """Import Keras, and with it TensorFlow where that is the backend, and look for devices."""
    if "keras" in sys.modules:
        return
    with without_start_up_messages():
        import keras

        if keras.backend.backend() == "tensorflow":
            start_tensorflow()


def start_tensorflow():
    """Import TensorFlow and look for devices; returns the module."""
    import tensorflow as tf

    tf.config.list_physical_devices()
    return tf


@contextmanager
def quiet_unless_chief(strategy: str | None) -> Iterator[None]:
    """Leaves standard output to the chief of several workers."""
    from keras_transformers.training.cluster import read_cluster

    cluster = read_cluster() if strategy in ("auto", "multi_worker") else None
    if cluster is None or cluster.index == 0:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def main() -> None:
    """Copy standard input to standard output, without `NOISE`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that is filtered
    for line in sys.stdin.buffer:
        if not NOISE.match(line):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
