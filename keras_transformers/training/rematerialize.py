"""Rematerialisation: less memory for the gradient, at the cost of a second forward pass."""

from __future__ import annotations

import keras

from keras_transformers.layers.blocks.rematerialization import Block
from keras_transformers.utils.keras_private import all_layers


def rematerialize(model: keras.Model, remat: bool = True) -> None:
    """Make the blocks of a model compute their activations again for the gradient, instead of keeping them.

    A training step then keeps the hidden states between blocks, and the activations inside of one block at a time.
    Losses and gradients stay the same, dropout included; predictions, generation and exports do not change. The setting
    is not saved with the model. Paper: Chen et al. 2016, https://arxiv.org/abs/1604.06174.

    Args:
        model: Model made by `encoder`, `decoder` or `encoder_decoder`, or one with heads made from it. If it has been
            trained before, compile it again.
        remat: False to keep activations, as a new model does.

    Raises:
        ValueError: The model has no blocks.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> model = encoder(bert(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16))
    >>> rematerialize(model)
    >>> model.get_layer("encoder_block_1").remat
    True
    """
    blocks = blocks_of(model)
    if not blocks:
        raise ValueError(f"expected a model made of blocks, such as EncoderBlock: received {model.name!r} without any.")
    for block in blocks:
        block.remat = remat


def blocks_of(model: keras.Model) -> list[Block]:
    """Return the blocks of a model, in the order of its layers.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> model = encoder(bert(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16))
    >>> [block.name for block in blocks_of(model)]
    ['encoder_block_0', 'encoder_block_1']
    """
    return [layer for layer in all_layers(model) if isinstance(layer, Block)]
