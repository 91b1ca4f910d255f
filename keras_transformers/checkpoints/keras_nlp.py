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

from keras_transformers.checkpoints.assign import assign
from keras_transformers.checkpoints.huggingface_config import read_json
from keras_transformers.checkpoints.names.keras_nlp import LEAVES, PRESETS
from keras_transformers.checkpoints.names.table import look_up
from keras_transformers.checkpoints.tensors import Tensor
from keras_transformers.config import TransformerConfig
from keras_transformers.text.byte_pair import END
from keras_transformers.text.tokenizer import Tokenizer

CLASSIFIERS = ("BertTextClassifier", "BertClassifier")
VOCABULARY = "assets/tokenizer/vocabulary.txt"
MERGED = ("assets/tokenizer/vocabulary.json", "assets/tokenizer/merges.txt")


def preset_folder(name: str) -> Path:
    """The folder of a preset: a folder as it is, a name through keras-nlp, which downloads it once.

    Args:
        name: A folder that `save_to_preset` wrote, or such as `"bert_tiny_en_uncased"`; with or without
            `keras-nlp:` before it.

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
    except Exception as error:  # of whichever transport kagglehub uses
        raise ValueError(f"could not fetch {name!r} from Kaggle ({error}); give the folder of a preset.") from error


def read_config(folder: str | os.PathLike) -> tuple[TransformerConfig, dict[str, Any]]:
    """Reads the sizes of a preset; returns what `huggingface.read_config` returns.

    Args:
        folder: A preset.

    Returns:
        The configuration, and a dict of `architecture`, `labels` and `problem`.

    Raises:
        ValueError: It is no preset, or one of another family.
    """
    folder = Path(folder)
    preset = read_json(folder / "config.json")
    if preset.get("class_name") not in PRESETS:
        raise ValueError(f"{folder} holds none of {list(PRESETS)} of keras-nlp: received {preset.get('class_name')!r}.")
    kind = PRESETS[preset["class_name"]]
    fields = {ours: preset["config"][theirs] for ours, theirs in kind.fields.items()}
    if (end := _end_id(folder)) is not None:
        fields |= {"bos_id": end, "eos_ids": (end,)}
    config = kind.configure(**fields, **kind.facts)
    extra = {"architecture": kind.architecture, "labels": None, "problem": None}
    if (folder / "task.json").is_file() and (folder / "task.weights.h5").is_file():
        task = read_json(folder / "task.json")
        if task.get("class_name") in CLASSIFIERS:
            labels = tuple(f"LABEL_{index}" for index in range(task["config"]["num_classes"]))
            extra = {"architecture": "BertForSequenceClassification", "labels": labels, "problem": "single_label"}
    return config, extra


def _end_id(folder: Path) -> int | None:
    """The id of GPT-2's one special token, which begins and ends texts."""
    path = folder / MERGED[0]
    return read_json(path).get(END) if path.is_file() else None


def read_tokenizer(folder: str | os.PathLike) -> Tokenizer:
    """The tokenizer of a preset. Accents are stripped when BERT's lower-cases, as it was trained with.

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
    options = read_json(Path(folder, "tokenizer.json"))["config"]
    return Tokenizer.from_vocab(vocabulary, lowercase=bool(options.get("lowercase")))


def load_weights(
    model: keras.Model, folder: str | os.PathLike, *, missing_ok: Iterable[str] = (), fresh: Iterable[str] = ()
) -> tuple[str, ...]:
    """Loads the weights of a preset into a model made from its configuration, all or none.

    Args:
        model: An encoder, with or without pooler and classifier; or a decoder.
        folder: A preset.
        missing_ok: Names of layers that keep their initial values if the preset has none for them.
        fresh: Names of layers that keep their initial values whatever the preset has for them.

    Returns:
        The paths of the variables that kept their initial values.

    Raises:
        ValueError: A file is missing or damaged, or the tensors do not fit.
    """
    folder = Path(folder)
    weights = PRESETS[read_json(folder / "config.json")["class_name"]].weights
    tensors = _read_h5(folder / "model.weights.h5", "")
    if read_config(folder)[1]["labels"]:
        tensors |= _read_h5(folder / "task.weights.h5", "task/")
    return assign(
        model,
        tensors,
        lambda path: (look_up(path, weights, LEAVES) or f"{path}, which presets do not hold", False),
        missing_ok=missing_ok,
        fresh=fresh,
        may_stay=lambda name: name.startswith(("layers/dense/", "task/")),
        source=f"the preset in {folder}",
    )


def _read_h5(path: Path, prefix: str) -> dict[str, Tensor]:
    try:
        file = h5py.File(path)
    except OSError as error:
        raise ValueError(f"{path} is missing or damaged ({error}).") from error
    tensors = {}

    def add(name: str, item: Any):
        if isinstance(item, h5py.Dataset):
            # Keras numbers layers of one class from the second one on
            name = prefix + re.sub("/(transformer_(?:en|de)coder)/", r"/\1_0/", name)
            shape = _merge_heads(name, item.shape)
            tensors[name] = Tensor(name, shape, lambda: np.asarray(item).reshape(shape))

    file.visititems(add)
    return tensors


def _merge_heads(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """KerasHub keeps (D, N, H), (N, H) and (N, H, D), where we have (D, N * H), (N * H,) and (N * H, D)."""
    if "_self_attention_layer/" not in name or len(shape) == 1:
        return shape
    if name.endswith("output_dense/vars/0"):
        return shape[0] * shape[1], shape[2]
    return (*shape[:-2], shape[-2] * shape[-1])
