"""Ablation of attention heads: a model's outputs without some heads, on the same weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.layers import Attention
from keras_transformers.utils.keras_private import kernel

# The kinds of attention of a model, and the names of their optional outputs.
SIDES = {
    "encoder": {"self": "encoder"},
    "decoder": {"self": "decoder"},
    "encoder_decoder": {"encoder": "encoder", "self": "decoder", "cross": "decoder"},
}


class Head(NamedTuple):
    """An attention head of a model.

    Args:
        kind: The kind of attention: `"self"`; in a model of two stacks `"encoder"`, `"self"` (the decoder's) or
            `"cross"`.
        layer, number: Numbers of the layer and of the head in it, from 0.
    """

    kind: str
    layer: int
    number: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.number}" if self.kind == "self" else f"{self.kind}:{self.layer}.{self.number}"


def parse_heads(texts: str | Iterable[str], kind_of_model: str) -> list[Head]:
    """Return the heads that a user names: `LAYER.HEAD` from 0, with a prefix `encoder:` or `cross:` for two stacks.

    Args:
        texts: Names with spaces or commas between them, or a list of names.
        kind_of_model: `config.kind`.

    Raises:
        ValueError: A name has another form, or a kind of attention that the model does not have.

    Example:

    >>> parse_heads("0.1, cross:2.0", "encoder_decoder")
    [Head(kind='self', layer=0, number=1), Head(kind='cross', layer=2, number=0)]
    """
    texts, kinds = " ".join([texts] if isinstance(texts, str) else texts), SIDES[kind_of_model]
    heads = []
    for text in texts.replace(",", " ").split():
        match = re.fullmatch(r"(?:([a-z]{1,9}):)?([0-9]{1,3})\.([0-9]{1,3})", text)
        if not match or (match[1] or "self") not in kinds:
            named = ", ".join(f"{kind}:0.1" for kind in kinds if kind != "self")
            raise ValueError(
                f"a head is LAYER.HEAD, numbers from 0, such as 0.1{' or ' + named if named else ''}: received "
                f"{text[:40]!r}."
            )
        heads.append(Head(match[1] or "self", int(match[2]), int(match[3])))
    return heads


def attention_of(model: keras.Model, head: Head, kind_of_model: str) -> Attention:
    """Return the layer that a head is in.

    Raises:
        ValueError: The model has no such layer or head.
    """
    kinds = SIDES[kind_of_model]
    if head.kind not in kinds:
        raise ValueError(f"the kinds of attention of this model are {list(kinds)}: received {head.kind!r}.")
    prefix = f"{kinds[head.kind]}_block_"
    blocks = [layer for layer in model.layers if re.fullmatch(prefix + r"\d+", layer.name)]
    name = "cross_attention" if head.kind == "cross" else "attention"
    if not all(hasattr(block, name) for block in blocks):
        raise ValueError(f"there is no head {head}: the blocks of this model have no self-attention.")
    heads = getattr(blocks[0], name).num_heads
    if not (0 <= head.layer < len(blocks) and 0 <= head.number < heads):
        raise ValueError(
            f"there is no head {head}: the model has layers 0 to {len(blocks) - 1} with heads 0 to {heads - 1} each."
        )
    return getattr(model.get_layer(f"{prefix}{head.layer}"), name)


@contextmanager
def without_heads(model: keras.Model, heads: Iterable[Head], kind_of_model: str) -> Iterator[None]:
    """Switch heads off within a context, for a model that is called directly.

    The rows of the output projection that belong to a head are read as zeros, by this thread only: the weights and
    other threads are not affected. Nor are functions that were traced before, such as `predict`, and the projection's
    bias.
    Paper: Michel et al. 2019, https://arxiv.org/abs/1905.10650.

    Args:
        model: Model made by a function of `models`, with or without task heads.
        heads: The heads to switch off.
        kind_of_model: `config.kind`.

    Raises:
        ValueError: The model has no such head.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> model = encoder(bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16))
    >>> ids = np.array([[2, 5, 3]])
    >>> inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    >>> whole = model(inputs)["hidden_states"]
    >>> with without_heads(model, [Head("self", 0, 1)], "encoder"):
    ...     bool(np.allclose(whole, model(inputs)["hidden_states"], atol=1e-6))
    False
    """
    with keras.StatelessScope(state_mapping=zeroed(model, heads, kind_of_model), initialize_variables=False):
        yield


def zeroed(model: keras.Model, heads: Iterable[Head], kind_of_model: str) -> list[tuple[keras.Variable, Any]]:
    """Return the matrices of output projections, each with its values without the heads.

    Args:
        model, heads, kind_of_model: As for `without_heads`.
    """
    numbers: dict[int, set[int]] = {}
    layers = {}
    for head in heads:
        attention = attention_of(model, head, kind_of_model)
        layers[id(attention)] = attention
        numbers.setdefault(id(attention), set()).add(head.number)
    return [
        (variable, _without(variable, attention, numbers[key]))
        for key, attention in layers.items()
        for variable in projections(attention)
    ]


def projections(attention: Attention) -> tuple[keras.Variable, ...]:
    """Return the matrices with a row for each number of each head: the output projection's and its adapter's."""
    dense = attention.output_dense
    return (kernel(dense), *((dense.lora_kernel_a,) if dense.lora_enabled else ()))


def _without(variable: keras.Variable, attention: Attention, numbers: set[int]) -> Any:
    kept = np.repeat([number not in numbers for number in range(attention.num_heads)], attention.head_dim)  # (N * H,)
    return variable.value * ops.cast(kept[:, None], variable.dtype)
