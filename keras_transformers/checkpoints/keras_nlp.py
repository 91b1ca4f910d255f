"""Read BERT and GPT-2 presets of KerasNLP, now KerasHub: config.json, *.weights.h5 and a vocabulary."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

from keras_transformers.checkpoints import assign
from keras_transformers.checkpoints.names.keras_nlp import LEAVES, PRESETS
from keras_transformers.checkpoints.names.table import look_up
from keras_transformers.checkpoints.tensors import Tensor, by_name
from keras_transformers.config import TransformerConfig
from keras_transformers.json_file import read_object
from keras_transformers.text.byte_pair import END
from keras_transformers.text.tokenizer import Tokenizer

CLASSIFIERS = ("BertTextClassifier", "BertClassifier")
VOCABULARY = "assets/tokenizer/vocabulary.txt"
MERGED = ("assets/tokenizer/vocabulary.json", "assets/tokenizer/merges.txt")


def preset_folder(name: str) -> Path:
    """Returns the folder of a preset, and downloads it at the first call if `name` is not a folder.

    Args:
        name: A folder that `save_to_preset` wrote, or a preset such as `"bert_tiny_en_uncased"`; with or without the
            prefix `keras-nlp:`.

    Returns:
        The folder.

    Raises:
        ValueError: There is no such preset, keras-nlp is not installed, or the download fails.
    """
    name = name.removeprefix("keras-nlp:")
    if Path(name).is_dir():
        return Path(name)
    try:
        import kagglehub
        from keras_nlp import models
    except ImportError as error:
        raise ValueError(
            f"{name!r} is no folder, and to fetch it as a preset takes keras-nlp: "
            "pip install 'keras_transformers[keras-nlp]', or give the folder of a preset."
        ) from error
    presets = {key: preset for kind in PRESETS for key, preset in getattr(models, kind).presets.items()}
    if name not in presets:
        near = difflib.get_close_matches(name, presets, cutoff=0) or sorted(presets)
        raise ValueError(f"{name!r} is neither a folder nor a BERT or GPT-2 preset of keras-nlp; near to it: {near}.")
    try:
        return Path(kagglehub.model_download(presets[name]["kaggle_handle"].removeprefix("kaggle://")))
    except Exception as error:  # the type depends on kagglehub's transport
        raise ValueError(f"could not fetch {name!r} from Kaggle ({error}); give the folder of a preset.") from error


def read_config(folder: str | os.PathLike) -> tuple[TransformerConfig, dict[str, Any]]:
    """Reads the configuration of a preset, as `huggingface.read_config` does for other folders.

    Args:
        folder: A preset.

    Returns:
        The configuration, and a dict of `architecture`, `labels` and `problem`.

    Raises:
        ValueError: It is not a preset, or its family is not supported.
    """
    folder = Path(folder)
    preset = read_object(folder / "config.json")
    if str(preset.get("class_name")) not in PRESETS:
        raise ValueError(f"{folder} holds none of {list(PRESETS)} of keras-nlp: received {preset.get('class_name')!r}.")
    kind = PRESETS[preset["class_name"]]
    sizes = _options(folder / "config.json", *kind.fields.values())
    fields = {ours: sizes[theirs] for ours, theirs in kind.fields.items()}
    if (end := _end_id(folder)) is not None:
        fields |= {"bos_id": end, "eos_ids": (end,)}

    config = kind.configure(**fields, **kind.facts)
    extra = {"architecture": kind.architecture, "labels": None, "problem": None}
    if (folder / "task.json").is_file() and (folder / "task.weights.h5").is_file():
        task = read_object(folder / "task.json")
        if task.get("class_name") in CLASSIFIERS:
            labels = tuple(f"LABEL_{index}" for index in range(_num_classes(folder)))
            extra = {"architecture": "BertForSequenceClassification", "labels": labels, "problem": "single_label"}
    return config, extra


def _num_classes(folder: Path) -> int:
    number = _options(folder / "task.json", "num_classes")["num_classes"]
    if not isinstance(number, int) or not 1 <= number <= (folder / "task.weights.h5").stat().st_size:
        raise ValueError(
            f"{folder / 'task.json'}: num_classes must be a number of classes, no more than task.weights.h5 has bytes: "
            f"received {number!r}. Save the preset again."
        )
    return number


def _options(path: Path, *names: str) -> dict[str, Any]:
    """The `config` object of a JSON file of Keras; it must have options of these names."""
    options = read_object(path).get("config")
    if not isinstance(options, dict):
        raise ValueError(f"{path}: config must be an object: received {options!r}. Save the preset again.")
    if missing := sorted(set(names) - set(options)):
        raise ValueError(f"{path}: config lacks {missing}. Save the preset again.")
    return options


def _end_id(folder: Path) -> int | None:
    """The id of GPT-2's one special token, which begins and ends texts."""
    path = folder / MERGED[0]
    return read_object(path).get(END) if path.is_file() else None


def read_tokenizer(folder: str | os.PathLike) -> Tokenizer:
    """Reads the tokenizer of a preset. If BERT's lower-cases, it strips accents too, as in BERT's training.

    Args:
        folder: A preset with `tokenizer.json` and, in `assets/tokenizer`, vocabulary.txt, or vocabulary.json and
            merges.txt.

    Returns:
        A `Tokenizer`.

    Raises:
        ValueError: A file is missing.
    """
    vocabulary, *merged = (Path(folder, name) for name in (VOCABULARY, *MERGED))
    if merged[0].is_file():
        return Tokenizer.from_merges(*merged)
    if not vocabulary.is_file():
        raise ValueError(f"there is no {vocabulary}: the preset was saved without its tokenizer.")
    options = _options(Path(folder, "tokenizer.json"))
    return Tokenizer.from_vocab(vocabulary, lowercase=bool(options.get("lowercase")))


def load_weights(
    model: keras.Model, folder: str | os.PathLike, *, missing_ok: Iterable[str] = (), fresh: Iterable[str] = ()
) -> tuple[str, ...]:
    """Loads the weights of a preset into a model made from its configuration, all or none.

    Args:
        model: An encoder, with or without pooler and classifier; or a decoder.
        folder: A preset.
        missing_ok: Names of layers that keep their initial values if the preset has none for them.
        fresh: Names of layers that always keep their initial values.

    Returns:
        The paths of the variables that kept their initial values.

    Raises:
        ValueError: A file is missing or damaged, stores values in other files or compressed, has two tensors for one
            weight, or the tensors do not fit. No variable has changed.
    """
    folder = Path(folder)
    weights = PRESETS[read_object(folder / "config.json")["class_name"]].weights
    tensors = _read_h5(folder / "model.weights.h5", "")
    if read_config(folder)[1]["labels"]:
        tensors += _read_h5(folder / "task.weights.h5", "task/")
    source = f"the preset in {folder}"
    return assign.assign(
        model,
        by_name(((tensor.name, tensor) for tensor in tensors), source),
        lambda path: (look_up(path, weights, LEAVES) or f"{path}, which presets do not hold", False),
        missing_ok=missing_ok,
        fresh=fresh,
        may_stay=lambda name: name.startswith(("layers/dense/", "task/")),
        source=source,
    )


def check_size(folder: str | os.PathLike, config: TransformerConfig) -> None:
    """Refuses a configuration that asks for more weights than its preset holds: see `assign.check_size`.

    Args:
        folder: A preset.
        config: That of the preset.
    """
    assign.check_size(config, lambda: _read_h5(Path(folder, "model.weights.h5"), ""), f"the preset in {folder}")


def _read_h5(path: Path, prefix: str) -> list[Tensor]:
    tensors = []

    def add(name: str, item: Any):  # not called for links
        if isinstance(item, h5py.Dataset):
            tensors.append(_describe(path, prefix, name, item))

    try:
        h5py.File(path).visititems(add)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path} is missing or damaged ({error}).") from error
    return tensors


def _describe(path: Path, prefix: str, name: str, item: h5py.Dataset) -> Tensor:
    _check_inside(path, name, item)
    # Keras gives the first layer of a class no number
    name = prefix + re.sub("/(transformer_(?:en|de)coder)/", r"/\1_0/", name)
    shape = _merge_heads(name, item.shape)
    # HDF5 has no bfloat16: Keras stores the bytes, and the dtype as an attribute
    is_bfloat16 = item.dtype == "V2" and item.attrs.get("dtype") == "bfloat16"
    dtype = np.dtype("bfloat16") if is_bfloat16 else item.dtype
    return Tensor(name, shape, dtype.name, lambda: np.asarray(item).view(dtype).reshape(shape))


def _check_inside(path: Path, name: str, item: h5py.Dataset) -> None:
    """Refuses HDF5 data sets whose values are in another file of this machine, or not stored in one piece."""
    if item.external or item.is_virtual:
        raise ValueError(f"{path}: {name} has its values in another file: it may be malicious. Get it from elsewhere.")
    begin = item.id.get_offset()
    if item.size != 0 and (begin is None or begin + item.nbytes > path.stat().st_size):
        raise ValueError(
            f"{path}: {name} does not lie in the file in one piece, as Keras writes it. Save the preset again with "
            "Keras, if you trust it."
        )


def _merge_heads(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Our shapes for KerasHub's (D, N, H), (N, H) and (N, H, D): (D, N * H), (N * H,) and (N * H, D)."""
    if "_self_attention_layer/" not in name or len(shape) < 2:
        return shape
    if name.endswith("output_dense/vars/0"):
        return shape[0] * shape[1], shape[2]
    return (*shape[:-2], shape[-2] * shape[-1])
