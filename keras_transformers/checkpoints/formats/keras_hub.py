"""Presets of KerasHub, formerly KerasNLP, of BERT and GPT-2: config.json, *.weights.h5 and a vocabulary."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.hdf5 import read_hdf5
from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.keras_hub_names import PRESETS, Preset, torch_names
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.stored import Stored, UserOptions, parsed
from keras_transformers.families.table import Names
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.byte_pair_vocabulary import END
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import shown

CONFIG = "config.json"
CLASSIFIERS = ("BertTextClassifier", "BertClassifier")
HEADS = ("BertMaskedLM",)  # their activation differs from the blocks'
LEFT = "the head of its {} is left out, as its activation differs from that of the blocks"
VOCABULARY = "assets/tokenizer/vocabulary.txt"
MERGED = ("assets/tokenizer/vocabulary.json", "assets/tokenizer/merges.txt")


def preset_folder(name: str) -> Path:
    """Return the folder of a preset; download it at the first call if `name` is not a folder.

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


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read the preset of a model or of a classifier."""
    path = place / CONFIG
    preset = read_object(path) if path.is_file() else {}
    if "class_name" not in preset or "model_type" in preset:
        return None
    name = preset["class_name"]
    if not isinstance(name, str) or name not in PRESETS:
        raise ValueError(
            f"{path} is an instance of the class {shown(name)} of Keras: expected one of {list(PRESETS)} of KerasHub."
        )
    kind = PRESETS[name]
    names, task = FAMILIES[kind.family], _task(place)
    values = _values(place, kind, names) | {"model_type": kind.family, "architectures": [kind.architecture]}
    if task in CLASSIFIERS:
        values |= {"architectures": [names.tasks["classification"]]} | _classes(place)
    stored: Stored = parsed(
        values,
        path,
        writer="KerasHub",
        place=place,
        tensors=lambda: _read_tensors(place, torch_names(kind, names, stored.config.num_layers), task in CLASSIFIERS),
        tokenizers=lambda: (_read_tokenizer(place),) * 2,
        assumed=_left_out(place, task),
    )
    return stored


def _left_out(folder: Path, task: str | None) -> list[str]:
    """Return a clause for each part of a preset's task that a model here does not compute."""
    if task in HEADS:
        return [LEFT.format(task)]
    activation = _options(folder / "task.json").get("activation") if task in CLASSIFIERS else None
    is_known = activation in (None, "linear", "softmax", "sigmoid")  # `predict` gives these probabilities
    return [] if is_known else [f"the logits are without the activation {shown(activation)} of its {task}"]


def _task(folder: Path) -> str | None:
    """Return the class of the preset's task, if there are weights of it."""
    if (folder / "task.json").is_file() and (folder / "task.weights.h5").is_file():
        return str(read_object(folder / "task.json").get("class_name"))
    return None


def _values(folder: Path, kind: Preset, names: Names) -> dict[str, Any]:
    """Return the options of a preset by their names in config.json of `transformers`."""
    sizes = _options(folder / CONFIG, *kind.fields.values())
    fields = {ours: sizes[theirs] for ours, theirs in kind.fields.items()} | kind.facts
    if (end := _end_id(folder)) is not None:
        fields |= {"bos_id": end, "eos_ids": end}
    return {names.fields[ours]: value for ours, value in fields.items()}


def _classes(folder: Path) -> dict[str, Any]:
    """Return the keys of config.json for a classifier: the number of labels, and the problem if it is multi-label."""
    options = _options(folder / "task.json", "num_classes")
    number = options["num_classes"]
    if not isinstance(number, int) or not 1 <= number <= (folder / "task.weights.h5").stat().st_size:
        raise ValueError(
            f"{folder / 'task.json'}: num_classes must be a number of classes, no more than task.weights.h5 has bytes: "
            f"received {number!r}. Save the preset again."
        )
    if options.get("activation") == "sigmoid":
        return {"num_labels": number, "problem_type": "multi_label_classification"}
    return {"num_labels": number}


def _options(path: Path, *names: str) -> dict[str, Any]:
    """Return the `config` object of a JSON file of Keras; it must have options of these names."""
    options = read_object(path).get("config")
    if not isinstance(options, dict):
        raise ValueError(f"{path}: config must be an object: received {options!r}. Save the preset again.")
    if missing := sorted(set(names) - set(options)):
        raise ValueError(f"{path}: config lacks {missing}. Save the preset again.")
    return options


def _end_id(folder: Path) -> int | None:
    """Return the id of GPT-2's one special token, which begins and ends texts."""
    path = folder / MERGED[0]
    return read_object(path).get(END) if path.is_file() else None


def _read_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a preset. If BERT's lower-cases, it strips accents too, as in BERT's training."""
    vocabulary, *merged = (Path(folder, name) for name in (VOCABULARY, *MERGED))
    if merged[0].is_file():
        return Tokenizer.from_merges(*merged)
    if not vocabulary.is_file():
        raise ValueError(f"there is no {vocabulary}: the preset was saved without its tokenizer.")
    options = _options(Path(folder, "tokenizer.json"))
    return Tokenizer.from_vocab(vocabulary, lowercase=bool(options.get("lowercase")))


def _read_tensors(folder: Path, names: Mapping[str, tuple[str, bool]], has_head: bool) -> list[Tensor]:
    """List the tensors of a preset by the names and in the layouts of PyTorch's classes."""
    tensors = read_hdf5(folder / "model.weights.h5", _with_number)
    if has_head:
        head = read_hdf5(folder / "task.weights.h5", "task/{}".format)
        tensors += [tensor for tensor in head if tensor.name in names]
    if unknown := [tensor.name for tensor in tensors if tensor.name not in names]:
        raise ValueError(
            f"{folder / 'model.weights.h5'} holds weights that a model of its {CONFIG} does not have, such as "
            f"{shown(unknown[0])}: nothing was loaded. Expected the files of one preset: save it again."
        )
    named = [_merge_heads(tensor)._replace(name=names[tensor.name][0]) for tensor in tensors]
    is_transposed = [names[tensor.name][1] for tensor in tensors]
    return [tensor.map(np.transpose) if flip else tensor for tensor, flip in zip(named, is_transposed, strict=True)]


def _with_number(name: str) -> str:
    """Return a tensor's name with the number of its block; Keras gives the first layer of a class none."""
    return re.sub("/(transformer_(?:en|de)coder)/", r"/\1_0/", name)


def _merge_heads(tensor: Tensor) -> Tensor:
    """Merge the axes of attention heads: (D, N, H), (N, H), (N, H, D) become (D, N * H), (N * H,), (N * H, D)."""
    if "_self_attention_layer/" not in tensor.name or len(tensor.shape) < 2:
        return tensor
    if tensor.name.endswith("output_dense/vars/0"):
        return tensor.map(lambda array: array.reshape(-1, array.shape[-1]))
    return tensor.map(lambda array: array.reshape(*array.shape[:-2], -1))
