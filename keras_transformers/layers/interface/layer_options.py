"""Arguments of layers: how inner layers share them, and how those that Keras does not save by itself are saved."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_transformers.layers.interface.carried_masks import note_symbolic
from keras_transformers.layers.interface.replaced_layers import check_savable
from keras_transformers.utils.keras_private import all_layers

DENSE_OPTIONS = (
    "kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer", "kernel_constraint",
    "bias_constraint",
)  # fmt: skip
MADE_BY_KERAS = (  # from their classes, too
    keras.initializers.Initializer, keras.regularizers.Regularizer, keras.constraints.Constraint,
)  # fmt: skip
PLAIN = (str, int, float, bool, type(None))


class Layer(keras.layers.Layer):
    """A layer whose arguments may be initialisers, regularisers, constraints, dtype policies and named functions.

    Keras writes the `get_config` of a layer whose arguments are plain Python values. Other arguments are stored in
    their serialised form, so `__init__` takes both forms.

    Attributes:
        extra_options: Names of the arguments that the layer takes by `**kwargs`, beside Keras' own.
        options: Values of these arguments, as far as given, by name.
    """

    extra_options: tuple[str, ...] = ()
    if TYPE_CHECKING:
        __call__: Callable[..., Any]  # Keras' own, which type checkers do not see

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "call" in vars(cls):
            _name_arguments(cls.call, super(cls, cls).call)

    def __new__(cls, *arguments: Any, **options: Any) -> Layer:
        arguments, options = keras.tree.map_structure(_serialized, (arguments, options))
        return super().__new__(cls, *arguments, **options)

    def __init__(self, **kwargs: Any):
        given = {name: kwargs.pop(name) for name in self.extra_options if name in kwargs}
        super().__init__(**kwargs)
        self.options = given

    @property
    def dtype_policy(self) -> Any:
        """Return the dtype policy, which inner layers share."""
        return super().dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        keras.layers.Layer.dtype_policy.fset(self, value)
        for layer in all_layers(self)[1:]:
            layer.dtype_policy = value

    def symbolic_call(self, *arguments: Any, **inputs: Any) -> Any:
        """Return the outputs of a call in a functional model, as symbols."""
        note_symbolic(self, arguments, inputs)
        return super().symbolic_call(*arguments, **inputs)

    def expect_width(self, shape: tuple) -> None:
        """Let Keras refuse inputs (..., D) of another width than the one that the layer is built for."""
        self.input_spec = keras.layers.InputSpec(axes={-1: shape[-1]})

    def get_build_config(self) -> dict[str, Any] | None:
        """Return the shapes that the layer was built for, and how inner layers were quantized since."""
        check_savable(self)
        modes = [getattr(layer, "quantization_mode", None) for layer in all_layers(self)]
        config = super().get_build_config()
        return {**(config or {}), "quantization_modes": modes} if any(modes) else config

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build the layer as it was saved: inner layers have no configuration in the file."""
        config = {**(config or {})}
        modes = config.pop("quantization_modes", [])
        super().build_from_config(config)
        for layer, mode in zip(all_layers(self), modes, strict=False):
            if mode:
                layer.quantize(mode)

    def compute_output_shape(self, *input_shapes: tuple, **named_shapes: tuple) -> Any:
        """Return the shapes of the outputs, which `keras.layers.TimeDistributed` asks for."""
        inputs = [keras.KerasTensor(shape, dtype=self.compute_dtype) for shape in input_shapes]
        named = {name.removesuffix("_shape"): shape for name, shape in named_shapes.items()}
        named = {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in named.items()}
        return keras.tree.map_structure(lambda tensor: tensor.shape, self.compute_output_spec(*inputs, **named))


class Positional(Layer):
    """A layer of positions: it passes on no mask, and does not cast positions."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.autocast = False

    def compute_mask(self, *inputs: Any, **named: Any) -> None:
        """Return None: there is no mask."""


class DenseOwner(Layer):
    """A layer with inner dense layers, which takes Keras' options of a dense layer for them."""

    extra_options = DENSE_OPTIONS


def _name_arguments(call: Callable, overridden: Callable) -> None:
    """Give a user's `call(..., **kwargs)` the signature of the overridden method, with all names.

    Keras refuses tensors beside other values in **kwargs.
    """
    own, inherited = (inspect.signature(function).parameters for function in (call, overridden))
    open_ended = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    named = [parameter for parameter in own.values() if parameter.kind is not parameter.VAR_KEYWORD]
    if len(named) < len(own):
        more = [part for name, part in inherited.items() if name not in own and part.kind not in open_ended]
        more = [part.replace(kind=part.KEYWORD_ONLY) for part in more if part.default is not part.empty]
        call.__signature__ = inspect.Signature([*named, *more])  # type: ignore[attr-defined]


def _serialized(value: Any) -> Any:
    """Convert a value that Keras can serialise to plain values; return other values unchanged."""
    if isinstance(value, PLAIN):
        return value
    if inspect.isclass(value) and issubclass(value, keras.layers.Layer):
        return keras.saving.get_registered_name(value)
    if inspect.isclass(value) and issubclass(value, MADE_BY_KERAS):
        value = value()
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if inspect.isfunction(value) and value.__name__ == "<lambda>":  # Keras would warn now, and refuse it in `save`
        return value
    try:
        return keras.saving.serialize_keras_object(value)
    except (TypeError, ValueError, NotImplementedError):
        return value


def find_class(value: Any, name: str) -> type[keras.layers.Layer]:
    """Return a class of layers, which may be given by the name that it is registered by.

    Args:
        value: The class, or its name.
        name: Name of the argument, for errors.

    Raises:
        ValueError: It is no class of layers, or no class is registered by that name.

    Example:

    >>> from keras_transformers.layers import FeedForward
    >>> find_class("keras_transformers>FeedForward", "feed_forward_class").__name__
    'FeedForward'
    """
    found = keras.saving.get_registered_object(value) if isinstance(value, str) else value
    if found is None:
        raise ValueError(
            f"{name} {value!r} is not registered. Import the file that registers it by "
            "@keras.saving.register_keras_serializable, or load inside keras.saving.custom_object_scope({name: class})."
        )
    if not inspect.isclass(found) or not issubclass(found, keras.layers.Layer):
        raise ValueError(
            f"{name} must be a subclass of keras.layers.Layer, or the name it is registered by: received {found!r}. "
            "Its options are arguments of the block."
        )
    return found


def option_names(layer_class: type) -> set[str]:
    """Return the names of a layer's constructor arguments, except Keras' own.

    Example:

    >>> from keras_transformers.layers import FeedForward
    >>> "gated" in option_names(FeedForward), "kernel_regularizer" in option_names(FeedForward)
    (True, True)
    """
    classes = [cls for cls in layer_class.__mro__ if cls not in Layer.__mro__]
    signatures = [inspect.signature(vars(cls)["__init__"]) for cls in classes if "__init__" in vars(cls)]
    named = {name for signature in signatures for name in signature.parameters}
    return (named | set(getattr(layer_class, "extra_options", ()))) - {"self", "kwargs"}


def share_out(options: Mapping[str, Any], *layer_classes: type) -> list[dict[str, Any]]:
    """Distribute options to inner layers: each gets those that its constructor takes.

    Args:
        options: Options by name. An option of several layers goes to each of them.
        *layer_classes: Classes of the inner layers.

    Returns:
        The options of each layer, and the rest.

    Example:

    >>> from keras_transformers.layers import Attention, FeedForward
    >>> share_out({"scale": 1.0, "gated": True, "name": "block"}, Attention, FeedForward)
    [{'scale': 1.0}, {'gated': True}, {'name': 'block'}]
    """
    names = [*map(option_names, layer_classes)]
    shares = [{name: options[name] for name in options if name in own} for own in names]
    return [*shares, {name: value for name, value in options.items() if not any(name in own for own in names)}]


def fresh(get: Callable[[Any], Any], value: Any) -> Any:
    """Return a new initialiser, regulariser or constraint for a layer, so that initialisers without seed differ.

    One without a configuration is shared.

    Args:
        get: `keras.initializers.get`, or one like it.
        value: Argument of `get`: an object, a name, a configuration, None.
    """
    found = get(value)
    try:
        return type(found).from_config(found.get_config())
    except (AttributeError, TypeError, NotImplementedError):
        return found
