"""The backends of Keras that tasks run on."""

from __future__ import annotations

TASK_BACKENDS = ("tensorflow", "jax")


def check_task_backend(backend: str) -> None:
    """Refuse a backend that tasks do not run on, without an import of Keras or of the backend.

    Args:
        backend: The name, as in `KERAS_BACKEND` and from `keras.backend.backend()`.

    Raises:
        ValueError: Tasks do not run on it.

    Example:

    >>> check_task_backend("jax")
    """
    if backend not in TASK_BACKENDS:
        raise ValueError(
            f"tasks run on TensorFlow and JAX: received the backend {backend!r}. Set KERAS_BACKEND=tensorflow or jax "
            "before Keras is imported."
        )
