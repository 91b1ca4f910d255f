"""Folders as the `TF...` classes of `transformers` 4 wrote them, made from folders with the weights of PyTorch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import safetensors.numpy

from keras_transformers.checkpoints.settings.names import FAMILIES

FILE, SAFE = "tf_model.h5", "model.safetensors"
CONV1D = re.compile(r"(c_attn|c_proj|c_fc)\.(weight|bias)")
NORM = re.compile(r"([Ll]ayer_?[Nn]orm(_embedding)?|ln_\w)\.(weight|bias)")
EMBEDDING = re.compile(r"(embeddings|wte|wpe|shared|embed_positions|relative_attention_bias)\.weight")
NO_MODEL = ("shared/", "model.shared/", "final_logits_bias")  # their names begin with no model's


def rewrite(folder: Path, layout: str, model: str | None = None) -> Path:
    """Give a folder the weights of TensorFlow in the place of its own; return it.

    Args:
        folder: Has config.json and model.safetensors.
        layout: `"h5"` or `"safetensors"`, each also with `"_sharded"`.
        model: The name of the Keras model; that of its class when None.
    """
    weights = tf_weights(folder, model)
    (folder / SAFE).unlink()
    WRITERS[layout](folder, weights)
    return folder


def tf_weights(folder: Path, model: str | None = None) -> dict[str, np.ndarray]:
    """Return the weights of a folder by the names and in the layouts of TensorFlow's classes."""
    config = json.loads((folder / "config.json").read_text())
    tensors = safetensors.numpy.load_file(folder / SAFE)
    names, (architecture,) = FAMILIES[config["model_type"]], config["architectures"]
    prefix = "" if any(name.startswith(names.prefix) for name in tensors) else names.prefix
    model = _snake_case(f"TF{architecture}") if model is None else model
    if config["model_type"] == "marian":  # its sines, which PyTorch's files leave out
        shape = (config["max_position_embeddings"], config["d_model"])
        for name in (f"{names.prefix.removeprefix(prefix)}{side}.embed_positions.weight" for side in SIDES):
            tensors.setdefault(name, np.zeros(shape, "float32"))
    return dict(_weight(prefix + name, array, model) for name, array in tensors.items())


SIDES = ("encoder", "decoder")


def _snake_case(name: str) -> str:
    """Return a name as Keras does."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def _weight(name: str, array: np.ndarray, model: str) -> tuple[str, np.ndarray]:
    leaf, array = _leaf(name, array)
    path = re.sub(r"^cls\.(?=predictions)", "mlm___cls.", re.sub(r"^cls\.(?=seq)", "nsp___cls.", name))
    path = re.sub(r"\.(layer|h|block)\.(\d+)(?=\.)", r".\1_@_\2", path)  # the dot of a name, as the others are slashes
    path = re.sub(r"\.layers\.(\d+)\.", r".layers@\1.", path)
    if re.fullmatch(r"(model\.)?shared\.weight", name):
        path = f"{name.removesuffix('.weight')}.weight".replace("model.", "model@")
        path = f"{path.split('.')[0]}.{path}"
    stem = path.rpartition(".")[0]
    path = f"{stem}.{leaf}" if stem else leaf
    path = path.replace(".", "/").replace("@", ".") + ":0"
    return (path if path.startswith(NO_MODEL) else f"{model}/{path}"), array


def _leaf(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    leaf = name.rpartition(".")[2]
    if CONV1D.search(name):
        return leaf, array[None] if leaf == "bias" else array
    if name.endswith("word_embeddings.weight") or (array.ndim == 1 and "layer_norm.weight" in name and _is_rms(name)):
        return leaf, array
    if NORM.search(name):
        return {"weight": "gamma", "bias": "beta"}[leaf], array
    if EMBEDDING.search(name):
        return "embeddings", array
    return ("kernel", array.T) if leaf == "weight" else (leaf, array)


def _is_rms(name: str) -> bool:
    """Return whether a norm is T5's, which has no bias."""
    return not name.startswith("model.")


def write_h5(folder: Path, weights: dict[str, np.ndarray]) -> None:
    layers: dict[str, list[str]] = {}
    for name in weights:
        parts = name.removesuffix(":0").split("/")
        layers.setdefault(parts[0].split(".")[0] if name.startswith(NO_MODEL) else parts[1], []).append(name)
    if "mlm___cls" in layers:  # whose layer holds the layer of the embeddings
        layers["mlm___cls"] += [name for name in weights if "/embeddings/" in name]
    for side in {*SIDES} & {*layers}:
        layers[side] += layers["shared"]
    with h5py.File(folder / FILE, "w") as file:
        file.attrs["layer_names"] = [*layers, "dropout_153"]  # some have no weights
        for layer, names in {**layers, "dropout_153": [], "top_level_model_weights": []}.items():
            group = file.create_group(layer)
            group.attrs["weight_names"] = names
            for name in names:
                group[name] = weights[name]


def write_h5_shards(folder: Path, weights: dict[str, np.ndarray]) -> None:
    for shard, names in _shards(folder, weights, "tf_model-{:05}-of-00003.h5", FILE).items():
        with h5py.File(folder / shard, "w") as file:
            file.attrs["layer_names"] = [_in_shard(name) for name in names]
            for name in names:
                file[_in_shard(name)] = weights[name]


def write_safetensors(folder: Path, weights: dict[str, np.ndarray]) -> None:
    _save(folder / SAFE, {_in_shard(name): array for name, array in weights.items()})


def write_safetensors_shards(folder: Path, weights: dict[str, np.ndarray]) -> None:
    for shard, names in _shards(folder, weights, "model-{:05}-of-00003.safetensors", SAFE).items():
        _save(folder / shard, {_in_shard(name): weights[name] for name in names})


WRITERS = {
    "h5": write_h5, "h5_sharded": write_h5_shards, "safetensors": write_safetensors,
    "safetensors_sharded": write_safetensors_shards,
}  # fmt: skip


def _shards(folder: Path, weights: dict[str, np.ndarray], pattern: str, file: str) -> dict[str, list[str]]:
    """Write an index of three files, the first of which is empty, as they were; return the names of each."""
    half = len(weights) // 2
    parts = ([], [*weights][:half], [*weights][half:])
    shards = {pattern.format(number): names for number, names in enumerate(parts, 1)}
    places = {name: shard for shard, names in shards.items() for name in names}
    size = sum(array.nbytes for array in weights.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(places.items()))}
    (folder / f"{file}.index.json").write_text(json.dumps(index, indent=2))
    return shards


def _in_shard(name: str) -> str:
    """Return a weight's name in a shard or a safetensors file: without its first part, which is the model's name."""
    return name if "model." in name or "/" not in name else name.partition("/")[2]


def _save(path: Path, weights: dict[str, np.ndarray]) -> None:
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    safetensors.numpy.save_file(arrays, path, {"format": "tf"})
