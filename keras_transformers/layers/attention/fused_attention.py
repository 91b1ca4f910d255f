"""Fused attention: one kernel for the scores, their softmax and the sums, where JAX has a kernel for what is asked."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.scores import ScoreOptions, Visible
from keras_transformers.layers.core.accelerator import Accelerator, accelerator
from keras_transformers.utils.tensor_types import Tensor

HALF = ("float16", "bfloat16")
OLDEST_JAX = (0, 10, 2)  # some older ones give a learned bias a gradient of zero
LOWEST = -3e4  # of a bias: float16 ends at -65,504


def fused_implementation(
    query: Tensor, key: Tensor, value: Tensor, options: ScoreOptions, is_short: bool
) -> str | None:
    """Return the kernel for `fused_attention`: an `implementation` of `jax.nn.dot_product_attention`, or None.

    Args:
        query, key, value, options: As in `fused_attention`.
        is_short: Whether memory may grow with the number of scores.

    Example:

    >>> x = np.ones((1, 2, 4, 8), "float32")
    >>> fused_implementation(x, x, x, ScoreOptions(), is_short=True) is None
    True
    """
    if keras.backend.backend() != "jax" or not options.suits_kernels:
        return None
    import jax

    dtypes = {keras.backend.standardize_dtype(x.dtype) for x in (query, key, value)}
    # The kernel refuses queries, keys and values whose heads are on different devices.
    is_split = isinstance(keras.distribution.distribution(), keras.distribution.ModelParallel)
    is_uneven = value.shape[-1] != query.shape[-1]  # kernels have one width of heads
    if len(dtypes) != 1 or is_uneven or is_split or jax.__version_info__ < OLDEST_JAX:
        return None
    bias = options.position_bias
    has_table = bias is not None or kernel_options(options.visible, bias, key.shape[2]) is None
    sizes = (query.shape[2], key.shape[2], query.shape[3])
    return chosen_kernel(accelerator(), dtypes.pop(), sizes, has_table, is_short)


def chosen_kernel(
    device: Accelerator, dtype: str, sizes: tuple[Any, Any, int], has_table: bool, is_short: bool = True
) -> str | None:
    """Return the kernel of a device for an attention; None if no kernel takes it.

    cuDNN's limits are as in `jax/_src/cudnn/fused_attention_stablehlo.py` and of cudnn-frontend's
    `sdpa_support_surface.h`, of the forward and the backward pass: a gradient may be asked for later.

    Args:
        device: Device that computes.
        dtype: Dtype of queries, keys and values.
        sizes: T, S and H; JAX may have symbols for T and S.
        has_table: Whether a mask or a bias (B|1, N|1, T, S) goes with it.
        is_short: Whether memory may grow with T * S.

    Returns:
        `"cudnn"`, `"xla"` or None.

    Example:

    >>> chosen_kernel(Accelerator("gpu", 9.0), "bfloat16", (512, 512, 64), has_table=True)
    'cudnn'
    >>> chosen_kernel(Accelerator("gpu", 9.0), "float32", (512, 512, 64), has_table=True) is None
    True
    """
    queries, keys, head_dim = sizes
    is_known = isinstance(queries, int) and isinstance(keys, int)
    if dtype not in HALF or not is_known or queries == 1 or keys == 1 or (has_table and not is_short):
        return None
    if device.platform == "tpu":
        return "xla" if is_short else None
    widest = 256 if 9.0 <= device.capability < 10.0 else 128
    if device.capability < 8.0 or head_dim % 8 or head_dim > widest:
        return None
    # Beside a table the gradient needs even lengths; and where half of the last tile of 128 keys is empty, it may be
    # NaN: https://github.com/pytorch/pytorch/issues/196678.
    if has_table and (queries % 2 or keys % 2 or keys % 128 == 64):
        return None
    return "cudnn"


def fused_attention(query: Tensor, key: Tensor, value: Tensor, options: ScoreOptions, implementation: Any) -> Tensor:
    """Compute `mix(attention_weights(...), value)` by `jax.nn.dot_product_attention`.

    With cuDNN no scores are kept. A mask or a bias is a table in the dtype of the queries: a causal mask or a causal
    window alone needs none. Paper: Dao et al. 2022, https://arxiv.org/abs/2205.14135.

    Args:
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        value: (B, K, S, H).
        options: A `position_bias` may be (B|1, 1|N, 1|T, S). Where a query sees no key, its output is the mean of all
            values.
        implementation: `"cudnn"` or `"xla"`, from `fused_implementation`.

    Returns:
        (B, N, T, H).

    Example:

    >>> x = np.ones((1, 2, 4, 8), "float32")
    >>> if keras.backend.backend() == "jax":
    ...     assert fused_attention(x, x, x, ScoreOptions(Visible(window=(None, 0))), "xla").shape == (1, 2, 4, 8)
    """
    import jax

    length, keys = query.shape[2], key.shape[2]
    visible, bias, mask = options.visible, options.position_bias, None
    kernel = kernel_options(visible, bias, keys)
    if kernel is None:
        mask = ops.expand_dims(visible.whole(length), 1)  # (B|1, 1, 1|T, S)
        sees = ops.any(mask, axis=-1, keepdims=True)  # (B|1, 1, 1|T, 1)
        # Without a key to see: equal scores for all keys, as kernels are not finite without any.
        query = ops.where(sees, query, ops.zeros_like(query))  # (B, N, T, H)
        bias = None if bias is None else ops.where(sees, bias, ops.zeros_like(bias))  # (B|1, 1|N, 1|T, S)
        mask = _with_rows(ops.logical_or(mask, ops.logical_not(sees)), length)  # (B|1, 1, T, S)
    if bias is not None:
        bias = ops.cast(ops.maximum(bias, ops.cast(LOWEST, bias.dtype)), query.dtype)
        bias = _with_rows(bias, length)  # (B|1, 1|N, T, S)

    query, key, value = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))  # (B, T, N, H), (B, S, K, H)
    mixed = jax.nn.dot_product_attention(
        query, key, value, bias, mask, scale=1.0, implementation=implementation, **(kernel or {})
    )  # (B, T, N, H)
    return ops.transpose(mixed, (0, 2, 1, 3))


def kernel_options(visible: Visible, position_bias: Any, keys: Any) -> dict[str, Any] | None:
    """Return the options of a kernel that hide keys; None where only a mask can.

    Args:
        visible, position_bias: As in `ScoreOptions`.
        keys: S.

    Example:

    >>> kernel_options(Visible(window=(2, 0)), None, keys=8)
    {'is_causal': True, 'local_window_size': (2, 0)}
    >>> kernel_options(Visible(window=(2, 2)), None, keys=8) is None
    True
    """
    if visible.attention_mask is not None or visible.documents is not None:
        return None
    before, after = visible.window
    if before is None and after is None:
        return {}
    if after != 0 or not isinstance(keys, int):
        return None
    if before is None or before >= keys - 1:
        return {"is_causal": True}
    # cuDNN before 9.10.2 takes no window beside a bias.
    return None if position_bias is not None else {"is_causal": True, "local_window_size": (before, 0)}


def _with_rows(table: Tensor, length: int) -> Tensor:
    """Return a table (B|1, 1|N, 1|T, S) with a row for each query, (B|1, 1|N, T, S): cuDNN needs them all."""
    batch, heads, _, keys = table.shape
    return ops.broadcast_to(table, (batch, heads, length, keys))
