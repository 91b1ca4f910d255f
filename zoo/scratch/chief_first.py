"""Work that one of several workers does for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def chief_first(strategy: Any | None, make: Callable[[], T]) -> T:
    """Call a function on the chief, and then on the other workers, which find what it has written.

    Args:
        strategy: A `tf.distribute` strategy, or None for one process.
        make: Writes something, or opens it where it has been written.

    Returns:
        What the function returns.

    Example:

    >>> chief_first(None, lambda: "written")
    'written'
    """
    from keras_transformers.training.workers.distribute import is_chief, sum_over_replicas

    if is_chief(strategy):
        made = make()
        sum_over_replicas(strategy, 0)  # lets the others go on
        return made
    sum_over_replicas(strategy, 0)
    return make()


def chief_alone(strategy: Any | None, make: Callable[[], T]) -> T | None:
    """Call a function on the chief, while the other workers wait for its end.

    Args:
        strategy: A `tf.distribute` strategy, or None for one process.
        make: Function that takes no step together with the other workers.

    Returns:
        What the function returns; None on the other workers.

    Example:

    >>> chief_alone(None, lambda: "written")
    'written'
    """
    from keras_transformers.training.workers.distribute import is_chief, sum_over_replicas

    made = make() if is_chief(strategy) else None
    sum_over_replicas(strategy, 0)  # a barrier: to TensorFlow, a worker that ends before the others has crashed
    return made
