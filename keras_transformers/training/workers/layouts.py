"""Layouts for models that do not fit one device: which part of a variable each device of a mesh holds (on JAX).

Keras' `keras.distribution.ModelParallel` asks a layout map for every variable by its path, and gives the optimizer's
slots of a variable the same layout. XLA adds the communication, so any layout gives the same losses.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras

from keras_transformers.config.transformer_config import TransformerConfig

BATCH, MODEL = "batch", "model"  # names of the axes of a mesh


def model_parallel(
    config: TransformerConfig, shape: Sequence[int], devices: Sequence[str] | None = None
) -> keras.distribution.ModelParallel:
    """Return the distribution that splits a model, its optimizer and its batches over devices.

    Give it to `keras.distribution.set_distribution` before the model is made, as variables are placed when they are
    made.

    Args:
        config: Configuration of the model.
        shape: `(data, model)`: into how many parts the rows of a batch and the matrices are split; their product is
            the number of devices. `(1, 8)` splits matrices only.
        devices: Names as of `keras.distribution.list_devices()`; all of them when None.

    Raises:
        ValueError: Keras runs on another backend than JAX, the shape does not fit the devices, or heads or feed-forward
            layers do not divide.

    Example:

    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> if keras.config.backend() == "jax":  # on 8 devices
    ...     keras.distribution.set_distribution(model_parallel(config, shape=(4, 2)))
    """
    if keras.config.backend() != "jax":
        raise ValueError(
            f"matrices are split on the JAX backend only, and this is {keras.config.backend()}: set KERAS_BACKEND=jax "
            "before Keras is imported. On TensorFlow, MirroredStrategy splits batches."
        )
    devices = list(devices or keras.distribution.list_devices())
    if len(shape) != 2 or shape[0] * shape[1] != len(devices):
        raise ValueError(
            f"shape must be two numbers, (data, model), whose product is the number of devices, {len(devices)}: "
            f"received {tuple(shape)}."
        )
    mesh = keras.distribution.DeviceMesh(tuple(shape), (BATCH, MODEL), devices)
    # Every process gets its own rows already; `fit` would split them once more.
    layouts = layout_map(config, mesh)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name=BATCH, auto_shard_dataset=False)


def layout_map(
    config: TransformerConfig, mesh: keras.distribution.DeviceMesh, axis: str = MODEL
) -> keras.distribution.LayoutMap:
    """Return the layouts of our layers' variables: matrices are split so that each sublayer is added up once.

    Attention is split by heads and feed-forward layers by their inner width: each device has the columns of the
    matrices that lead in and the rows of the one that leads out. Keys and values whose heads do not divide, norms,
    positions, recurrent layers and convolutions stay whole. The token table is split by rows, as are the logits, or by
    columns where the vocabulary does not divide. Paper: Shoeybi et al. 2019, https://arxiv.org/abs/1909.08053.

    Args:
        config: Configuration of the model.
        mesh: The devices.
        axis: The axis of the mesh over which matrices are split.

    Returns:
        For `keras.distribution.ModelParallel`; layouts may be added.

    Raises:
        ValueError: The mesh has no such axis; or `num_heads` or `intermediate_dim` does not divide by its size.

    Example:

    >>> from keras_transformers.families import llama
    >>> config = llama(100, num_layers=1, num_heads=4, num_kv_heads=1, hidden_dim=16, intermediate_dim=32)
    >>> mesh = keras.distribution.DeviceMesh((1, 2), ("batch", "model"), ["cpu:0", "cpu:1"])
    >>> layouts = layout_map(config, mesh)
    >>> layouts["decoder_block_0/attention/query/kernel"].axes, layouts["decoder_block_0/attention/key/kernel"]
    ((None, 'model'), None)
    """
    if axis not in mesh.axis_names:
        raise ValueError(f"axis must be one of the mesh, {tuple(mesh.axis_names)}: received {axis!r}.")
    parts = mesh.shape[list(mesh.axis_names).index(axis)]
    columns, rows, vector = (None, axis), (axis, None), (axis,)
    layouts = _block_layouts(config, parts, columns, rows, vector)

    tables = {"token_embedding": config.vocabulary_size}
    if config.encoder_vocabulary_size:
        tables["encoder_token_embedding"] = config.encoder_vocabulary_size
    for name, size in tables.items():
        if size % parts == 0 or (config.embedding_dim or config.hidden_dim) % parts == 0:
            # From the start of the path: Keras 3.12 looks for a pattern anywhere in it.
            layouts[f"^(.*/)?{name}/embeddings"] = rows if size % parts == 0 else columns
    if config.vocabulary_size % parts == 0:
        layouts |= {".*lm_head/kernel": columns, ".*(output_bias|masked_lm_bias)/bias": vector}

    mapped = keras.distribution.LayoutMap(mesh)
    for pattern, axes in layouts.items():
        mapped[pattern] = axes
    return mapped


def _block_layouts(
    config: TransformerConfig, parts: int, columns: tuple, rows: tuple, vector: tuple
) -> dict[str, tuple]:
    """Return the layouts of attention, cross-attention too, and of feed-forward layers, by patterns of paths."""
    layouts = {}
    if config.mixer == "attention" or (config.kind == "encoder_decoder" and config.cross_attention):
        _check_divides("num_heads", config.num_heads, parts)
        projections = "(query|key|value)" if config.num_kv_heads % parts == 0 else "query"
        layouts[f".*attention/{projections}/kernel"] = columns
        layouts[f".*attention/{projections}/bias"] = vector
        layouts[".*attention/output/kernel"] = rows
    if config.mixer == "attention":
        _check_divides("intermediate_dim", config.intermediate_dim, parts)
        layouts[".*feed_forward/(intermediate|gate)/kernel"] = columns
        layouts[".*feed_forward/(intermediate|gate)/bias"] = vector
        layouts[".*feed_forward/output/kernel"] = rows
    return layouts


def _check_divides(name: str, value: int, parts: int) -> None:
    if value % parts:
        fitting = [number for number in range(1, parts) if value % number == 0]
        raise ValueError(
            f"{name} must be divisible by the number of devices that matrices are split over: received {name}={value} "
            f"and {parts} devices. Split them over {fitting}, and batches over the rest."
        )
