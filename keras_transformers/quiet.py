"""TensorFlow without its messages, and with oneDNN.

TensorFlow 2.21 writes a few lines while it is imported, whatever `TF_CPP_MIN_LOG_LEVEL` says. They come from C++, so
they are filtered where they arrive: at the file descriptor. What comes later obeys that variable.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

# Information, its announcement, and what TensorFlow 2.18 to 2.20 say of libraries that they link twice.
NOISE = (
    rb"I0000 |WARNING: All log messages before absl::InitializeLog|To enable the following instructions: "
    rb"|[EW]0000 .*(Unable to register cu\w+ factory|computation placer already registered)"
)


def use_onednn() -> None:
    """Let TensorFlow compute with oneDNN on x86, unless the user has set `TF_ENABLE_ONEDNN_OPTS`; log it once.

    TensorFlow itself leaves oneDNN off on processors with AVX2 and no newer vector instructions. It reads the variable
    when it is imported.
    """
    if platform.machine() in ("x86_64", "AMD64") and "TF_ENABLE_ONEDNN_OPTS" not in os.environ:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
        message = "TensorFlow computes with oneDNN; without it, where TF_ENABLE_ONEDNN_OPTS=0 is in the environment."
        logging.getLogger(__name__).info(message)


class QuietImport:
    """The finder that `keras_transformers` puts before Python's finders: TensorFlow is quiet whoever imports it first.

    It finds TensorFlow as the other finders do, and is gone once that is imported. `TF_CPP_MIN_LOG_LEVEL` is 3 where
    the user has not set it, oneDNN is on as `use_onednn` says, and a TensorFlow that was imported before is left alone.
    """

    @classmethod
    def install(cls) -> None:
        """Take the first place among the finders, unless TensorFlow is there."""
        if "tensorflow" not in sys.modules and cls not in sys.meta_path:
            sys.meta_path.insert(0, cls)

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec that the other finders give, with a quiet loader."""
        if name != "tensorflow":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(cls)
        try:
            spec = find_spec(name)
        finally:
            sys.meta_path.insert(0, cls)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: cls.load(module, run)  # type: ignore[method-assign]  # of this one loader
        return spec

    @classmethod
    def load(cls, module: Any, run: Callable[[Any], None]) -> None:
        """Run the module; with all its messages if the user has asked for them, by the level 0."""
        if cls in sys.meta_path:
            sys.meta_path.remove(cls)
        use_onednn()
        level = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors that matter are raised, not logged
        with nullcontext() if level == "0" else without_start_up_messages():
            run(module)


@contextmanager
def without_start_up_messages() -> Iterator[None]:
    """Pass stderr through a process that drops `NOISE`, line by line.

    A process, not a thread: it still writes the last words of a TensorFlow that ends the interpreter.
    """
    process = _filter()
    if process is None:
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    with process:
        os.dup2(process.stdin.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)


def _filter() -> Any:
    """Start the process that filters; return None if stderr is closed, as some services do, or Python cannot start."""
    program = os.path.basename(sys.executable or "")  # that of a frozen program, or of uWSGI, would start it once more
    if sys.stderr is None or "python" not in program.lower() or getattr(sys, "frozen", False):
        return None
    from subprocess import PIPE, Popen

    try:
        return Popen([sys.executable, "-S", __file__], stdin=PIPE, stdout=2)
    except OSError:
        return None


def main() -> None:
    """Copy standard input to standard output, without `NOISE`."""
    import re
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that is filtered
    is_noise = re.compile(NOISE).match
    for line in sys.stdin.buffer:
        if not is_noise(line):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
