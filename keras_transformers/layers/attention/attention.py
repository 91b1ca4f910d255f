"""Multi-head attention: the only attention layer of the library."""

from __future__ import annotations

import math
from typing import Any

import keras

from keras_transformers.layers.attention.attend import attend
from keras_transformers.layers.attention.cache import write_cache
from keras_transformers.layers.attention.call_checks import check_call, check_heads, checked_share, checked_window
from keras_transformers.layers.attention.given_masks import Sizes, both, combined
from keras_transformers.layers.attention.masks import cached_mask, combine
from keras_transformers.layers.attention.projections import (
    JOINT,
    distance_vectors,
    gated,
    keys_and_values,
    merge,
    queries,
)
from keras_transformers.layers.attention.scores import ALL_KEYS, ScoreOptions, Visible
from keras_transformers.layers.core.dense import built_dense, length_of, with_length
from keras_transformers.layers.core.dropout import Dropout, part_of_seed
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import as_array, check_positive, check_rates, check_shape
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.layers.interface.old_files import ReturnsCache, with_new_names
from keras_transformers.layers.interface.optional_outputs import requested

LINEAR_FROM = 4096


@keras.saving.register_keras_serializable("keras_transformers")
class Attention(ReturnsCache, DenseOwner):
    """Scaled dot-product attention with several heads: self-attention, cross-attention, and both with a cache.

    Each output is the mean of the values, weighted by the softmax of the scaled query-key products.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; grouped key/value heads: Ainslie et al. 2023,
    https://arxiv.org/abs/2305.13245.

    Args:
        num_heads: Query heads, N.
        head_dim: Width of a head, H; the width of the input divided by `num_heads` when None.
        num_kv_heads: Key and value heads, K, a divisor of N; N when None.
        scale: Factor of the query-key products; `1 / sqrt(H)` when None, `1 / sqrt(3 * H)` with `relative_positions`.
        dropout: Rate on the attention weights. With one, training uses no fused attention (`fused_attention.py`).
        use_bias: Whether the projections of queries, keys and values have biases.
        return_scores: Whether each call returns the attention weights (before dropout) as well. Set it if a functional
            model calls the layer both with and without them: all calls must return the same structure.
        return_cache: Whether each call returns the cache as well.
        seed: Seed of the dropout, an integer; None for another one at each start.
        value_dim: Width of a head of the values, H when None. Their parts of a cache are (B, K, S, value_dim).
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform (queries,
            keys and values as if they were one matrix, as fairseq has it), `"fan_in"` for `1 / sqrt(inputs)`. Without
            a number, queries are initialised to fit `scale`, so that the initial scores do not depend on it.
        output_initializer_range: The same for the output layer; `initializer_range` when None.
        linear_from: Number of queries from which scores are computed in chunks, and again for the gradient, so that
            memory grows linearly with the length. A TensorFlow graph for any length always uses chunks, one for a short
            text. None: never. Calls with a `cache` never do.
        window: How many keys before and after itself a query sees, None for all. `(None, 0)` is causal. In
            self-attention without a cache the layer hides the other keys, and long texts take time and memory for the
            window only; with a cache, `attention_mask` must hide them.
        output_bias: Whether the output layer has a bias; `use_bias` when None.
        soft_cap: Bound of the scaled products: x becomes `soft_cap * tanh(x / soft_cap)` before biases and masks (Gemma
            Team 2024, https://arxiv.org/abs/2408.00118); None for none.
        head_norm: The norm of each head's queries and keys, before rotary positions, with one weight for each of the H:
            a `norm` of `EncoderBlock` (Henry et al. 2020, https://arxiv.org/abs/2010.04245). Or `"joint_rms"`, one of
            all heads together, with N * H and K * H weights (OLMo 2, https://arxiv.org/abs/2501.00656). None for none.
        epsilon: Added to the variance in these norms.
        partial_rotary_factor: Share of a head, its first units, that `rotary` turns (GPT-NeoX, Black et al. 2022,
            https://arxiv.org/abs/2204.06745).
        output_gate: Whether a sigmoid of a projection of `hidden_states` gates the heads' outputs, before the output
            layer (Qiu et al. 2025, https://arxiv.org/abs/2505.06708).

        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the four dense layers, as in `keras.layers.Dense`. A `kernel_initializer` replaces the ranges.

    Call arguments:
        hidden_states: The source of the queries, (B, T, D).
        context: The source of keys and values, (B, S, any width); `hidden_states` when None (self-attention).
        key: The source of the keys, (B, S, any width); `context`, of which it needs one, when None.
        attention_mask: True or 1 = may attend, (B|1, 1|T, S); also (T, S), (B|1, 1, 1|T, S) and, with a mask for each
            head, (B|1, N, T, S). A row that may attend to nothing gives finite numbers.
        padding_mask: (B, S), non-zero where a key is real; without a `cache` the mask that Keras carries with
            `context` and `key`, or with `hidden_states` in self-attention, when None. It is combined with an
            `attention_mask`.
        use_causal_mask: Whether a query sees no later keys. Positions are 0, 1, 2, ..., or `cache_positions`.
        documents: Integer (B, T), of self-attention without a cache: the text of each token, from 1, 0 for padding.
            A query sees the keys of the same text only: `document_mask(documents)`, in linear memory.
        position_bias: Added to the scaled products, (B|1, N, T, S).
        rotary: Cosines and sines of `RotaryPositions` for the positions of `hidden_states`.
        relative_positions: Table and rows of `DisentangledPositions` for the positions of `hidden_states`, in
            self-attention without a cache. The layers of queries and keys project the table too, and its products with
            keys and queries are added to theirs (He et al. 2021, https://arxiv.org/abs/2006.03654).
        cache: `{"key", "value"}`, each (B, K, S, H). With `cache_positions`, the new keys and values are written there;
            if not, the cache is only read (cross-attention after the first step).
        cache_positions: Integer (B, T), where in the cache each token of `hidden_states` belongs.
        in_place: Whether TensorFlow may overwrite the given cache, for loops that do not use it again. If not, it is
            copied at each call. Other backends ignore it.
        return_attention_scores: Whether this call returns the attention weights; `return_scores` when None.
        return_cache: Whether this call returns the cache; the layer's `return_cache` when None. A call with a `cache`
            always returns one.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` of self-attention without a cache, if none is
            given.

    Returns:
        The output (B, T, D). If more is asked for, a tuple: the output; the cache, as above; the attention weights
        (B, N, T, S), float.

    Raises:
        ValueError: `num_kv_heads` does not divide `num_heads`, or the input's width is not divisible by `num_heads`;
            `window` is no pair of numbers; `documents` are given with a `context` or a cache, or a `window` with a
            `context`; an input or a mask has another shape or dtype.

    Example:

    >>> attention = Attention(num_heads=2)
    >>> attention(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape.as_list()
    [1, 3, 8]
    >>> output, scores = attention(np.ones((1, 3, 8)), use_causal_mask=True, return_attention_scores=True)
    >>> scores.shape.as_list()
    [1, 2, 3, 3]
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        return_scores: bool = False,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        linear_from: int | None = LINEAR_FROM,
        window: tuple[int | None, int | None] = (None, None),
        return_cache: bool = False,
        seed: int | None = None,
        value_dim: int | None = None,
        output_bias: bool | None = None,
        soft_cap: float | None = None,
        partial_rotary_factor: float = 1.0,
        head_norm: str | None = None,
        epsilon: float = 1e-6,
        output_gate: bool = False,
        **kwargs: Any,
    ):
        window, kwargs = _renamed_window(window, kwargs)
        super().__init__(**kwargs)
        check_heads(num_heads, num_kv_heads, head_dim=head_dim, value_dim=value_dim, linear_from=linear_from)
        check_rates(dropout=dropout)
        check_positive(scale=scale, soft_cap=soft_cap)
        self.num_heads, self.num_kv_heads, self.value_dim = num_heads, num_kv_heads or num_heads, value_dim
        self.head_dim: Any = head_dim  # a number from `build` on
        self.scale, self.soft_cap = scale, soft_cap
        self.use_bias, self.output_bias = use_bias, use_bias if output_bias is None else output_bias
        self.head_norm, self.partial_rotary_factor = head_norm, checked_share(partial_rotary_factor)
        self.output_gate = output_gate
        self.return_scores, self.return_cache = return_scores, return_cache
        self.initializer_range, self.output_initializer_range = initializer_range, output_initializer_range
        self.linear_from, self.window = linear_from, checked_window(window)
        self.supports_masking = True
        self._make_inner_layers(dropout, seed, epsilon)

    def _make_inner_layers(self, dropout: float, seed: int | None, epsilon: float) -> None:
        """Make the layers that need no shape: the dropout, and the norms of each head's queries and keys."""
        dtype = self.dtype_policy.name
        self.dropout = Dropout(dropout, seed=part_of_seed(seed, 0), dtype=dtype, name="dropout")
        self.query_norm, self.key_norm = _head_norms(self.head_norm, epsilon, dtype, self.use_bias)

    def build(self, hidden_states_shape, context_shape=None, key_shape=None):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        context_shape = context_shape or hidden_states_shape
        key_shape = key_shape or context_shape
        check_shape(context_shape, "context")
        check_shape(key_shape, "key")
        width = hidden_states_shape[-1]
        if self.head_dim is None and width % self.num_heads:
            raise ValueError(
                f"the width of the input must be divisible by num_heads={self.num_heads}: received {width}. "
                "Give head_dim to choose the width of a head."
            )
        self.head_dim = self.head_dim or width // self.num_heads
        value_dim = self.value_dim or self.head_dim
        gain = math.sqrt(0.5) if self.initializer_range is None else 1.0  # Glorot's for (D, 3 * D)
        fitted = gain if self.scale is None else gain / math.sqrt(self.head_dim) / self.scale
        self.query = built_dense(self, "query", self.num_heads * self.head_dim, hidden_states_shape, fitted)
        self.key = built_dense(self, "key", self.num_kv_heads * self.head_dim, key_shape, gain)
        self.value = built_dense(self, "value", self.num_kv_heads * value_dim, context_shape, gain)
        heads_shape = (None, None, self.num_heads * value_dim)
        self.gate: Any = built_dense(self, "gate", heads_shape[-1], hidden_states_shape) if self.output_gate else None
        self.output_dense = built_dense(self, "output", width, heads_shape, use_bias=self.output_bias)
        is_joint = (self.head_norm or "").startswith(JOINT)
        for norm, heads in ((self.query_norm, self.num_heads), (self.key_norm, self.num_kv_heads)):
            if norm is not None:
                norm.build((None, heads * self.head_dim) if is_joint else (None, None, None, self.head_dim))

    def call(
        self, hidden_states, context=None, key=None, *, attention_mask=None, padding_mask=None, use_causal_mask=False,
        documents=None, position_bias=None, rotary=None, relative_positions=None, cache=None, cache_positions=None,
        in_place=False, return_attention_scores=None, return_cache=None, mask=None, training=None,
    ):  # fmt: skip
        wanted = requested(self, cache, return_cache, return_attention_scores)
        documents, position_bias = as_array(documents), as_array(position_bias)
        length, is_cached = length_of(hidden_states), cache is not None
        check_call(self, hidden_states, context, key, documents, rotary, relative_positions, cache, cache_positions)
        source = hidden_states if context is None else context
        query = queries(self, hidden_states, rotary, self.score_scale(relative_positions), length)  # (B, N, T, H)
        if not is_cached:
            cache = keys_and_values(self, source, key, rotary)  # (B, K, S, H)
        elif cache_positions is not None:
            cache = write_cache(
                keys_and_values(self, source, key, rotary), cache, cache_positions, in_place
            )  # (B, K, S, H)

        keys, values = cache["key"], cache["value"]  # (B, K, S, H) each; H may differ
        if padding_mask is None and not is_cached:
            of_self = context is None
            padding_mask = carried(self, source, mask if of_self else None, "hidden_states" if of_self else "context")
            padding_mask = padding_mask if key is None else both(padding_mask, carried(self, key, None, "key"))
        sizes = Sizes(query.shape[0], self.num_heads, query.shape[2], keys.shape[2])
        attention_mask, position_bias = combined(attention_mask, padding_mask, documents, position_bias, sizes)
        visible = Visible(attention_mask)
        window = (self.window[0], 0) if use_causal_mask else self.window
        if not is_cached and context is None:
            visible = Visible(attention_mask, documents, window)
        elif use_causal_mask:
            visible = Visible(
                combine(attention_mask, cached_mask(cache_positions, length, keys, window))
            )  # (1|B, T, S)

        options = ScoreOptions(visible, position_bias, distance_vectors(self, relative_positions), self.soft_cap)
        mixed, scores = attend(self, query, keys, values, options, is_cached, wanted.scores, training)  # (B, N, T, H)
        output = with_length(self.output_dense(gated(self, merge(mixed), hidden_states)), length)  # (B, T, D)
        return wanted.outputs(output, cache, scores)

    def score_scale(self, relative_positions: Any = None) -> float:
        """Return the factor of the query-key products, in a call with or without `relative_positions`."""
        terms = 1 if relative_positions is None else 3
        return 1 / math.sqrt(self.head_dim * terms) if self.scale is None else self.scale

    def compute_output_spec(
        self, hidden_states, context=None, key=None, *, cache=None, return_attention_scores=None, return_cache=None,
        attention_mask=None, padding_mask=None, documents=None, position_bias=None, rotary=None,
        relative_positions=None, cache_positions=None, **inputs
    ):  # fmt: skip
        documents, position_bias = as_array(documents), as_array(position_bias)
        check_call(self, hidden_states, context, key, documents, rotary, relative_positions, cache, cache_positions)
        wanted = requested(self, cache, return_cache, return_attention_scores)
        batch, length, width = hidden_states.shape
        source = hidden_states if context is None else context
        shapes = {name: (batch, shape[1], source.shape[1], shape[3]) for name, shape in self.part_shapes(width).items()}
        cache = cache or {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in shapes.items()}
        new = {name: keras.KerasTensor(cache[name].shape, dtype=cache[name].dtype) for name in ("key", "value")}
        scores = (batch, self.num_heads, length, new["key"].shape[2])
        combined(attention_mask, padding_mask, documents, position_bias, Sizes(*scores))
        output = keras.KerasTensor((batch, length, width), dtype=self.compute_dtype)
        return wanted.outputs(output, new, [keras.KerasTensor(scores, dtype=self.compute_dtype)])

    def part_shapes(self, width: int) -> dict[str, tuple]:
        """Return the shapes (None, K, None, H) of the parts of the cache, for hidden states of a width."""
        head_dim = self.head_dim or width // self.num_heads
        widths = {"key": head_dim, "value": self.value_dim or head_dim}
        return {name: (None, self.num_kv_heads, None, size) for name, size in widths.items()}


def _renamed_window(window: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the window, which may be given by its old name, and the other keyword arguments."""
    kwargs = with_new_names(kwargs if window == ALL_KEYS else {"window": window, **kwargs})
    return kwargs.pop("window", window), kwargs


def _head_norms(norm: str | None, epsilon: float, dtype: str, use_bias: bool) -> tuple[Any, Any]:
    """Return the norms of each head's queries and keys; None for both without a kind of norm."""
    if norm is None:
        return None, None
    kind = norm.removeprefix(JOINT)
    return tuple(make_norm(kind, epsilon, dtype, name, use_bias) for name in ("query_norm", "key_norm"))
