"""Which files hold no tests here: scripts that run in processes of their own, and what only TensorFlow has."""

import os

collect_ignore = ["replicas.py", "interrupted.py"]
if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    collect_ignore += ["test_distribute.py", "test_sparse_gradients.py"]
