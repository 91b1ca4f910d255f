"""A user's own model, called like the model of a task: from a dict of the tokenizer's columns to a dict of outputs."""

from __future__ import annotations

from typing import Any

import keras
from keras import tree

from keras_transformers.layers import LearnedPositions
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.utils.keras_private import all_layers
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.untrusted import shown

INPUTS = ("token_ids", "segment_ids", "padding_mask")


class NamedModel:
    """A functional or sequential model whose inputs are columns of a tokenizer.

    Args:
        model: Model with inputs (B, T) named `token_ids`, and perhaps `segment_ids` and `padding_mask`; or with one
            input of any name, of token ids. It gives a tensor, or a dict or list of them, batch first.

    Attributes:
        model: The model.
        input: The symbolic inputs, by name.
        output: The symbolic outputs, by name: their keys in a dict, else the names of the layers that return them.

    Raises:
        ValueError: The model is of another kind; the message says what to do.

    Example:

    >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(9, 4, name="states")])
    >>> named = NamedModel(model)
    >>> sorted(named.input), sorted(named.output), named.length
    (['token_ids'], ['states'], None)
    """

    def __init__(self, model: keras.Model):
        if not (isinstance(model, keras.Model) and getattr(model, "inputs", None)):
            raise ValueError(
                f"expected a functional keras.Model: received {_kind(model)}. Call it on inputs first: inputs = "
                'keras.Input((None,), dtype="int32", name="token_ids"); keras.Model(inputs, model(inputs)).'
            )
        if isinstance(model, keras.Sequential):
            model = keras.Model(model.inputs[0], model.outputs[0])
        self.model = model
        self.input = _named_inputs(model.input)
        self.output = self._named(model.output)
        if "truncated" in self.output or len(self.output) < len(tree.flatten(model.output)):
            raise ValueError(
                f"two outputs would have one name: received {[*self.output]}; the output truncated is reserved for "
                "whether a text was cut. Rename them, or return a dict: keras.Model(model.input, "
                "{'name': output, ...})."
            )

    @property
    def length(self) -> int | None:
        """Return the length T that the inputs are declared with; None for any."""
        return self.input["token_ids"].shape[1]

    @property
    def longest(self) -> int | None:
        """Return the most tokens of a row, where inputs or learned positions limit them; None if they do not."""
        positions = [layer.max_length for layer in all_layers(self.model) if isinstance(layer, LearnedPositions)]
        return min((limit for limit in (self.length, *positions) if limit), default=None)

    def __call__(self, inputs: Tensors, training: bool = False) -> Tensors:
        structured = tree.pack_sequence_as(self.model.input, [inputs[name] for name in self.input])
        return self._named(self.model(structured, training=training))

    def _named(self, outputs: Any) -> dict[str, Tensor]:
        if isinstance(outputs, dict):
            if any(tree.is_nested(value) for value in outputs.values()):
                raise ValueError(
                    f"the model's outputs must be a dict of tensors: received {shown({**outputs})}. Name them, one a "
                    "tensor: keras.Model(model.input, {'name': output, ...})."
                )
            return outputs
        return dict(zip(self.model.output_names, tree.flatten(outputs), strict=True))


def _named_inputs(structure: Any) -> dict[str, keras.KerasTensor]:
    symbols = tree.flatten(structure)
    names = tree.flatten({key: key for key in structure}) if isinstance(structure, dict) else [x.name for x in symbols]
    named = dict(zip(names, symbols, strict=True))
    if any(x.dtype == "string" for x in symbols):
        raise ValueError("the model takes strings already: export it with model.export(folder).")
    if len(named) == 1 and not named.keys() & {*INPUTS[1:]}:
        named = {"token_ids": symbols[0]}
    shapes = {x.shape for x in symbols}
    if "token_ids" not in named or not named.keys() <= {*INPUTS} or len(shapes) > 1 or len(symbols[0].shape) != 2:
        raise ValueError(
            f"expected a model with one input (batch, length), of token ids, or with inputs named {', '.join(INPUTS)}: "
            f"received {shown({name: x.shape for name, x in named.items()})}. Name them, or make a keras.Model that "
            "computes the others from these."
        )
    return named


def _kind(model: Any) -> str:
    if not isinstance(model, keras.Model):
        return f"a {type(model).__name__}"
    return f"{type(model).__name__}, a model without defined inputs: a subclass, or sequential and not built"
