"""The modules of a sentence-transformers folder that change a vector: Dense, LayerNorm, Dropout and Normalize."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.checkpoints.files.tensors import Tensor, read_tensors
from keras_transformers.checkpoints.settings.sentence_modules import LAYERS, modules_of
from keras_transformers.families.table import OF_VECTORS
from keras_transformers.utils.json_file import NUMBER, check_types, read_object
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown, warn_user

ACTIVATIONS = {
    "linear": "torch.nn.modules.linear.Identity",
    "tanh": "torch.nn.modules.activation.Tanh",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu": "torch.nn.modules.activation.GELU",
    "silu": "torch.nn.modules.activation.SiLU",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}
VECTOR, SCORES = "sentence_embedding", "scores"  # the names that modules have for a vector, and for a pair's scores
TAKES, GIVES = "module_input_name", "module_output_name"


class Layer(NamedTuple):
    """A module as it is read.

    Args:
        options: Options of the layer, as `heads.text_vectors.vector_layers` takes them.
        takes, gives: The names of its input and output.
        needed: The numbers of a vector that it takes; None for any.
    """

    options: dict[str, Any]
    takes: str = VECTOR
    gives: str = VECTOR
    needed: int | None = None


def read_layers(
    modules: Iterable[tuple[str, Path]], width: int | None = None, result: str = VECTOR
) -> list[dict[str, Any]]:
    """Read the modules behind the pooling, each of which has to take what the one before it gives.

    Args:
        modules: The kind and the folder of each.
        width: The numbers of the first vector; None if they are not known.
        result: The name of what the last module gives.

    Returns:
        The options of the layers, as `heads.text_vectors.vector_layers` takes them.

    Raises:
        ValueError: A file is missing or damaged; the value of an option is not supported; a module takes another value,
            or a vector of another width, than the one before it gives.
    """
    layers, name, path = [], VECTOR, None
    for kind, place in modules:
        path = place / "config.json"
        layer = READERS[kind](path)
        if layer.takes != name:
            raise ValueError(f"{path} says {TAKES} {shown(layer.takes)}: only {name!r} is supported here.")
        if layer.needed is not None and width not in (None, layer.needed):
            raise ValueError(f"{path} takes vectors of {layer.needed} numbers, and receives {width}. Correct the file.")
        name, width = layer.gives, layer.options.get("units", width)
        layers.append(layer.options)
    if name != result:
        where = f"{path} says {GIVES} {shown(name)}" if path else f"no module gives {result!r}"
        raise ValueError(f"{where}: the last module has to give {result!r}, which is what is read.")
    return layers


def layer_tensors(folder: str | Path, pickled: bool = False) -> list[Tensor]:
    """List the tensors of the modules behind the pooling, by the names that `settings.names` has for them.

    Args:
        folder: Folder with `modules.json`.
        pickled: Whether to accept the old `pytorch_model.bin` of a module; no code in it is run.

    Raises:
        ValueError: The file of a module is missing or damaged.
    """
    behind = [(kind, path) for kind, path in modules_of(folder) if kind in LAYERS]
    return [
        tensor._replace(name=f"{OF_VECTORS}{number}.{tensor.name}")
        for number, (kind, path) in enumerate(behind)
        if kind in ("Dense", "LayerNorm")
        for tensor in read_tensors(Path(folder, path), pickled)
    ]


def read_settings(
    path: Path, fixed: Mapping[str, Any], kinds: Mapping[str, Any], needed: bool = True
) -> dict[str, Any]:
    """Return the values of a settings file, checked; warn of keys that are not known.

    Args:
        path: Path of the file.
        fixed: The one value of each option that is followed.
        kinds: The types of further options; None for any.
        needed: Whether the file has to be there.
    """
    if not needed and not path.is_file():
        return {}
    values = read_object(path)
    for key, value in fixed.items():
        if values.get(key, value) not in (value, None):
            raise ValueError(f"{path} says {key} {shown(values[key])}: only {value!r} is supported.")
    check_types(values, {key: kind for key, kind in kinds.items() if kind}, path)
    if unknown := sorted(key for key, value in values.items() if key not in {*fixed, *kinds} and value):
        warn_user(f"{path} has the keys {shown(unknown)}, which nothing here follows: results may be others.")
    return values


def our_activation(named: str, path: Path, known: Sequence[str] = (*ACTIVATIONS,), remedy: str = "") -> str:
    """Return our name of a class of activation of PyTorch; raise a `ValueError` for one that is not known.

    Args:
        named: The class, as the file names it.
        path: Path of the file, for errors.
        known: Our names of those that may be there.
        remedy: Remedy to give in the error message.

    Example:

    >>> our_activation("torch.nn.modules.linear.Identity", Path("config.json"))
    'linear'
    """
    last = {ACTIVATIONS[name].rpartition(".")[2]: name for name in known}
    activation = last.get(named.rpartition(".")[2]) if named.startswith("torch.nn.") else None
    if activation is None:
        raise ValueError(
            f"{path} says the activation {shown(named)}: expected one of {[ACTIVATIONS[name] for name in known]}."
            f"{remedy}"
        )
    return activation


def _read_dense(path: Path) -> Layer:
    kinds = {"in_features": int, "out_features": int, "bias": bool, "activation_function": str, TAKES: str, GIVES: str}
    values = read_settings(path, {"use_residual": False}, kinds)
    if not is_size(values.get("out_features")):
        raise ValueError(
            f"{path}: out_features must be a number above 0: received {shown(values.get('out_features'))}."
        )
    activation = our_activation(values.get("activation_function") or ACTIVATIONS["tanh"], path)  # their default
    options = {"units": values["out_features"], "activation": activation, "use_bias": values.get("bias") is not False}
    return Layer(options, *_names(values), values.get("in_features"))


def _read_norm(path: Path) -> Layer:
    values = read_settings(path, {}, {"dimension": int})
    if not is_size(values.get("dimension")):
        raise ValueError(f"{path}: dimension must be a number above 0: received {shown(values.get('dimension'))}.")
    return Layer({"layer": "layer_norm"}, needed=values["dimension"])


def _read_dropout(path: Path) -> Layer:
    rate = read_settings(path, {}, {"dropout": NUMBER}).get("dropout", 0.2)  # their default
    if not 0 <= rate < 1:
        raise ValueError(f"{path}: dropout must be a number from 0 to below 1: received {shown(rate)}.")
    return Layer({"layer": "dropout", "rate": float(rate)})


def _read_normalize(path: Path) -> Layer:
    return Layer({"layer": "normalize"}, *_names(read_settings(path, {}, {TAKES: str, GIVES: str}, needed=False)))


def _names(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of a module's input and output."""
    takes = values.get(TAKES) or VECTOR
    return takes, values.get(GIVES) or takes


READERS: Mapping[str, Callable[[Path], Layer]] = dict(
    zip(LAYERS, (_read_dense, _read_norm, _read_dropout, _read_normalize), strict=True)
)


def module_of(options: Mapping[str, Any], width: int, gives: str = VECTOR) -> tuple[str, dict[str, Any], int]:
    """Return the kind, the settings and the output width of the module that a layer is written as.

    Args:
        options: Options of the layer.
        width: The numbers of the vector that it takes.
        gives: The name of its output.

    Example:

    >>> module_of({"layer": "layer_norm"}, 8)
    ('LayerNorm', {'dimension': 8}, 8)
    """
    kind = options.get("layer", "dense")
    if kind != "dense":
        others: dict[str, tuple[str, dict[str, Any]]] = {
            "layer_norm": ("LayerNorm", {"dimension": width}),
            "dropout": ("Dropout", {"dropout": options.get("rate")}),
            "normalize": ("Normalize", {}),
        }
        return *others[kind], width
    settings = {
        "in_features": width,
        "out_features": options["units"],
        "bias": options.get("use_bias", True),
        "activation_function": ACTIVATIONS[options.get("activation", "linear")],
        TAKES: VECTOR,
        GIVES: gives,
    }
    return "Dense", settings, options["units"]
