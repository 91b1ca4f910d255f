"""config.json of Hugging Face <-> `TransformerConfig`, labels and kind of problem."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.names import FAMILIES, Names
from keras_transformers.config import TransformerConfig

PROBLEMS = {
    "single_label": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}
REQUIRED = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_length")
FIXED = {"position_embedding_type": "absolute", "is_decoder": False, "tie_word_embeddings": True}


def read_config(folder: str | Path) -> tuple[TransformerConfig, dict[str, Any]]:
    """Reads the config.json of a checkpoint folder.

    Args:
        folder: In the Hugging Face layout.

    Returns:
        The configuration, and a dict of what else the file says of a model: `architecture`, the class of
        `transformers` or None; for classifiers `labels`, a tuple of names in the order of the logits, and `problem`:
        `"single_label"`, `"multi_label"` or `"regression"`; both are None for other models.

    Raises:
        ValueError: The file is missing or no JSON, the family or one of its options is not supported, or a size is
            missing.
    """
    path = Path(folder, "config.json")
    values = read_json(path)
    names = family_names(values.get("model_type"), path)
    for key, expected in FIXED.items():
        if values.get(key, expected) != expected:
            raise ValueError(f"{path}: {key}={values[key]!r} is not supported; only {expected!r} is.")
    fields = {ours: values[theirs] for ours, theirs in names.fields.items() if values.get(theirs) is not None}
    if missing := [names.fields[ours] for ours in REQUIRED if ours not in fields]:
        raise ValueError(f"{path} lacks {missing}.")
    if "activation" in fields:
        activations = {theirs: ours for ours, theirs in names.activations.items()}
        if fields["activation"] not in activations:
            raise ValueError(f"{path}: unknown activation {fields['activation']!r}; known are {sorted(activations)}.")
        fields["activation"] = activations[fields["activation"]]
    return names.configure(**fields), _read_extra(values)


def _read_extra(values: dict[str, Any]) -> dict[str, Any]:
    architecture = next(iter(values.get("architectures") or ()), None)
    extra = {"architecture": architecture, "labels": None, "problem": None}
    if architecture is None or not architecture.endswith("Classification"):
        return extra
    names = values.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}  # what transformers leaves out
    extra["labels"] = tuple(names[key] for key in sorted(names, key=int))
    ours_by_theirs = {theirs: ours for ours, theirs in PROBLEMS.items()}
    inferred = "regression" if len(names) == 1 else "single_label"  # as transformers does
    extra["problem"] = ours_by_theirs.get(values.get("problem_type"), inferred)
    return extra


def make_config(
    config: TransformerConfig,
    architecture: str,
    labels: Sequence[str] | None = None,
    problem: str | None = None,
) -> dict[str, Any]:
    """The content of a config.json; the inverse of `read_config`.

    Raises:
        ValueError: The family's format cannot say what `config` says, or `architecture` or `problem` is unknown.
    """
    names = family_names(config.family, "a configuration")
    if architecture not in names.architectures:
        raise ValueError(f"architecture must be one of {sorted(names.architectures)}: received {architecture!r}.")
    fields = {ours: getattr(config, ours) for ours in names.fields}
    plain = names.configure(**fields)
    lost = [key for key, value in plain.to_dict().items() if getattr(config, key) != value]
    if config.activation not in names.activations:
        lost.append("activation")
    if lost:
        raise ValueError(f"the {names.model_type} format of Hugging Face has no place for other values of {lost}.")
    values = {names.fields[ours]: value for ours, value in fields.items()}
    values["hidden_act"] = names.activations[config.activation]
    # dtype is what transformers computes in, whatever the weights are stored in.
    values |= {"architectures": [architecture], "model_type": names.model_type, "dtype": "float32"}
    if labels is not None:
        values["id2label"] = {str(index): label for index, label in enumerate(labels)}
        values["label2id"] = {label: index for index, label in enumerate(labels)}
    if problem is not None:
        if problem not in PROBLEMS:
            raise ValueError(f"problem must be one of {sorted(PROBLEMS)}: received {problem!r}.")
        values["problem_type"] = PROBLEMS[problem]
    return dict(sorted(values.items()))


def family_names(model_type: Any, source: Any) -> Names:
    """The table of names of a family; `source` is where it was asked for."""
    if model_type not in FAMILIES:
        raise ValueError(f"{source}: unknown model family {model_type!r}; known are {sorted(FAMILIES)}.")
    return FAMILIES[model_type]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    if not path.is_file():
        raise ValueError(f"there is no {path.name} in {path.parent}: expected a checkpoint folder.")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}).") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, received {type(values).__name__}.")
    return values
