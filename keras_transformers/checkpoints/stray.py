"""Tensors that no weight of a model takes, such as other heads beside it; and those that a file may leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from keras_transformers.checkpoints.files.tensors import Tensor, zeros
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.table import Names
from keras_transformers.utils.untrusted import shown, warn_user

BESIDE = ("v_head.", "value_head.")  # of reinforcement learning: one number for each token
ADAPTER = re.compile(r"\.(lora_\w+|base_layer|modules_to_save)\.")
SCALES = re.compile(r"\.(weight_scale\w*|input_scale|qweight|qzeros|scales|g_idx|absmax|quant_\w+)($|\.)")


def check_merged(tensors: Iterable[Tensor], source: Any) -> None:
    """Refuse the tensors of a model that still has adapters: its weights alone would compute other numbers."""
    if adapters := [tensor.name for tensor in tensors if ADAPTER.search(tensor.name)]:
        raise ValueError(
            f"{source} holds adapters that are not merged into the weights, such as {adapters[0]}: nothing was loaded. "
            "Merge them with `model.merge_and_unload().save_pretrained(...)` of `peft`, or give the folder of the "
            "adapter alone, with its adapter_config.json."
        )


def beside(tensors: Mapping[str, Tensor], names: Names) -> set[str]:
    """Return the names of extra tensors, on which the outputs of the model do not depend.

    In a file of a model with a head, all weights of the model have the family's prefix. A tensor without it that is no
    known head is of another head, which the class of `transformers` that config.json names ignores, too. In a file
    without prefixes only the tensors of `BESIDE` are known to be beside the model.

    Args:
        tensors: Tensors by their current names.
        names: Table of names of the family.
    """
    has_prefix = bool(names.prefix) and any(tensor.name.startswith(names.prefix) for tensor in tensors.values())
    return {
        name
        for name, tensor in tensors.items()
        if tensor.name.startswith(BESIDE)
        or (has_prefix and not _is_of_model(tensor.name, names) and not SCALES.search(tensor.name))
    }


def _is_of_model(name: str, names: Names) -> bool:
    return name.startswith((names.prefix, *names.optional)) or name == names.logits_bias


def warn_unused(unused: Iterable[str], source: Any) -> None:
    """Warn of tensors that were not loaded."""
    if unused := sorted(unused):
        warn_user(
            f"{source} holds tensors beside the model, which nothing here uses and which were not loaded: "
            f"{shown(unused)}. If predictions need them, they belong to another model; `save` does not write them.",
        )


def with_fallbacks(tensors: Mapping[str, Tensor], names: Names, config: TransformerConfig) -> dict[str, Tensor]:
    """Add tensors that a file may leave out: a head that equals another tensor, and a bias of the logits, of zeros.

    Args:
        tensors: Tensors by their current names.
        names: Table of names of the family.
        config: Configuration of the model.
    """
    fallbacks = {
        name: tensors[other]
        for name, other in names.fallbacks.items()
        if other in tensors and not config.tie_embeddings
    }
    fallbacks |= {name: tensors[older] for name, older in names.older.items() if older in tensors}
    if config.output_bias and names.logits_bias:
        fallbacks[names.logits_bias] = zeros(names.logits_bias, (1, config.vocabulary_size))
    return {**fallbacks, **tensors}
