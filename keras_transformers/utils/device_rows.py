"""The rows of arrays on the devices of a `keras.distribution`."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.utils.keras_private import num_processes


def batch_parts() -> int:
    """Return the number of parts into which this process divides a batch; 1 without a `keras.distribution`.

    Example:

    >>> batch_parts()
    1
    """
    distribution = keras.distribution.distribution()
    if distribution is None:
        return 1
    mesh = distribution.device_mesh
    sizes = dict(zip(mesh.axis_names, mesh.shape, strict=True))
    return max(1, sizes[distribution.batch_dim_name] // num_processes(distribution))


def with_divided_rows(arrays: Any) -> Any:
    """Divide the rows of arrays among the devices of the `keras.distribution`, as Keras does in `fit` alone.

    Otherwise each device computes all rows. An array stays whole if its rows do not divide evenly, if several processes
    share the devices, and on other backends than JAX.

    Args:
        arrays: A structure of arrays, whose first axes are rows.

    Example:

    >>> with_divided_rows({"token_ids": [[1, 2]]})
    {'token_ids': [[1, 2]]}
    """
    distribution, parts = keras.distribution.distribution(), batch_parts()
    if distribution is None or parts == 1 or num_processes(distribution) > 1 or keras.backend.backend() != "jax":
        return arrays

    def divided(array: Any) -> Any:
        if not array.shape or array.shape[0] % parts:
            return array
        return keras.distribution.distribute_tensor(array, distribution.get_data_layout(array.shape))

    return keras.tree.map_structure(divided, arrays)
