"""Generation loops that XLA compiles on TensorFlow: few shapes, so that there are few programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import tensorflow as tf

from keras_transformers.generation.program import Method, Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import Cache, State
from keras_transformers.utils.static_shapes import next_size, static_shapes

SHORTEST = 32


@dataclass(frozen=True)
class CompiledProgram(Program):
    """A program whose loop XLA compiles, for each number of rows, of places of texts and of the cache, and for
    each size of stop strings and choices.

    Args:
        longest: Longest text of the model, in tokens.
    """

    longest: int = 0

    def loop(
        self, goes_on: Callable, method: Method, request: Request, count: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """Take turns as long as a condition holds: see `Program.loop`. All tokens are allowed."""
        request = request._replace(allowed=tf.zeros([tf.shape(state.lengths)[0], 0], tf.bool))  # of a known size

        def run(count, state, request):
            return super(CompiledProgram, self).loop(goes_on, method, request, count, state)

        with static_shapes():
            return tf.function(run, jit_compile=True, autograph=False)(count, state, request)

    def text_places(self, tokens: tf.Tensor) -> tf.Tensor:
        """Return the places that texts get, int32 (): one of `padded_lengths`."""
        return padded_length(tokens, self.longest)

    def more_places(self, cache: Cache) -> tf.Tensor:
        """Return as many places as the cache has, so that there are few sizes."""
        return tf.maximum(cache.places(self.rings), self.cache_increment)


def compiled(program: Program, longest: int) -> CompiledProgram:
    """Return a program whose loop XLA compiles.

    Args:
        program: A program whose cache is not overwritten in place, which XLA cannot do.
        longest: Longest text of the model, in tokens.
    """
    return CompiledProgram(**{field.name: getattr(program, field.name) for field in fields(program)}, longest=longest)


def padded_lengths(longest: int) -> list[int]:
    """Return the lengths in tokens that texts are padded to, ascending: powers of two, and the longest.

    Example:

    >>> padded_lengths(300)
    [32, 64, 128, 256, 300]
    """
    lengths = [SHORTEST]
    while lengths[-1] < longest:
        lengths.append(2 * lengths[-1])
    return [*(length for length in lengths if length < longest), longest]


def padded_length(tokens: tf.Tensor, longest: int) -> tf.Tensor:
    """Return the length, int32 (), that texts of so many tokens are padded to; beyond the longest, `tokens`.

    Example:

    >>> int(padded_length(33, 300)), int(padded_length(400, 300))
    (64, 400)
    """
    return next_size(tokens, padded_lengths(longest))


def power_of_two(number: tf.Tensor) -> tf.Tensor:
    """Return the least power of two that is no less than a number, int32 ().

    Example:

    >>> [int(power_of_two(number)) for number in (0, 1, 2, 5, 64, 65)]
    [1, 1, 2, 8, 64, 128]
    """
    return next_size(number, [2**power for power in range(31)])
