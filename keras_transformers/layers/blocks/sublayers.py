"""Parts that encoder and decoder blocks share: the classes, options, seeds and norms of their sublayers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import keras

from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.blocks.feed_forward import FeedForward
from keras_transformers.layers.blocks.rematerialization import Block
from keras_transformers.layers.core.dropout import part_of_seed
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.layer_options import find_class, option_names, share_out
from keras_transformers.layers.interface.old_files import with_new_names
from keras_transformers.utils.number_checks import is_size

NO_NORMS: tuple[Any, Any] = (None, None)
OF_KERAS = {"name", "dtype"}  # options that every layer takes


class SublayerBlock(Block):
    """The base class of blocks that have attentions and a feed-forward layer.

    Attributes:
        attention_class, feed_forward_class: Classes of the sublayers; a subclass of the block may choose others, and
            so may the arguments of these names.
    """

    attention_class: Any = Attention
    feed_forward_class: Any = FeedForward

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        _check_order(cls.__name__, arguments, options)
        return super().__new__(cls, *arguments, **options)

    def shares(self, options: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Set the classes of the sublayers; return the options of attention and feed-forward layer, and the rest."""
        options = with_new_names(dict(options))
        for name in ("attention_class", "feed_forward_class"):
            if (chosen := options.pop(name, None)) is not None:
                setattr(self, name, find_class(chosen, name))
        return share_out(options, self.attention_class, self.feed_forward_class)

    def complete(
        self,
        heads: dict[str, Any],
        inner: dict[str, Any],
        use_bias: bool,
        norm: str,
        norm_bias: bool | None,
        epsilon: float,
    ) -> Callable[[str], tuple[Any, Any]]:
        """Complete the options of attention and feed-forward layer; return what makes the norms of a sublayer.

        Args:
            heads, inner: The options; a `use_bias` of None becomes the block's. Norms of heads get the block's epsilon.
            use_bias: Whether layers have biases where nothing else is said.
            norm, norm_bias, epsilon: Kind of the norms, whether they have a bias, and their epsilon.
        """
        dtype = self.dtype_policy.name
        for options in (heads, inner):
            options["use_bias"] = use_bias if options["use_bias"] is None else options["use_bias"]
            options["dtype"] = dtype
        if heads.get("head_norm") is not None:
            heads.setdefault("epsilon", epsilon)
        make = partial(make_norm, norm, epsilon, dtype, use_bias=use_bias if norm_bias is None else norm_bias)
        return partial(self.norms, make=make)

    def make_feed_forward(self, intermediate_dim: int, dropout: float, **options: Any) -> keras.layers.Layer:
        """Return the feed-forward layer; a class of the user's gets those options that its constructor takes."""
        own = option_names(self.feed_forward_class)
        if dropout and "dropout" not in own:
            raise ValueError(
                f"activation_dropout={dropout} needs a feed_forward_class that takes `dropout`: received "
                f"{self.feed_forward_class.__name__}, which takes {sorted(own)}."
            )
        options |= {"intermediate_dim": intermediate_dim, "dropout": dropout, "name": "feed_forward"}
        return self.feed_forward_class(**{key: value for key, value in options.items() if key in own | OF_KERAS})


def seeds(seed: int | None, number: int) -> list[int | None]:
    """Return a seed for each dropout of a block, from the block's; None for each from None.

    Example:

    >>> len(set(seeds(1, 4))), seeds(None, 2)
    (4, [None, None])
    """
    return [part_of_seed(seed, index) for index in range(number)]


def build_sublayer(layer: keras.layers.Layer | None, shape: tuple) -> None:
    """Build an inner layer for inputs of a shape; do nothing for None.

    A layer whose class has no `build` makes its weights in a symbolic call.
    """
    if layer is None or layer.built:
        return
    if type(layer).build is not keras.layers.Layer.build:
        layer.build(shape)
    else:
        layer(keras.KerasTensor(shape, dtype=layer.compute_dtype))


def _check_order(name: str, arguments: tuple, options: Mapping[str, Any]) -> None:
    """Refuse what looks like keras_hub's order of the first two arguments.

    By name, and with a `head_dim`, which keras_hub does not have, everything is taken.
    """
    if len(arguments) < 2 or options.get("head_dim") is not None or not all(map(is_size, arguments[:2])):
        return
    first, second = arguments[:2]
    if first > second:
        raise ValueError(
            f"{name}({first}, {second}) has {first} heads and a feed-forward layer of width {second}. The order here "
            "is (num_heads, intermediate_dim); that of keras_hub's TransformerEncoder and TransformerDecoder is "
            f"(intermediate_dim, num_heads). Give them by name: {name}(num_heads={second}, intermediate_dim={first})."
        )
