"""Which files hold no tests here: scripts that run in processes of their own, and what only TensorFlow has."""

import os
from importlib.util import find_spec

collect_ignore = ["replicas.py", "interrupted.py", "lowered.py", "sharded.py"]
if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    collect_ignore += ["workers/test_distribute.py", "test_sparse_gradients.py"]
if find_spec("jax") is None:
    collect_ignore += ["test_sharded.py", "test_tpu_lowering.py"]
