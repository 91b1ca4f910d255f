"""What the command line tells TensorFlow in the environment, before it is imported, where the user has not."""

from __future__ import annotations

import os
import platform


def set_environment() -> None:
    """Set what is not set: the memory of large tensors, and oneDNN."""
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # keeps the memory of large tensors for the next step
    if platform.machine() in ("x86_64", "AMD64"):  # TensorFlow itself leaves oneDNN off on those with AVX2 alone
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
