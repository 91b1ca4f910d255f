"""Dropout that draws one random number for four values."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.accelerator import accelerator

# Sources of seeds by the id of a dropout, for blocks that are computed twice with the same draws (see `remat`).
GIVEN_SEEDS: ContextVar[Mapping[int, Callable[[], Any]]] = ContextVar("given_seeds")
SHARING = 4  # values that share a random number


@keras.saving.register_keras_serializable("keras_transformers")
class Dropout(keras.layers.Dropout):
    """Dropout with one random number for four values.

    A uniform number u decides the first value: it is dropped if u < rate. Then u / rate, or (u - rate) / (1 - rate) if
    the value was kept, is uniform again and independent of that decision, so it decides the next value. Random numbers
    are most of the cost of dropout, above all where XLA compiles for a CPU. They are float32 in every dtype policy:
    bfloat16 numbers have steps of 1/128, which would make a rate of 0.3 one of 0.305. On a GPU, JAX draws them by the
    GPU's generator, from the same seeds: a run that moves there from a CPU continues with other draws.
    Paper: Srivastava et al. 2014, https://jmlr.org/papers/v15/srivastava14a.html.

    Args:
        rate, noise_shape, seed: As in `keras.layers.Dropout`. With a `noise_shape`, Keras' own method is used.

    Call arguments:
        inputs: (..., D).
        training: Whether to drop anything.

    Example:

    >>> dropped = Dropout(0.5, seed=1)(np.ones((100, 100)), training=True)
    >>> sorted(set(np.array(dropped).ravel().tolist())), round(float(np.mean(dropped)), 1)
    ([0.0, 2.0], 1.0)
    """

    def call(self, inputs, training=False):
        if not self.drops(training) or self.noise_shape is not None:
            return super().call(inputs, training=training)
        return ops.where(self._kept(ops.shape(inputs), self._draw()), inputs * (1.0 / (1.0 - self.rate)), 0.0)

    def next_seed(self, training: bool) -> Any:
        """Return the seed of one call, for `multipliers`; None where nothing is dropped."""
        return self._draw() if self.drops(training) else None

    def drops(self, training: bool | None) -> bool:
        """Return whether a call drops anything."""
        return bool(training) and 0 < self.rate < 1

    def _draw(self) -> Any:
        return GIVEN_SEEDS.get({}).get(id(self), self.seed_generator.next)()

    def multipliers(self, shape: tuple[Any, ...], seed: Any) -> Any:
        """Return the factors of dropout for values of a shape: 0 or 1 / (1 - rate), float32 (..., D)."""
        return ops.where(self._kept(shape, seed), 1.0 / (1.0 - self.rate), 0.0)

    def _kept(self, shape: tuple[Any, ...], seed: Any) -> Any:
        """Return which values are kept, boolean (..., D)."""
        *rows, width = shape
        numbers = _uniform((*rows, -(-width // SHARING)), seed)
        kept = [numbers >= self.rate]
        while len(kept) < SHARING:
            above = (numbers - self.rate) * (1.0 / (1.0 - self.rate))
            numbers = ops.where(kept[-1], above, numbers * (1.0 / self.rate))
            kept.append(numbers >= self.rate)
        return ops.concatenate(kept, axis=-1)[..., :width]


def _uniform(shape: tuple[Any, ...], seed: Any) -> Any:
    """Draw float32 numbers from [0, 1), of the generator that suits the device."""
    if accelerator().platform != "gpu":
        return keras.random.uniform(shape, seed=_Given(seed), dtype="float32")
    import jax

    # Philox, of the GPU's own, in place of JAX' Threefry: every seed is another key of it, and the same bits each time.
    key = jax.random.wrap_key_data(ops.concatenate([seed, seed]), impl="unsafe_rbg")
    return jax.random.uniform(key, shape, "float32")


def nth_seed(seed: Any, index: Any) -> Any:
    """Return the seed of part `index` of a call, from a seed (2,) of `Dropout.next_seed`; no two calls share seeds."""
    steps = ops.stack([40_503 * (index + 1), 0])  # calls count up the second number
    return seed + ops.cast(steps, seed.dtype)


def part_of_seed(seed: int | None, index: int) -> int | None:
    """Return the seed of one of several dropouts, from the seed of the layer that has them: other numbers for each.

    Raises:
        ValueError: The seed is neither an integer nor None.

    Example:

    >>> part_of_seed(7, 0), part_of_seed(7, 1), part_of_seed(None, 1)
    (7, 7926, None)
    """
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise ValueError(f"seed must be an integer, or None: received {seed!r}.")
    return (int(seed) + 7919 * index) % 2**31


class _Given(keras.random.SeedGenerator):
    """A generator that returns a given seed: Keras' random functions take integers and generators only."""

    def __init__(self, seed: Any):
        self.seed = seed

    def next(self, ordered: bool = True) -> Any:
        return self.seed
