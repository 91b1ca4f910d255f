"""Range of gradients: the derivative of the last output with respect to the first input, by length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.models.block_layers import cache_shapes
from keras_transformers.models.decoder import walk, whole
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.tensor_types import Tensor

States = Callable[[Tensor], Tensor]  # from (B, T, D) to (B, T, E)
SMALLEST = 1e-12  # smaller norms are not plotted


def gradient_reach(function: States, states: Any, any_length: bool = True) -> Callable[[int], float]:
    """Return a function that measures the norm of the matrix d(output T) / d(input 1), for any T.

    Where the norm vanishes, the last output cannot teach anything about a token T - 1 places back. Needs TensorFlow.
    Papers: Hochreiter 1991; Bengio et al. 1994, https://doi.org/10.1109/72.279181; Pascanu et al. 2013,
    https://arxiv.org/abs/1211.5063.

    Args:
        function: A layer, `whole_texts` or `truncated_texts` of a model, or any function of tensors.
        states: Inputs of one text, float (T, D), of the largest length to measure.
        any_length: Whether to trace one graph for all lengths; False for a function that needs a static length.

    Returns:
        A function from T, in [1, len(states)], to the Frobenius norm. It uses the current weights at each call, so it
        can be called before and after training.

    Raises:
        ValueError: The states are not (T, D), or, when called, T is no such length.

    Example:

    >>> layer = keras.layers.SimpleRNN(2, "linear", recurrent_initializer="identity", return_sequences=True)
    >>> reach = gradient_reach(layer, np.ones((5, 2), "float32"))
    >>> round(reach(5) / reach(1), 4)
    1.0
    """
    import tensorflow as tf

    states = np.asarray(states, "float32")
    if states.ndim != 2 or not len(states):
        raise ValueError(
            f"states must belong to one text and have the shape (T, D): received the shape {states.shape}."
        )
    width = int(function(states[None, :1]).shape[-1])  # this makes the weights, too

    def norm(text):
        rows = tf.repeat(text[None], width, axis=0)  # (E, T, D): a row for each number of the output
        with tf.GradientTape() as tape:
            tape.watch(rows)
            last = tf.cast(function(rows)[:, -1], "float32")  # (E, E)
        options = {"output_gradients": tf.eye(width), "unconnected_gradients": "zero"}
        return tf.norm(tape.gradient(last, rows, **options)[:, 0])  # of (E, D)

    shape = (None, states.shape[1]) if any_length else None
    traced = tf.function(norm, autograph=False, input_signature=[tf.TensorSpec(shape)] if any_length else None)

    def reach(length: int) -> float:
        if not is_size(length) or length > len(states):
            raise ValueError(f"length must be an integer from 1 to {len(states)}, the states': received {length!r}.")
        return float(traced(tf.constant(states[:length])))

    return reach


def whole_texts(config: TransformerConfig, model: keras.Model) -> States:
    """Return the forward pass of a decoder from embeddings, one text per row, to hidden states, without dropout.

    Args:
        config: The model's configuration.
        model: A model of `models.decoder`, with or without a head.

    Returns:
        A function from (B, T, D) to (B, T, D).

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.models import decoder
    >>> config = gpt2(vocabulary_size=10, num_layers=1, num_heads=2, hidden_dim=4)
    >>> tuple(whole_texts(config, decoder(config))(np.ones((1, 3, 4), "float32")).shape)
    (1, 3, 4)
    """

    def function(states: Tensor) -> Tensor:
        ones = ops.ones(ops.shape(states)[:2], "int32")  # (B, T)
        inputs = {"token_ids": ones, "padding_mask": ones}
        return whole(config, _with_embeddings(model, states), inputs)[0][-1]

    return function


def truncated_texts(config: TransformerConfig, model: keras.Model, every: int) -> States:
    """Return the function of `whole_texts` with truncated back-propagation: no gradient passes from part to part.

    The hidden states are the same. Paper: Williams and Peng 1990, https://doi.org/10.1162/neco.1990.2.4.490.

    Args:
        config, model: As for `whole_texts`.
        every: Tokens of a part.

    Returns:
        A function from (B, T, D) to (B, T, D), where T is static.

    Raises:
        ValueError: `every` is no positive integer.

    Example:

    >>> from keras_transformers.families import recurrent
    >>> from keras_transformers.models import decoder
    >>> config = recurrent(vocabulary_size=10, num_layers=1, hidden_dim=4)
    >>> function = truncated_texts(config, decoder(config), every=2)
    >>> reach = gradient_reach(function, np.ones((3, 4)), any_length=False)
    >>> reach(3)  # the parts are (1, 2) and (3,)
    0.0
    """
    if not is_size(every):
        raise ValueError(f"every must be a positive integer: received {every!r}.")
    blocks = [model.get_layer(f"decoder_block_{index}") for index in range(config.num_blocks("decoder"))]
    shapes = [cache_shapes(config, block) for block in blocks]

    def function(states: Tensor) -> Tensor:
        (rows, _, _), length, outputs = ops.shape(states), states.shape[1], []
        cache = [
            {
                name: ops.zeros((rows, *(length if size is None else size for size in shape)))
                for name, shape in own.items()
            }
            for own in shapes
        ]
        keys = ops.expand_dims(ops.arange(length), 0)  # (1, S)
        for start in range(0, length, every):
            part = states[:, start : start + every]  # (B, t, D)
            places = ops.broadcast_to(keys[:, start : start + every], ops.shape(part)[:2])  # (B, t)
            cache, layers = keras.tree.map_structure(ops.stop_gradient, cache), _with_embeddings(model, part)
            found, cache, _ = walk(config, layers, places, places, keys, cache=cache)
            outputs.append(found[-1])
        return ops.concatenate(outputs, axis=1)

    return function


def plot_gradient_reach(curves: Mapping[str, Mapping[int, Sequence[float]]]) -> Any:
    """Draw norms by length on logarithmic axes: mean, minimum and maximum over the runs.

    Needs the extra `plot`.

    Args:
        curves: The norms of all runs, by name and by length T. Zeros are left out.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot, which keeps every figure alive
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'keras_transformers[plot]'.") from error

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, norms in curves.items():
        shown = {length: values for length, values in sorted(norms.items()) if np.mean(values) > SMALLEST}
        lengths = list(shown)
        (line,) = axes.plot(lengths, [np.mean(values) for values in shown.values()], marker="o", label=name)
        least, largest = ([function(values) for values in shown.values()] for function in (min, max))
        axes.fill_between(lengths, least, largest, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel="T", ylabel="norm of d(output T) / d(input 1)")
    axes.legend()
    return figure


def _with_embeddings(model: keras.Model, states: Tensor) -> dict[str, Any]:
    """Return the layers of a model by name, with these embeddings (B, T, D) in place of the token embedding's."""
    return {layer.name: layer for layer in model.layers} | {"token_embedding": lambda *_, **__: states}
