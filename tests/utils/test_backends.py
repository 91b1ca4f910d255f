"""Backends that tasks do not run on are refused before Keras imports them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from keras_transformers.utils.backends import check_task_backend


@pytest.mark.parametrize("backend", ["torch", "numpy", "openvino", "Tensorflow"])
def test_other_backends_are_refused(backend):
    with pytest.raises(ValueError, match=f"tasks run on TensorFlow and JAX: received the backend '{backend}'"):
        check_task_backend(backend)


def test_load_refuses_torch_where_torch_is_not_installed():
    program = "import sys; sys.modules['torch'] = None; import zoo; zoo.names(); zoo.load"
    environment = os.environ | {"KERAS_BACKEND": "torch"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ValueError: tasks run on TensorFlow and JAX")
