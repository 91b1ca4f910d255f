"""Disentangled positions: a vector for each distance, with which the attention of every block multiplies contents."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config.choices import check_buckets
from keras_transformers.layers.core.layer_norm import LayerNormalization
from keras_transformers.layers.core.table_rows import TableOwner, add_table
from keras_transformers.layers.interface.input_checks import check_positions, check_positive, check_sizes
from keras_transformers.layers.interface.layer_options import Positional


@keras.saving.register_keras_serializable("keras_transformers")
class DisentangledPositions(Positional, TableOwner):
    """DeBERTa's vectors of relative positions, normalised once for all blocks, which project them themselves.

    Near distances have a vector each, farther ones share vectors by buckets of logarithmic width. Only the vectors that
    occur in a text are computed.
    Papers: He et al. 2021, https://arxiv.org/abs/2006.03654; log buckets: He et al. 2021,
    https://arxiv.org/abs/2111.09543.

    Args:
        hidden_dim: Width of a vector, D.
        num_buckets: Vectors for each direction, k, an even number; distances up to half of it have a vector each.
        max_distance: Distances from here on share the last vector.
        epsilon: Epsilon of the norm, which avoids a division by zero.
        initializer_range: Standard deviation of the truncated normal initialiser.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: As in `TokenEmbedding`.

    Call arguments:
        positions: Integer (1, T), whose values are 0, 1, 2, ...: only T is used.

    Returns:
        A pair `(table, rows)` for `Attention(relative_positions=...)`: the R <= 2 * k vectors that occur, (R, D), and,
        int32 (2 * T,), the row of each distance, query - key, of T - 1, T - 2, ..., -T.

    Raises:
        ValueError: A size is no positive integer, or the buckets reach beyond `max_distance`.

    Example:

    >>> table, rows = DisentangledPositions(hidden_dim=8, num_buckets=4, max_distance=6)(np.arange(9)[None])
    >>> tuple(table.shape), np.array(rows).tolist()
    ((8, 8), [7, 7, 7, 7, 7, 7, 6, 5, 4, 3, 2, 1, 1, 1, 0, 0, 0, 0])
    """

    def __init__(
        self,
        hidden_dim: int,
        num_buckets: int = 256,
        max_distance: int = 512,
        epsilon: float = 1e-7,
        initializer_range: float | str | None = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(hidden_dim=hidden_dim, num_buckets=num_buckets, max_distance=max_distance)
        check_positive(epsilon=epsilon)
        check_buckets(num_buckets, max_distance)
        self.hidden_dim, self.num_buckets, self.max_distance = hidden_dim, num_buckets, max_distance
        self.initializer_range = initializer_range
        self.norm = LayerNormalization(epsilon=epsilon, dtype=self.dtype_policy.name, name="norm")

    def build(self, positions_shape):
        self.embeddings = add_table(self, 2 * self.num_buckets, self.hidden_dim, "embeddings")
        self.norm.build((None, self.hidden_dim))

    def call(self, positions):
        check_positions(positions=positions)
        length = positions.shape[1]
        rows, table = self._rows(length if isinstance(length, int) else ops.shape(positions)[1]), self.embeddings
        if isinstance(length, int) or keras.backend.backend() == "tensorflow":  # JAX slices by known numbers only
            first, last = rows[-1], rows[0]  # the least and the largest: rows between them may occur
            table, rows = table[first : last + 1], rows - first
        return self.norm(ops.cast(table, self.compute_dtype)), ops.convert_to_tensor(rows, "int32")

    def _rows(self, length):
        """Return the row of each distance T - 1, T - 2, ..., -T: (2 * T,)."""
        module: Any = np if isinstance(length, int) else ops  # NumPy computes a known length while tracing
        distances = length - 1 - module.arange(2 * length, dtype="int32")  # (2 * T,)
        buckets = distance_buckets(self.num_buckets, self.max_distance)  # (max_distance + 1,)
        near = module.minimum(module.abs(distances), self.max_distance)
        rows = module.sign(distances) * module.take(buckets, near) + self.num_buckets
        return module.minimum(rows, 2 * self.num_buckets - 1)

    def compute_output_spec(self, positions):
        check_positions(positions=positions)
        length = positions.shape[1]
        table = keras.KerasTensor((None, self.hidden_dim), dtype=self.compute_dtype)
        return table, keras.KerasTensor((None if length is None else 2 * length,), dtype="int32")


def distance_buckets(num_buckets: int, max_distance: int) -> np.ndarray:
    """Return the bucket of each distance 0, 1, ..., `max_distance`.

    Args:
        num_buckets: k. Distances up to `k // 2` have a bucket each; farther ones share buckets up to k.
        max_distance: The first distance in the last bucket.

    Returns:
        int32 (max_distance + 1,).

    Example:

    >>> distance_buckets(8, 20).tolist()
    [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8]
    """
    middle, distances = num_buckets // 2, np.arange(max_distance + 1, dtype="int32")
    ratios = np.log(np.maximum(distances, middle).astype("float32") / np.float32(middle))
    widest = np.log(np.float32((max_distance - 1) / middle))
    far = np.ceil(ratios / widest * (middle - 1)).astype("int32") + middle
    return np.where(distances <= middle, distances, np.minimum(far, num_buckets))
