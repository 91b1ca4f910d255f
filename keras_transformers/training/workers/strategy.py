"""Strategies of `tf.distribute` by name, from flags and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from keras_transformers.training.workers.cluster import read_cluster
from keras_transformers.training.workers.distribute import on_tensorflow

TPU_VARIABLES = ("TPU_NAME", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES")  # set by Google Cloud, or by hand


def strategy(name: str = "auto") -> Any | None:
    """Make a strategy to train in; `zoo.load(..., strategy=name)` does so too.

    Call it before TensorFlow makes its first tensor: several workers connect when TensorFlow starts.

    Args:
        name: `"mirrored"`: all GPUs of this machine, or its CPU. `"multi_worker"`: all processes of the cluster in
            `TF_CONFIG` or of Slurm's `srun` (see `training.cluster`), each with its GPUs. `"tpu"`: the TPU of this
            machine, or the one that `TPU_NAME` names. `"auto"`: several workers if the environment names them, else a
            TPU if it names one, else mirrored if there are several GPUs, else None.

    Returns:
        A `tf.distribute.Strategy`; None for no strategy, which trains on one device. Several calls for workers, or for
        a TPU, return the same one.

    Raises:
        ValueError: Another name, no such devices, an environment that does not describe a cluster, TensorFlow has
            begun to work before workers connect, or Keras does not run on TensorFlow.

    Example:

    >>> strategy("auto") is None  # one process without several GPUs
    True
    """
    makers: dict[str, Callable[[], Any | None]] = {
        "auto": _auto,
        "mirrored": _mirrored,
        "multi_worker": _multi_worker,
        "tpu": _tpu,
    }
    if name not in makers:
        raise ValueError(f"Received strategy={name!r}; expected one of {sorted(makers)}, or a tf.distribute.Strategy.")
    if not on_tensorflow():
        raise ValueError(
            f"Received strategy={name!r} on another backend than TensorFlow. Expected no strategy there: "
            "`keras.distribution.set_distribution` is JAX's way to several devices."
        )
    return makers[name]()


def chosen(strategy_or_name: Any) -> Any | None:
    """Return the strategy that a user gave, by name or as it is."""
    return strategy(strategy_or_name) if isinstance(strategy_or_name, str) else strategy_or_name


def _auto() -> Any | None:
    import tensorflow as tf

    cluster = read_cluster()
    if cluster is not None and len(cluster.workers) > 1:
        return _multi_worker()
    if any(os.environ.get(name) for name in TPU_VARIABLES):
        return _tpu()
    return _mirrored() if len(tf.config.list_physical_devices("GPU")) > 1 else None


def _mirrored() -> Any:
    import tensorflow as tf

    return tf.distribute.MirroredStrategy()


@cache
def _multi_worker() -> Any:
    import tensorflow as tf

    cluster = read_cluster()
    if cluster is None:
        raise ValueError(
            "Received strategy='multi_worker', and no cluster in the environment. Expected TF_CONFIG, or a start of "
            "each worker by Slurm's srun."
        )
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": cluster.workers}), task_type="worker", task_id=cluster.index, rpc_layer="grpc"
    )
    try:
        return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    except RuntimeError as error:
        raise ValueError(
            f"Received strategy='multi_worker' too late: {error}. Expected it before TensorFlow makes its first "
            "tensor, as in `zoo.load(..., strategy='multi_worker')` at the start of the program."
        ) from error


@cache
def _tpu() -> Any:
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(os.environ.get("TPU_NAME", "local"))
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (tf.errors.OpError, RuntimeError, ValueError, OSError) as error:
        raise ValueError(
            f"Received strategy='tpu', and found no TPU: {error}. Expected one on this machine, or its name in the "
            "variable TPU_NAME, and TensorFlow for TPUs (the package tensorflow-tpu)."
        ) from error
    return tf.distribute.TPUStrategy(resolver)
