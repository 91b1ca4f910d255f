"""LoRA adapters in folders of `peft`, merged into the weights of the model that they were trained beside."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor, by_name, read_tensors
from keras_transformers.checkpoints.names import names_of
from keras_transformers.checkpoints.names.table import Names, modern_name
from keras_transformers.checkpoints.stored import Stored
from keras_transformers.checkpoints.stray import check_merged
from keras_transformers.utils.json_file import NUMBER, Kind, check_types, read_object
from keras_transformers.utils.untrusted import shown

CONFIG, WEIGHTS, OLD_WEIGHTS = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
TASKS = {
    "CAUSAL_LM": "causal_lm", "SEQ_2_SEQ_LM": "seq2seq_lm", "SEQ_CLS": "classification",
    "TOKEN_CLS": "token_classification", "QUESTION_ANS": "question_answering",
}  # fmt: skip
TYPES: dict[str, Kind] = {
    "peft_type": str, "base_model_name_or_path": str, "revision": str, "task_type": str, "r": int,
    "lora_alpha": NUMBER, "use_rslora": bool,
}  # fmt: skip
# Options that are used here, or do not change the results. Any other option must be off.
KNOWN = {
    *TYPES, "auto_mapping", "bias", "eva_config", "exclude_modules", "fan_in_fan_out", "inference_mode",
    "init_lora_weights", "layers_pattern", "layers_to_transform", "loftq_config", "lora_dropout", "megatron_core",
    "modules_to_save", "peft_version", "qalora_group_size", "runtime_config", "target_modules",
}  # fmt: skip
STARTS = (True, False, None, "gaussian", "orthogonal", "eva")  # of A and B; other ones change the base's weights, too
MOST = 10**6  # of the rank, and of the scale
PREFIX, PART = "base_model.model.", re.compile(r"(.+)\.lora_([AB])\.weight")


class Adapter(NamedTuple):
    """A LoRA adapter: matrices that were trained beside a model.

    Args:
        base: The name or the folder of the model.
        revision: Of the base on the hub.
        task: What it was trained for, or None.
        scale: Of the product B A.
        rank: Rows of A, columns of B.
        tensors: By the names that they have in the model: `layer.lora_A`, `layer.lora_B`, and whole tensors.
        source: What error messages call it.
    """

    base: str
    revision: str | None
    task: str | None
    scale: float
    rank: int
    tensors: dict[str, Tensor]
    source: str


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter; `transformers` then loads the base that it names, too."""
    return (folder / CONFIG).is_file()


def read_adapter(folder: Path, pickled: bool = False) -> Adapter:
    """Read a folder of `peft`.

    Args:
        folder: With adapter_config.json and adapter_model.safetensors.
        pickled: Whether to accept an old `adapter_model.bin`.

    Raises:
        ValueError: A file is missing or damaged, the adapter is no LoRA, or has an option that is not supported.
    """
    path = folder / CONFIG
    values = {key: value for key, value in read_object(path).items() if value is not None}
    check_types(values, TYPES, path)
    _check_options(values, path)
    rank, alpha = values.get("r", 8), values.get("lora_alpha", 8)
    scale = alpha / (math.sqrt(rank) if values.get("use_rslora") else rank)
    stored = read_tensors(folder, pickled, WEIGHTS, OLD_WEIGHTS)
    return Adapter(
        values["base_model_name_or_path"],
        values.get("revision"),
        TASKS.get(values.get("task_type") or ""),
        scale,
        rank,
        {tensor.name.removeprefix(PREFIX): tensor for tensor in stored},
        f"the adapter in {folder}",
    )


def _check_options(values: Mapping[str, Any], path: Path) -> None:
    if (kind := values.get("peft_type")) != "LORA":
        raise ValueError(f"{path}: peft_type={shown(kind)} is not supported: expected 'LORA'. {MERGE}")
    refused = {key: value for key, value in values.items() if key not in KNOWN and value}
    if values.get("bias", "none") != "none":
        refused["bias"] = values["bias"]
    if values.get("init_lora_weights") not in STARTS:
        refused["init_lora_weights"] = values["init_lora_weights"]
    if refused:
        raise ValueError(f"{path}: {shown(refused)} is not supported: expected a plain LoRA. {MERGE}")
    for key, least in (("r", 1), ("lora_alpha", -MOST)):
        if not least <= values.get(key, 8) <= MOST:
            raise ValueError(f"{path}: {key}={shown(values[key])}: expected {least} to {MOST}. Correct the file.")
    if not values.get("base_model_name_or_path"):
        raise ValueError(
            f"{path} says no base_model_name_or_path: expected the folder or the name of the model that the adapter "
            "belongs to. Write it there."
        )


MERGE = "Merge it with `model.merge_and_unload().save_pretrained(...)` of `peft`, and load that folder."


def adapt(base: Stored, adapter: Adapter) -> Stored:
    """Return the record of a checkpoint with an adapter merged into its tensors; see `merge`."""

    def tensors() -> list[Tensor]:
        stored = base.tensors()
        check_merged(stored, base.source)
        return merge(stored, adapter, names_of(base.config, base.place, base.extra["architecture"]))

    return dataclasses.replace(base, tensors=tensors)


def merge(stored: Sequence[Tensor], adapter: Adapter, names: Names) -> list[Tensor]:
    """Merge an adapter: W + scale * B A for the matrices that have one, and its own tensors for whole modules.

    Args:
        stored: The tensors of the base's folder.
        adapter: What `read_adapter` returns.
        names: Of the base's family.

    Returns:
        The tensors of the merged model; sums are computed when they are read.

    Raises:
        ValueError: The adapter is for weights that the base does not have, or of other shapes.
    """
    tensors = by_name(((modern_name(tensor.name, names), tensor) for tensor in stored), f"the base {adapter.base}")
    factors: dict[str, dict[str, Tensor]] = {}
    for name, tensor in adapter.tensors.items():
        if match := PART.fullmatch(name):
            factors.setdefault(modern_name(f"{match[1]}.weight", names), {})[match[2]] = tensor
        elif "lora_" in name or ".base_layer." in name:
            raise ValueError(f"{adapter.source} holds {tensor.name}, which is not supported. {MERGE}")
        else:
            tensors[modern_name(name, names)] = tensor._replace(name=modern_name(name, names))
    for name, pair in factors.items():
        tensors[name] = _merged_weight(name, tensors.get(name), pair, adapter, name.startswith(names.untransposed))
    return [*tensors.values()]


def _merged_weight(
    name: str, base: Tensor | None, pair: dict[str, Tensor], adapter: Adapter, is_untransposed: bool
) -> Tensor:
    """Return W + scale * B A, or its transpose where the base stores (input, output), as GPT-2 does."""
    if base is None or pair.keys() != {"A", "B"}:
        lacks = "the base has no such weight" if base is None else f"lora_{({'A', 'B'} - pair.keys()).pop()} is missing"
        raise ValueError(f"{adapter.source} does not fit its base {adapter.base}: {name}: {lacks}. Expected its own.")
    a, b = pair["A"], pair["B"]  # (r, input), (output, r)
    shape = base.shape[::-1] if is_untransposed else base.shape
    fits = (len(shape), len(a.shape), len(b.shape)) == (2, 2, 2) and (b.shape[0], a.shape[1]) == tuple(shape)
    if not fits or not a.shape[0] == b.shape[1] == adapter.rank or not (base.is_weight and a.is_weight and b.is_weight):
        raise ValueError(
            f"{adapter.source} does not fit its base {adapter.base}: {name} is {base.dtype} {base.shape}, with "
            f"lora_A {a.dtype} {a.shape}, lora_B {b.dtype} {b.shape} and r={adapter.rank}. Expected the model that it "
            "was trained beside."
        )

    def read() -> np.ndarray:
        product = b.read().astype("float32") @ a.read().astype("float32") * adapter.scale  # (output, input)
        return base.read().astype("float32") + (product.T if is_untransposed else product)

    return base._replace(dtype="float32", read=read)
