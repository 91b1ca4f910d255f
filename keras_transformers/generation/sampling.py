"""The next token from logits (B, V), with sampling parameters for each row: greedy, or a sample after filters."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.generation import penalties
from keras_transformers.generation.penalties import BANNED
from keras_transformers.generation.prescribed import NOTHING, Prescribed
from keras_transformers.generation.program import Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import State
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.static_shapes import needs_static_shapes
from keras_transformers.utils.tensor_types import Tensor

BLOCK = 256  # numbers of a row that are summed together
COLDEST = 1e-20  # logits divided by less can overflow; a sample is the likeliest token at far higher temperatures


class Sampling:
    """The method that draws one token after the other; `score` sums the model's own log-probabilities of them."""

    def begin(self, state: State, request: Request) -> State:
        """Return the state as it is: see `program.Method`."""
        return state

    def __call__(self, program: Program, state: State, logits: Tensor, request: Request) -> State:
        """Append one token to each unfinished row; see `program.Method`."""
        changed = penalties.apply(logits, state, request, program)  # (B, V)
        seeds = ops.stack([request.seed, request.sequence * 2**20 + state.num_new], axis=1)  # (B, 2)
        token = choose(changed, request, seeds, program.prescribed)  # (B,)
        chosen = take_at(logits, ops.expand_dims(token, 1))[:, 0]
        score = ops.where(state.finished, 0.0, chosen - ops.logsumexp(logits, axis=-1))
        return program.append(state, token, request.stop)._replace(score=state.score + score)


def choose(logits: Tensor, request: Request, seeds: Tensor, prescribed: Prescribed = NOTHING) -> Tensor:
    """Return the next token of each row: the likeliest where the temperature is 0 (or below `COLDEST`), else a sample.

    Args:
        logits: float32 (B, V).
        request: `temperature`, `top_k`, `top_p` and `min_p` are read.
        seeds: int32 (B, 2), others at every step.
        prescribed: `typical_p`, `epsilon_cutoff` and `eta_cutoff` are read.

    Returns:
        int32 (B,).
    """
    is_greedy = request.temperature < COLDEST

    def sampled():
        temperature = ops.where(is_greedy, 1.0, request.temperature)[:, None]
        filters = (request.top_k, request.top_p, request.min_p)
        has_filter = ops.any(ops.stack([request.top_k > 0, request.top_p < 1, request.min_p > 0]))
        scaled = logits / temperature
        scaled = ops.cond(has_filter, lambda: keep_top(scaled, *filters), lambda: scaled)
        scaled = keep_typical(scaled, prescribed.typical_p)
        scaled = cut_off(scaled, prescribed.epsilon_cutoff, prescribed.eta_cutoff)
        noisy = scaled + gumbel(seeds, logits.shape[-1])
        return ops.argmax(ops.where(is_greedy[:, None], logits, noisy), axis=-1)

    return ops.cast(ops.cond(ops.all(is_greedy), lambda: ops.argmax(logits, axis=-1), sampled), "int32")


def keep_top(logits: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor) -> Tensor:
    """Rule out unlikely tokens: all but the `top_k`, then all beyond the nucleus `top_p`, then below `min_p`.

    Papers: Fan et al. 2018, https://arxiv.org/abs/1805.04833; Holtzman et al. 2019, https://arxiv.org/abs/1904.09751;
    Nguyen et al. 2024, https://arxiv.org/abs/2407.01082.

    Args:
        logits: float32 (B, V), divided by the temperature.
        top_k: int32 (B,); 0 for all.
        top_p: float32 (B,), the least sum of probabilities that is kept; 1 for all.
        min_p: float32 (B,), a part of the largest probability; 0 for all.
    """
    vocabulary_size = logits.shape[-1]
    top_k = ops.where(top_k > 0, ops.minimum(top_k, vocabulary_size), vocabulary_size)[:, None]
    largest = _sorted_top(logits, ops.max(top_k))
    rank = ops.arange(ops.shape(largest)[1], dtype="int32")
    largest = ops.where(rank < top_k, largest, BANNED)
    probabilities = ops.softmax(largest)
    before = _running_sum(probabilities) - probabilities
    within = ops.logical_or(before < top_p[:, None], top_p[:, None] >= 1)  # sums may round to 1 before the last token
    kept = ops.logical_and(
        ops.logical_and(within, rank < top_k), probabilities >= min_p[:, None] * probabilities[:, :1]
    )
    kept = ops.logical_or(kept, rank == 0)
    threshold = ops.min(ops.where(kept, largest, float("inf")), axis=-1, keepdims=True)
    return ops.where(logits < threshold, BANNED, logits)


def keep_typical(logits: Tensor, mass: float) -> Tensor:
    """Keep the tokens whose surprise is closest to the expected one, up to a sum of probabilities.

    Paper: Meister et al. 2022, https://arxiv.org/abs/2202.00666.

    Args:
        logits: float32 (B, V), divided by the temperature.
        mass: The least sum that is kept; 1 for all.
    """
    if mass >= 1:
        return logits
    surprise = -ops.log_softmax(logits, axis=-1)  # (B, V)
    distance = ops.abs(surprise - _entropy(logits))
    order = ops.argsort(distance, axis=-1)
    distances, probabilities = (take_at(x, order) for x in (distance, ops.softmax(logits, axis=-1)))
    below = ops.sum(ops.cast(_running_sum(probabilities) < mass, "int32"), axis=1, keepdims=True)  # (B, 1)
    farthest = take_at(distances, ops.minimum(below, logits.shape[-1] - 1))
    return ops.where(distance > farthest, BANNED, logits)


def cut_off(logits: Tensor, epsilon: float, eta: float) -> Tensor:
    """Rule out tokens whose probability is below epsilon, then below min(eta, sqrt(eta) * exp(-entropy)).

    Paper: Hewitt et al. 2022, https://arxiv.org/abs/2210.15191.

    Args:
        logits: float32 (B, V), divided by the temperature.
        epsilon, eta: The bounds; 0 for none.
    """
    if epsilon > 0:
        logits = _at_least(logits, epsilon)
    return _at_least(logits, ops.minimum(eta, eta**0.5 * ops.exp(-_entropy(logits)))) if eta > 0 else logits


def _at_least(logits: Tensor, least: Tensor | float) -> Tensor:
    """Rule out tokens of a lower probability, except the likeliest."""
    is_unlikely = ops.logical_and(
        ops.softmax(logits, axis=-1) < least, logits < ops.max(logits, axis=-1, keepdims=True)
    )
    return ops.where(is_unlikely, BANNED, logits)


def _entropy(logits: Tensor) -> Tensor:
    """Return the entropy of the softmax, in nats: (B, 1)."""
    probabilities, logs = ops.softmax(logits, axis=-1), ops.log_softmax(logits, axis=-1)
    return -ops.sum(ops.where(probabilities > 0, probabilities * logs, 0.0), axis=-1, keepdims=True)


def _sorted_top(logits: Tensor, number: Tensor) -> Tensor:
    """Return the largest logits of each row in order; all of them where shapes must be static."""
    if not needs_static_shapes():
        return ops.top_k(logits, number)[0]
    return ops.flip(ops.sort(logits, axis=-1), axis=-1)


def _running_sum(x: Tensor) -> Tensor:
    """Return the sums of the numbers of each row of (B, V) up to each place.

    XLA's own sum on TensorFlow takes V**2 steps, and minutes to compile; here there are products of blocks.
    """
    if keras.backend.backend() != "tensorflow" or not needs_static_shapes():
        return ops.cumsum(x, axis=-1)
    size = x.shape[-1]
    blocks = ops.reshape(ops.pad(x, [(0, 0), (0, -size % BLOCK)]), (-1, -(-size // BLOCK), BLOCK))  # (B, N, 256)
    within = ops.matmul(blocks, ops.triu(ops.ones((BLOCK, BLOCK), x.dtype)))
    number = blocks.shape[1]
    before = ops.matmul(ops.tril(ops.ones((number, number), x.dtype), -1), within[:, :, -1:])  # (B, N, 1)
    return ops.reshape(within + before, (-1, number * BLOCK))[:, :size]


def gumbel(seeds: Tensor, vocabulary_size: int) -> Tensor:
    """Return standard Gumbel noise, drawn apart for each row.

    The argmax of logits plus this noise is a sample of their softmax.

    Args:
        seeds: int32 (B, 2).
        vocabulary_size: V.

    Returns:
        float32 (B, V).
    """
    tiny = 1e-20
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        uniform = tf.map_fn(
            lambda seed: tf.random.stateless_uniform((vocabulary_size,), seed, alg="philox"),
            seeds,
            fn_output_signature=tf.float32,
        )
    else:
        import jax

        def row(seed):
            return jax.random.uniform(jax.random.fold_in(jax.random.key(seed[0]), seed[1]), (vocabulary_size,))

        uniform = jax.vmap(row)(seeds)
    return -ops.log(-ops.log(uniform + tiny) + tiny)
