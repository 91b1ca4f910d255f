"""LoRA adapters in folders of `peft`, merged into the weights of the model that they were trained beside."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.checkpoints.adapter_sizes import AdapterSizes, read_sizes
from keras_transformers.checkpoints.files.tensors import Tensor, by_name, read_tensors
from keras_transformers.checkpoints.settings.names import names_of
from keras_transformers.checkpoints.stored import Stored
from keras_transformers.checkpoints.stray import check_merged
from keras_transformers.families.table import Names, modern_name
from keras_transformers.utils.json_file import NUMBER, Kind, check_types, read_object
from keras_transformers.utils.untrusted import shown

CONFIG, WEIGHTS, OLD_WEIGHTS = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
TASKS = {
    "CAUSAL_LM": "causal_lm", "SEQ_2_SEQ_LM": "seq2seq_lm", "SEQ_CLS": "classification",
    "TOKEN_CLS": "token_classification", "QUESTION_ANS": "question_answering",
}  # fmt: skip
TYPES: dict[str, Kind] = {
    "peft_type": str, "base_model_name_or_path": str, "revision": str, "task_type": str, "r": int,
    "lora_alpha": NUMBER, "use_rslora": bool, "use_dora": bool, "bias": str, "rank_pattern": dict,
    "alpha_pattern": dict, "modules_to_save": list,
}  # fmt: skip
# Options that are used here, or do not change the results. Any other option must be off.
KNOWN = {
    *TYPES, "auto_mapping", "eva_config", "exclude_modules", "fan_in_fan_out", "inference_mode",
    "init_lora_weights", "layers_pattern", "layers_to_transform", "loftq_config", "lora_dropout", "megatron_core",
    "peft_version", "qalora_group_size", "runtime_config", "target_modules",
}  # fmt: skip
STARTS = (True, False, None, "gaussian", "orthogonal", "eva")  # of A and B; other ones change the base's weights, too
SCORERS = {TASKS[name] for name in ("SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS")}  # have no head over the vocabulary
NONE_APART: Mapping[str, str] = MappingProxyType({})
BIASES = ("none", "all", "lora_only")  # which of them were trained: the file holds them whole
PREFIX, WRAPPED, UNUSED = "base_model.model.", re.compile(r"\.(base_layer|modules_to_save)\."), ".original_module."
PART = re.compile(r"(.+)\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(?:\.weight)?")
LANGUAGE_HEADS = ("lm_head", "masked_lm")  # layers that multiply by the token embedding, where the two are tied


class Adapter(NamedTuple):
    """A LoRA adapter: matrices that were trained beside a model.

    Args:
        base: The name or the folder of the model.
        revision: Revision of the base on the hub.
        task: Task that the adapter was trained for, or None.
        sizes: Rank and scale of each layer.
        has_magnitudes: Whether its layers have magnitude vectors (DoRA).
        tensors: Tensors by their names in the model: `layer.lora_A`, `layer.lora_B`, and whole tensors.
        source: Name of the adapter in error messages.
        retrained: Ends of the names of layers that were trained whole, as copies beside the base's own layers.
    """

    base: str
    revision: str | None
    task: str | None
    sizes: AdapterSizes
    has_magnitudes: bool
    tensors: dict[str, Tensor]
    source: str
    retrained: tuple[str, ...] = ()


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter; `transformers` then loads the base that it names, too."""
    return (folder / CONFIG).is_file()


def read_adapter(folder: Path, pickled: bool = False) -> Adapter:
    """Read a folder of `peft`.

    Args:
        folder: Folder with adapter_config.json and adapter_model.safetensors.
        pickled: Whether to accept an old `adapter_model.bin`.

    Raises:
        ValueError: A file is missing or damaged, the adapter is no LoRA, or has an option that is not supported.
    """
    path = folder / CONFIG
    values = {key: value for key, value in read_object(path).items() if value is not None}
    check_types(values, TYPES, path)
    _check_options(values, path)
    stored = read_tensors(folder, pickled, WEIGHTS, OLD_WEIGHTS)
    return Adapter(
        values["base_model_name_or_path"],
        values.get("revision"),
        TASKS.get(values.get("task_type") or ""),
        read_sizes(values, path),
        values.get("use_dora", False),
        {WRAPPED.sub(".", tensor.name.removeprefix(PREFIX)): tensor for tensor in stored if UNUSED not in tensor.name},
        f"the adapter in {folder}",
        tuple(map(str, values.get("modules_to_save", ()))),
    )


def _check_options(values: Mapping[str, Any], path: Path) -> None:
    if (kind := values.get("peft_type")) != "LORA":
        raise ValueError(f"{path}: peft_type={shown(kind)} is not supported: expected 'LORA'. {MERGE}")
    refused = {key: value for key, value in values.items() if key not in KNOWN and value}
    if values.get("bias", "none") not in BIASES:
        refused["bias"] = values["bias"]
    if values.get("init_lora_weights") not in STARTS:
        refused["init_lora_weights"] = values["init_lora_weights"]
    if refused:
        raise ValueError(f"{path}: {shown(refused)} is not supported: expected LoRA or DoRA of weights. {MERGE}")
    if not values.get("base_model_name_or_path"):
        raise ValueError(
            f"{path} has no base_model_name_or_path: expected the folder or the name of the model that the adapter "
            "belongs to. Write it there."
        )


MERGE = "Merge it with `model.merge_and_unload().save_pretrained(...)` of `peft`, and load that folder."


def adapt(base: Stored, adapter: Adapter) -> Stored:
    """Return the record of a checkpoint with an adapter merged into its tensors; see `merge`."""

    names = names_of(base.config, base.place, base.extra["architecture"])
    apart = _copies_apart(adapter, names, base.extra["architecture"]) if base.config.tie_embeddings else {}

    def tensors() -> list[Tensor]:
        stored = base.tensors()
        check_merged(stored, base.source)
        return merge(stored, adapter, names, apart)

    unties = "tie_embeddings" in names.fields and any("lm_head" in copy for copy in apart)
    config = dataclasses.replace(base.config, tie_embeddings=False) if unties else base.config
    return dataclasses.replace(base, config=config, tensors=tensors)


def _copies_apart(adapter: Adapter, names: Names, architecture: str | None) -> dict[str, str]:
    """Return the copies of weights in the model that are none any more: in `peft` only one of the two is adapted."""
    layers = names.architectures.get(architecture or "", ())
    if adapter.task in SCORERS or not any(layer.startswith(LANGUAGE_HEADS) for layer in layers):
        return {}
    adapted = {modern_name(f"{match[1]}.weight", names) for match in map(PART.fullmatch, adapter.tensors) if match}
    adapted |= _retrained(adapter, names)
    return {copy: name for copy, name in names.copies.items() if {copy, name} & adapted}


def _retrained(adapter: Adapter, names: Names) -> set[str]:
    """Return the names of the tensors of `modules_to_save`."""
    found = (name for name in adapter.tensors if name.rpartition(".")[0].endswith(adapter.retrained))
    return {modern_name(name, names) for name in found}


def merge(
    stored: Sequence[Tensor], adapter: Adapter, names: Names, apart: Mapping[str, str] = NONE_APART
) -> list[Tensor]:
    """Merge an adapter: W + scale * B A for the matrices that have one, and the adapter's tensors for whole modules.

    DoRA (Liu et al., 2024) divides each output's row of the sum by its norm, and multiplies it by its magnitude.

    Args:
        stored: The tensors of the base's folder.
        adapter: Result of `read_adapter`.
        names: Table of names of the base model's family.
        apart: Copies that become separate weights, and the name of the tensor that each copied.

    Returns:
        The tensors of the merged model; sums are computed when they are read.

    Raises:
        ValueError: The adapter is for weights that the base does not have, or of other shapes.
    """
    tensors = by_name(((modern_name(tensor.name, names), tensor) for tensor in stored), f"the base {adapter.base}")
    factors: dict[str, tuple[str, dict[str, Tensor]]] = {}
    untrained = {name: tensors[name] for name in {*apart.values()} & _retrained(adapter, names)}
    for name, tensor in adapter.tensors.items():
        if match := PART.fullmatch(name):
            _, factor = factors.setdefault(modern_name(f"{match[1]}.weight", names), (match[1], {}))
            factor[match[2]] = tensor
        elif "lora_" in name:
            raise ValueError(f"{adapter.source} holds {tensor.name}, which is not supported. {MERGE}")
        else:
            tensors[modern_name(name, names)] = tensor._replace(name=modern_name(name, names))
    for copy, name in apart.items():
        tensors.setdefault(copy, untrained.get(name, tensors[name])._replace(name=copy))
    for name, (layer, factor) in factors.items():
        tensors[name] = _merged_weight(name, tensors.get(name), factor, layer, adapter, names)
    return [*tensors.values()]


def _merged_weight(
    name: str, base: Tensor | None, factor: dict[str, Tensor], layer: str, adapter: Adapter, names: Names
) -> Tensor:
    """Return W + scale * B A, or its transpose where the base stores (input, output): embeddings, GPT-2's layers."""
    start = "embedding_" if any("embedding" in part for part in factor) else ""
    parts = [f"{start}A", f"{start}B"]
    if adapter.has_magnitudes:
        parts.append("magnitude_vector")
    if base is None or factor.keys() != {*parts}:
        missing, more = {*parts} - factor.keys(), factor.keys() - {*parts}
        lacks = f"lora_{min(missing)} is missing" if missing else f"lora_{min(more or ['A'])} is not expected"
        lacks = "the base has no such weight" if base is None else lacks
        raise ValueError(
            f"{adapter.source} does not fit its base {adapter.base}: {name}: {lacks}. Expected the base that the "
            "adapter was trained on."
        )
    a, b, *magnitude = (factor[part] for part in parts)  # (r, input), (output, r), (output,)
    is_untransposed = bool(start) or name.startswith(names.untransposed)
    rank, scale = adapter.sizes.of(layer)
    shape = base.shape[::-1] if is_untransposed else base.shape
    fits = (len(shape), len(a.shape), len(b.shape)) == (2, 2, 2) and (b.shape[0], a.shape[1]) == tuple(shape)
    fits = fits and a.shape[0] == b.shape[1] == rank and all(tuple(part.shape) == (b.shape[0],) for part in magnitude)
    if not fits or not all(part.is_weight for part in (base, a, b, *magnitude)):
        raise ValueError(
            f"{adapter.source} does not fit its base {adapter.base}: {name} is {base.dtype} {base.shape}, with "
            f"lora_A {a.dtype} {a.shape}, lora_B {b.dtype} {b.shape} and r={rank}"
            f"{''.join(f', a magnitude vector {part.dtype} {part.shape}' for part in magnitude)}. Expected the model "
            "that it was trained beside."
        )

    def read() -> np.ndarray:
        weight = base.read().astype("float32")
        weight = weight.T if is_untransposed else weight  # (output, input)
        weight = weight + b.read().astype("float32") @ a.read().astype("float32") * scale
        for vector in magnitude:
            weight *= vector.read().astype("float32")[:, None] / np.linalg.norm(weight, axis=1, keepdims=True)
        return weight.T if is_untransposed else weight

    return base._replace(dtype="float32", read=read)
